"""Other programs of the house write with the plain generalist, as OpenAI's clients ask
for it. No history, no drafts, no base."""
