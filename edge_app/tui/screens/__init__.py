"""Screens and drawers, one a file."""
