"""The verifiers that a loop may ask: a server, the base, nobody."""
