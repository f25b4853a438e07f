"""How much a caller, a team and a process may do."""
