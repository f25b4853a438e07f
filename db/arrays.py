"""Lists as parameters in the database's own form of arrays. psycopg looks at each element several times, and writes it as text."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

_LENGTH = struct.Struct("!i").pack
_SIXTEEN = _LENGTH(16)
# By the type of an array: the number of an element's type, the class of its elements here, and how they are written one after the other.
_ELEMENTS: Mapping[str, tuple[int, type, Callable[[Sequence[Any]], bytes]]] = {
    "uuid[]": (2950, UUID, lambda keys: b"".join([_SIXTEEN + key.int.to_bytes(16, "big") for key in keys])),
    "text[]": (25, str, lambda texts: b"".join([_LENGTH(len(text)) + text for text in map(str.encode, texts)])),
    "int[]": (23, int, lambda numbers: b"".join(map(struct.Struct("!ii").pack, repeat(4), numbers))),
    "bigint[]": (20, int, lambda numbers: b"".join(map(struct.Struct("!iq").pack, repeat(8), numbers))),
    "float8[]": (701, float, lambda numbers: b"".join(map(struct.Struct("!id").pack, repeat(8), numbers))),
}


def array_of(values: Sequence[object], kind: str) -> bytes | None:
    """A list as an array of the type that a statement casts it to; None where it is no list of that, which is then for others to say."""
    known = _ELEMENTS.get(kind)
    if known is None:
        return None
    number, expected, written = known
    if not set(map(type, values)) <= {expected}:
        return None
    try:
        content = written(values)
    except (struct.error, UnicodeEncodeError):
        return None
    return _head(number, len(values)) + content


class UuidArray(bytes):
    """Ids by the hundred thousand as one parameter of type uuid[], from 16 bytes each."""

    @classmethod
    def of(cls, ids: NDArray[np.void]) -> UuidArray:
        return cls(_array(2950, ids, 16, _ID))


class BigintArray(bytes):
    """Numbers by the hundred thousand as one parameter of type bigint[]."""

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> BigintArray:
        return cls(_array(20, numbers, 8, _NUMBER))


_ID, _NUMBER = np.dtype([("length", ">i4"), ("value", "V16")]), np.dtype([("length", ">i4"), ("value", ">i8")])


def ids_of(keys: Sequence[UUID]) -> NDArray[np.void]:
    """Ids as `UuidArray` takes them."""
    return np.frombuffer(b"".join([key.int.to_bytes(16, "big") for key in keys]), "V16")


def _array(number: int, values: NDArray[Any], length: int, kind: np.dtype[np.void]) -> bytes:
    made = np.empty(len(values), kind)
    made["length"], made["value"] = length, values
    return _head(number, len(values)) + made.tobytes()


def _head(number: int, count: int) -> bytes:
    """One dimension, no nulls, the type of an element, how many there are from 1 on; nothing has no dimension."""
    return struct.pack("!iiIii", 1, 0, number, count, 1) if count else struct.pack("!iiI", 0, 0, number)


class _UuidArrayDumper(Dumper):
    format, oid = Format.BINARY, 2951

    def dump(self, obj: Any) -> bytes:
        return bytes(obj)


class _BigintArrayDumper(_UuidArrayDumper):
    oid = 1016


psycopg.adapters.register_dumper(UuidArray, _UuidArrayDumper)
psycopg.adapters.register_dumper(BigintArray, _BigintArrayDumper)
