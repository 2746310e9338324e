"""How the store of past writing keeps up: imports, searches, forgetting."""
