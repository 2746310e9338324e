"""Measurements of the server with many texts, many sockets and a hostile user."""
