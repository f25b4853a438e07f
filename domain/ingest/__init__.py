"""Sessions of an agent framework, taken in event by event: each event once, never changed, in its place."""
