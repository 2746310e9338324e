"""The search index and the ranking of what it finds."""
