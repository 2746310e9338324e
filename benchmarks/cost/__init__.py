"""What a text costs: operations, and bytes on the wire."""
