"""What callers say of recalls: kept beside them, never read by one."""
