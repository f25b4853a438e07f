"""What is kept for a time only, and for how long."""
