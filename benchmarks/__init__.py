"""Measurements: each is a `specsteer lab bench NAME` and prints a table."""
