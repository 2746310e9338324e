"""Writers that a grammar invents, for training and for evaluation."""
