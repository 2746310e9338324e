"""The routes, their schemas, and what stands before them."""
