"""Widgets of the page, one a file."""
