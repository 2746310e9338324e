"""From a path to imported texts: discovery, import, watching."""
