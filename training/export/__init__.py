"""Trained weights to GGUF files."""
