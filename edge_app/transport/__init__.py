"""The connection to a server, and the server that the app starts."""
