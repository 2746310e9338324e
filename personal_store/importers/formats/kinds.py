"""What kinds of texts the store knows."""

KINDS = ("email", "review", "post", "message", "note")
"""Values of `Document.kind`. A message is for those it names, a post for anybody."""
