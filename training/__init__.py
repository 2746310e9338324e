"""How the embedded pair is made again: tokenizer, data, training, export."""
