"""Evaluation of a running service on a set of texts and questions, through the public API alone."""
