"""How fast the program is on this machine."""
