"""Words, characters and dates of texts, whatever they came from."""
