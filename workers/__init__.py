"""Jobs: take one, call the domain, write through db."""
