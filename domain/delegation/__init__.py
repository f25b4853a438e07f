"""Briefs: questions that need judgement, prepared by the service, answered by any agent, applied like a direct call."""
