"""What a server that keeps all it saw can tell of a history."""
