"""What happens to a stored text: written, cleaned again, excluded, forgotten."""
