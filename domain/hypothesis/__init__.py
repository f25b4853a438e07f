"""Hypotheses: statements that nobody made, from two that somebody did; never evidence and never ranked with it."""
