"""What the screen says, and how it is laid out in lines."""
