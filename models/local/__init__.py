"""The models that lie on this machine: found, described, and compared by headers."""
