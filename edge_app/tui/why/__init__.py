"""Why a word of the draft stands there: its origin, and what was thought of it."""
