"""How vectors go in and out of PostgreSQL: 16-bit floats, one narrow table a contract."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import LiteralString

from pgvector import HalfVector

from commonlore.domain.ports import Vectors

# The contract whose tables the statements of `queries/` name.
_NAMED = 1
_TABLE = re.compile(rf"\b(evidence|relationship)_vector_{_NAMED}\b( /\* served \*/)?")


@lru_cache(maxsize=1_000)
def of_contract(statement: LiteralString, contract_id: int, served_id: int | None = None) -> LiteralString:
    """The statement over the vector tables of a contract, and of the served one where a table is marked so.

    Numbers change, and nothing else can become text.
    """

    def named(found: re.Match[str]) -> str:
        number = served_id if found[2] and served_id is not None else contract_id
        return f"{found[1]}_vector_{int(number)}"

    return _TABLE.sub(named, statement)


def as_halfvec(vector: Vectors) -> HalfVector:
    """A unit vector as halfvec. Halves keep 11 bits; exact search over them ranks as over 32-bit floats (components.md B1)."""
    return HalfVector(vector)
