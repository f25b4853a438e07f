"""Read models rendered from the ledger."""
