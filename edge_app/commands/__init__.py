"""The commands of `specsteer`, one per file."""
