"""The decoding method and its messages: no I/O, no clock, no global state."""
