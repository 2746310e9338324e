"""The settings and the keys, as screens of the app and as what it keeps of them."""
