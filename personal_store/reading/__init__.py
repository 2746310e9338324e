"""Raw messages to documents, in this process or in several."""
