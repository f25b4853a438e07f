"""The write: one call, one transaction, searchable when it returns."""
