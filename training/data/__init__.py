"""What training reads: texts, tokens, examples."""
