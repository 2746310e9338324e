"""Mail as messages, parts, labels and folders."""
