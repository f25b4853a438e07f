"""How vectors go in and out of PostgreSQL: 16-bit floats, one narrow table a contract."""

from __future__ import annotations

from pgvector import HalfVector

from commonlore.domain.ports import Vectors

CONTRACT_ID = 1


def as_halfvec(vector: Vectors) -> HalfVector:
    """A unit vector as halfvec. Halves keep 11 bits; exact search over them ranks as over 32-bit floats (components.md B1)."""
    return HalfVector(vector)
