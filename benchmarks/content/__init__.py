"""Whether a text says what was asked: requests with their facts, rules, coverage."""
