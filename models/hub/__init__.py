"""Models from a hub: asked for by name, pulled, checked."""
