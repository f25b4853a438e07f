"""Corrections: of a statement by its author, of the identity of names and of predicates by an administrator."""
