"""From a private space into a shared one: what is copied, as whose words, and who decides."""
