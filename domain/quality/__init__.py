"""How good answers are: pure measures over ranked ids, and comparisons of two ways to rank."""
