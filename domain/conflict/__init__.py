"""Statements and texts that contradict each other: cases, who decides, and what a view shows of them."""
