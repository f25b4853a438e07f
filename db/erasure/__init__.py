"""Erasure: hidden in one transaction, deleted by a worker, searched for at the end, and receipted."""
