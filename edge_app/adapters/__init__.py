"""Personal LoRAs of one's own texts: which texts, how they are trained, where they are
kept."""
