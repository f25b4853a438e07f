"""How vectors go in and out of PostgreSQL: 16-bit floats, one narrow table a contract."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from functools import lru_cache
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from pgvector import HalfVector
from psycopg.adapt import Dumper
from psycopg.pq import Format

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


class UuidArray(bytes):
    """Many ids as one parameter of type uuid[], in the database's own form: a list of objects would be written one by one."""

    @classmethod
    def of_ids(cls, ids: Collection[UUID]) -> UuidArray:
        """Some ids, in their order."""
        return cls(_head(len(ids)) + b"".join(_ID_LENGTH + key.bytes for key in ids))

    @classmethod
    def of_keys(cls, keys: Collection[bytes]) -> UuidArray:
        """`of_ids` of ids as 16 bytes."""
        return cls(_head(len(keys)) + b"".join(_ID_LENGTH + key for key in keys))


_UUID_OID, _UUIDS_OID = 2950, 2951
_ID_LENGTH = struct.pack("!i", 16)


def _head(count: int) -> bytes:
    """One dimension, no nulls, the type of an element, how many there are from 1 on; nothing has no dimension."""
    return struct.pack("!iiIii", 1, 0, _UUID_OID, count, 1) if count else struct.pack("!iiI", 0, 0, _UUID_OID)


class _UuidArrayDumper(Dumper):
    format, oid = Format.BINARY, _UUIDS_OID

    def dump(self, obj: Any) -> bytes:
        return bytes(obj)


psycopg.adapters.register_dumper(UuidArray, _UuidArrayDumper)
