"""Files as the store reads and writes them: archives, streams, private files."""
