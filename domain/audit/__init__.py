"""What was done in a team, by whom and on what: acts as the audit log names them."""
