"""Which past texts a request is given, and the prompts they go into."""
