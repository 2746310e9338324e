"""What the terminal app costs, and how soon it shows what came."""
