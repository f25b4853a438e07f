"""One relationship with its evidence and history."""
