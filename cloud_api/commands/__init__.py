"""The commands of `specsteer-cloud`, one per file."""
