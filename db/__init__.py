"""Everything outside the process: PostgreSQL, the embedding model, settings."""
