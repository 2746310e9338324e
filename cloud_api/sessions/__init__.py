"""Sessions: what the server holds of a text while a device writes it."""
