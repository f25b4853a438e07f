"""Text to unit vectors: the local model, the memory of query vectors, and the check every embedder's answer passes."""
