"""The recall: a straight line of named steps from a request to an answer."""
