"""How the server is: figures for Prometheus and a page for people, without a word of
what is written."""
