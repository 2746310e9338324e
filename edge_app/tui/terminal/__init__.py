"""What the app has of the machine around it: its clipboard, its editor, its signs."""
