"""The verifier as a service."""
