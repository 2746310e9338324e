"""Every method on every set: what is written, how good it is, what it costs."""
