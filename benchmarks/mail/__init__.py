"""How well the own words of a mail are told from the rest."""
