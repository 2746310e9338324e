"""Engines: one per file, found by the file's name."""
