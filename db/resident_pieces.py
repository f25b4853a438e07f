"""Which piece has which number in a process, a few bytes each for a space that was read as a whole.

A piece is a part of a text, or a document; its owner is the text, or the relationship.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]
_ID_BYTES = 16
_PIECE = np.dtype([("id", "V16"), ("part_no", ">i4")])
# Odd numbers without a pattern in their bits: what is mixed with them differs wherever ids do, save once in billions of spaces.
_FIRST, _SECOND, _THIRD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)


class Keys(NamedTuple):
    """Pieces by the halves of their owners' ids, which sort as those do, and by part."""

    high: Words
    low: Words
    part_no: Numbers

    @classmethod
    def of(cls, ids: bytes, part_no: Numbers) -> Keys:
        """From the 16 bytes of each id, one after the other."""
        halves = np.frombuffer(ids, ">u8").reshape(-1, 2).astype(np.uint64)
        return cls(halves[:, 0], halves[:, 1], part_no)

    @property
    def mixed(self) -> Words:
        """One number for each. Equal pieces have equal ones; whoever takes equal numbers for equal pieces looks once more."""
        mixed: Words = self.high * _FIRST ^ self.low * _SECOND ^ self.part_no.astype(np.uint64) * _THIRD
        return mixed

    def at(self, places: NDArray[np.intp]) -> Keys:
        return Keys(self.high[places], self.low[places], self.part_no[places])

    def differ(self, other: Keys) -> NDArray[np.bool_]:
        unlike: NDArray[np.bool_] = (self.high != other.high) | (self.low != other.low) | (self.part_no != other.part_no)
        return unlike


class Sorted(NamedTuple):
    """Pieces, each once, in the order of mixed numbers."""

    mixed: Words
    keys: Keys

    def places(self, keys: Keys) -> NDArray[np.int32]:
        """Where each of some pieces stands; -1 where it is not there."""
        if not len(self.mixed):
            return np.full(len(keys.high), -1, np.int32)
        places = np.minimum(np.searchsorted(self.mixed, keys.mixed), len(self.mixed) - 1)
        return np.where(self.keys.at(places).differ(keys), -1, places).astype(np.int32)


class Distinct(NamedTuple):
    """Each of some pieces once, and the place of every one of them in that."""

    pieces: Sorted
    places: NDArray[np.int32]


def distinct(keys: Keys) -> Distinct | None:
    """None where two different pieces have one mixed number."""
    mixed, first, places = np.unique(keys.mixed, return_index=True, return_inverse=True)
    found = keys.at(first)
    return None if found.at(places).differ(keys).any() else Distinct(Sorted(mixed, found), places.astype(np.int32))


_NOTHING = Sorted(np.empty(0, np.uint64), Keys.of(b"", np.empty(0, np.int64)))


