"""Ways in: HTTP, MCP and the command line. Thin: decode, call the domain, encode."""
