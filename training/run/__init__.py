"""The training run: losses, steps, progress, checkpoints."""
