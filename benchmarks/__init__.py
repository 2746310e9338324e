"""Measurements: each is a `specsteer bench NAME` and prints a table."""
