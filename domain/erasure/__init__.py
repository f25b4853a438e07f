"""Erasure as rules and values: what may be asked, what stands in its way, what a receipt says and how it is signed."""