class Pieces:
    """Numbers of pieces from 0 on, and of their owners. Those of a whole space are searched, those that came later lie in dicts."""

    def __init__(self) -> None:
        self._whole = self._whole_owners = _NOTHING
        self._later: dict[bytes, int] = {}
        self._later_owners: dict[bytes, int] = {}
        # By piece its owner and part; by owner the halves of its id, and the id itself once it was found.
        self._pieces = _Column(np.dtype([("owner", np.int32), ("part_no", np.int32)]))
        self._owners = _Column(np.dtype([("id", object), ("high", np.uint64), ("low", np.uint64)]))

    @classmethod
    def of_space(cls, whole: Sorted) -> Pieces | None:
        """With the pieces of a space, each under its place in `whole`; None where two owners cannot be told apart."""
        owners = distinct(Keys(whole.keys.high, whole.keys.low, np.zeros(len(whole.mixed), np.int64)))
        if owners is None:
            return None
        made = cls()
        made._whole, made._whole_owners = whole, owners.pieces
        made._pieces.extend(len(whole.mixed), owner=owners.places, part_no=whole.keys.part_no)
        made._owners.extend(len(owners.pieces.mixed), high=owners.pieces.keys.high, low=owners.pieces.keys.low)
        return made

    def __len__(self) -> int:
        return self._pieces.count

    @property
    def later(self) -> int:
        """Pieces that came after the whole space was read."""
        return len(self._later)

    @property
    def owners_count(self) -> int:
        return self._owners.count

    @property
    def are_owners(self) -> bool:
        """Whether every owner has one piece."""
        return self._pieces.count == self._owners.count

    def owners_and_parts(self, pieces: Numbers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        rows = self._pieces.rows[pieces]
        return rows["owner"], rows["part_no"]

    def by_id(self, owners: Numbers, scores: Numbers) -> Numbers:
        """Owners in the order of falling scores, and among equal ones of their ids: places in both arrays."""
        rows = self._owners.rows
        return np.lexsort((rows["low"][owners], rows["high"][owners], -scores))

    def ids(self, owners: Numbers) -> list[UUID]:
        """Their ids, each made once."""
        rows = self._owners.rows
        found: list[UUID | None] = rows["id"][owners].tolist()
        for place, key in enumerate(found):
            if key is None:
                owner = int(owners[place])
                found[place] = rows["id"][owner] = UUID(int=int(rows["high"][owner]) << 64 | int(rows["low"][owner]))
        return found  # type: ignore[return-value]

    def known_owners(self, ids: Collection[bytes]) -> list[int]:
        """The numbers of those owners that have one."""
        if not ids:
            return []
        found = self._whole_owners.places(Keys.of(b"".join(ids), np.zeros(len(ids), np.int64)))
        begin = self._owners.count - len(self._later_owners)
        return [*found[found >= 0].tolist(), *(begin + self._later_owners[key] for key in ids if key in self._later_owners)]

    def numbers(self, ids: bytes, part_nos: Numbers) -> NDArray[np.int32]:
        """Of pieces in their order; those that are met for the first time get the next ones."""
        found = self._whole.places(Keys.of(ids, part_nos))
        rest = np.flatnonzero(found < 0)
        if len(rest):
            keys = np.empty(len(rest), _PIECE)
            keys["id"], keys["part_no"] = np.frombuffer(ids, "V16")[rest], part_nos[rest]
            later, first, begin = self._later, len(self._later), len(self) - len(self._later)
            found[rest] = [begin + later.setdefault(key, len(later)) for key in keys.view(f"V{_PIECE.itemsize}").tolist()]
            if len(later) > first:
                self._number(list(islice(later, first, None)))
        return found

    def _number(self, keys: Sequence[bytes]) -> None:
        """Give new pieces their owners."""
        halves = Keys.of(b"".join(key[:_ID_BYTES] for key in keys), np.zeros(len(keys), np.int64))
        owners = self._whole_owners.places(halves)
        begin = self._owners.count - len(self._later_owners)
        first = len(self._later_owners)
        for place in np.flatnonzero(owners < 0).tolist():
            owners[place] = begin + self._later_owners.setdefault(keys[place][:_ID_BYTES], len(self._later_owners))
        new = Keys.of(b"".join(islice(self._later_owners, first, None)), np.zeros(0, np.int64))
        self._owners.extend(len(self._later_owners) - first, high=new.high, low=new.low)
        self._pieces.extend(len(keys), owner=owners, part_no=[int.from_bytes(key[_ID_BYTES:], "big") for key in keys])


class _Column:
    """Rows that grow at the end."""

    def __init__(self, kind: np.dtype[np.void]) -> None:
        self._room: NDArray[np.void] = np.zeros(256, kind)
        self.count = 0

    @property
    def rows(self) -> NDArray[np.void]:
        return self._room[: self.count]

    def extend(self, count: int, **fields: NDArray[np.generic] | Sequence[int]) -> None:
        """Rows with these fields; a field of objects that is left out has None."""
        if self.count + count > len(self._room):
            room = np.zeros(max(self.count + count, 2 * len(self._room)), self._room.dtype)
            room[: self.count] = self.rows
            self._room = room
        new = self._room[self.count : self.count + count]
        for name in self._room.dtype.names or ():
            new[name] = fields.get(name)
        self.count += count
