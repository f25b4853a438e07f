"""Jobs: the kinds that exist, how each is tried again, and how far one has come."""
