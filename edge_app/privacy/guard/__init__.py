"""The guard: what of a draft must not leave undecided, and what stands in its place."""
