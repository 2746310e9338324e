"""What the person runs: the device side."""
