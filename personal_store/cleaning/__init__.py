"""From the body of a message to the words that its writer wrote."""
