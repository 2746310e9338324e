"""What each engine makes of one model."""
