"""Evidence that stops counting: retracted, superseded, revised, quarantined; and quarantine that ends."""
