"""How much a history helps: how likely texts are that the writer really wrote."""
