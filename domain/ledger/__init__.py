"""What is known: keys, values, predicates and the states of relationships."""
