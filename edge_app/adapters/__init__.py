"""Personal LoRAs of one's own texts: how they are trained and kept."""
