"""The rules of Commonlore: pure values and functions, no I/O."""
