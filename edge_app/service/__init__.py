"""The writing service that command line and app call."""
