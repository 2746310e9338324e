"""What a server that keeps all it saw can learn of a history."""
