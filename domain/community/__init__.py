"""Communities: what belongs together in a space, found again and again from the same relationships in the same way."""
