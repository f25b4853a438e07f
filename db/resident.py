"""Vectors of the spaces that are asked often, kept in the process: which of them may be among the nearest to a query.

What is kept never answers. It names candidates, with a bound beyond which everything else lies; the statements of `resident.sql` measure
them in the recall's own snapshot, under both locks, and search the space where the bound does not suffice. So an answer has the same
bytes whether its space is kept or not, and a vector that is gone, refused or not yet visible decides nothing.

Two stages, each with its own bound. All vectors are compared as 8-bit numbers, whose sums are exact on every processor; those that may be
among the nearest then by their 32-bit ones, which hold every 16-bit float as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
import simsimd
from numpy.typing import NDArray

from commonlore.db.vectors import UuidArray
from commonlore.domain.ports import Vectors

Frontier = Literal["evidence", "relationship"]
Small = NDArray[np.int8]
_UNIT = 2.0**-24
_LEAST_SLACK = 16
_ID_BYTES = 16
# Rows that are made small at once.
_ROWS_AT_ONCE = 4_096
# Before the coordinates of a vector: how many they are, and a word that says nothing.
_HEAD_WORDS = 2


class BlockName(NamedTuple):
    """Whose vectors a block holds. A fence gives a space another number, a rebuild another generation; 0 for evidence."""

    team_id: UUID
    space_epoch: int
    frontier: Frontier
    contract_id: int
    generation: int = 0


class Arrivals(NamedTuple):
    """Rows of one snapshot, each column's bytes in one piece; `mark` is its least transaction that is not over."""

    mark: int
    ids: bytes
    arrived: bytes
    vectors: bytes


@dataclass(frozen=True, slots=True)
class Nearest:
    """Owners of vectors that may be among the nearest. Every vector of another owner is farther than `within`; infinity: there are none."""

    ids: UuidArray
    within: float


class VectorBlock:
    """The vectors of one space, those that are gone among them: at least every one that a snapshot sees which is not older than the last
    one that was added. Of a transaction all or none are held.

    `mark` and `held`: what a snapshot sees beyond these came with a transaction that is not below `mark` and not in `held`.
    """

    def __init__(self, dimensions: int, rows: int) -> None:
        self.dimensions = dimensions
        self.mark = 0
        self.held: frozenset[int] = frozenset()
        self.count = 0
        self._capacity = _capacity(rows)
        self._rows: Vectors = np.empty((self._capacity, dimensions), np.float32)
        self._small: Small = np.empty((self._capacity, dimensions), np.int8)
        self._scales: Vectors = np.empty(self._capacity, np.float32)
        self._ids: NDArray[np.void] = np.empty(self._capacity, UuidArray.ENTRY)
        self._longest = self._farthest = 0.0
        self._slack = _LEAST_SLACK

    @property
    def size_bytes(self) -> int:
        return int(self._rows.nbytes + self._small.nbytes + self._scales.nbytes + self._ids.nbytes)

    def add(self, found: Arrivals) -> bool:
        """Take what is new to the block; False where it does not fit, or is no vector of its kind: then the block is of no more use."""
        first = self.count
        if found.ids:
            arrived = np.frombuffer(found.arrived, ">i8")
            # Another recall may have added the same since this one asked: all that is below the mark by now, and what is held.
            new = (arrived >= self.mark) & ~np.isin(arrived, list(self.held))
            rows = _floats(found.vectors, self.dimensions)
            last = first + int(np.count_nonzero(new))
            if rows is None or last > self._capacity:
                return False
            self._rows[first:last] = rows[new]
            self._ids[first:last] = UuidArray.entries(found.ids)[new]
            for start in range(first, last, _ROWS_AT_ONCE):
                self._shrink(start, min(start + _ROWS_AT_ONCE, last))
            self.held |= frozenset(arrived[new].tolist())
            self.count = last
        if found.mark > self.mark:
            self.mark = found.mark
            self.held = frozenset(number for number in self.held if number >= self.mark)
        return True

    def nearest(self, query: Vectors, wanted: int) -> Nearest:
        """Candidates for the `wanted` nearest to a query of the same contract."""
        asked = query.astype(np.float16).astype(np.float32)
        wanted += self._slack
        if wanted >= self.count:
            return Nearest(UuidArray.of(self._ids[: self.count]), math.inf)
        error = self._error(asked)
        near = self._roughly_nearest(asked, wanted, 4 * error)
        # Not `@`: of so many rows the library of linear algebra wakes a thread for each core, which then waits busily.
        scores = np.einsum("ij,j->i", self._rows[near], asked)
        least = float(np.partition(scores, len(near) - wanted)[len(near) - wanted])
        near = near[scores >= np.float64(least - 2 * error)]
        return Nearest(UuidArray.of(self._ids[near]), -(least - error))

    def note_short(self) -> None:
        """A search over the block's candidates had to look at the space after all: more of them are given from now on."""
        self._slack = 2 * self._slack + _LEAST_SLACK

    def _roughly_nearest(self, asked: Vectors, wanted: int, margin: float) -> NDArray[np.intp]:
        """Rows that hold every vector whose product is at least the `wanted`-th greatest less the margin, by the bound of Cauchy and Schwarz:
        what rounding took from two vectors changes their product by no more than the lengths of what it took."""
        small, scales = _small(asked[None])
        sums = np.asarray(simsimd.cdist(small, self._small[: self.count], metric="dot", out_dtype="float64"))[0]
        rough = sums * self._scales[: self.count] * float(scales[0])
        lost = _length(asked - small[0] * scales[0])
        bound = lost * self._longest + (_length(asked) + lost) * self._farthest
        least = np.partition(rough, self.count - wanted)[self.count - wanted]
        return np.flatnonzero(rough >= least - 2 * bound - margin)

    def _shrink(self, first: int, last: int) -> None:
        """Fill in the 8-bit form of some rows."""
        rows = self._rows[first:last]
        self._small[first:last], self._scales[first:last] = _small(rows)
        self._longest = max(self._longest, _length(rows))
        self._farthest = max(self._farthest, _length(rows - self._small[first:last] * self._scales[first:last, None]))

    def _error(self, asked: Vectors) -> float:
        """How far a score can lie from the database's: both are sums of 32-bit floats, rounded in some order."""
        return 2 * (self.dimensions + 4) * _UNIT * self._longest * _length(asked)


class ResidentVectors:
    """Blocks by name, the longest unused forgotten first, never more than `most_bytes` together.

    A space is kept from its second search on, where it has at least `least_rows` vectors: below, searching it costs less than asking what is
    new. A search that wants more than `most_share` of the rows is cheaper in the database.
    """

    def __init__(self, most_bytes: int = 0, *, least_rows: int = 3_000, most_share: float = 0.25) -> None:
        self._most_bytes, self._least_rows = most_bytes, least_rows
        self.most_share = most_share
        self._blocks: dict[BlockName, VectorBlock] = {}
        self._asked: dict[BlockName, None] = {}
        self._dimensions: dict[int, int] = {}
        self.size_bytes = 0

    def of(self, name: BlockName) -> VectorBlock | None:
        block = self._blocks.pop(name, None)
        if block is not None:
            self._blocks[name] = block
        return block

    def wants(self, name: BlockName, rows: int) -> bool:
        """Whether a space with so many vectors is to be read now. One takes half of the room at most."""
        if rows < self._least_rows:
            return False
        if name not in self._asked:
            self._asked[name] = None
            if len(self._asked) > _MOST_ASKED:
                del self._asked[next(iter(self._asked))]
            return False
        if 2 * block_bytes(rows, self._dimensions.get(name.contract_id, _MOST_DIMENSIONS)) > self._most_bytes:
            return False
        del self._asked[name]
        return True

    def note_dimensions(self, contract_id: int, dimensions: int) -> None:
        """Of the vectors of a contract, as a query has them."""
        self._dimensions[contract_id] = dimensions

    def keep(self, name: BlockName, block: VectorBlock) -> None:
        self.forget(name)
        self._blocks[name] = block
        self.size_bytes += block.size_bytes
        while self.size_bytes > self._most_bytes:
            self.forget(next(iter(self._blocks)))

    def forget(self, name: BlockName, block: VectorBlock | None = None) -> None:
        """The block of a name, or nothing where another than the given one has taken its place."""
        kept = self._blocks.get(name)
        if kept is not None and block in (None, kept):
            del self._blocks[name]
            self.size_bytes -= kept.size_bytes


_MOST_ASKED, _MOST_DIMENSIONS = 10_000, 4_000


def made_block(found: Arrivals) -> VectorBlock | None:
    """A block of everything that a snapshot sees; None where that is nothing."""
    rows = len(found.ids) // _ID_BYTES
    if not rows:
        return None
    block = VectorBlock(len(found.vectors) // rows // 2 - _HEAD_WORDS, rows)
    return block if block.add(found) else None


def _capacity(rows: int) -> int:
    """With room for what comes; then the block is read anew, and leaves out what is gone."""
    return rows + rows // 8 + 256


def block_bytes(rows: int, dimensions: int) -> int:
    """What a block of so many rows takes."""
    return _capacity(rows) * (5 * dimensions + 4 + UuidArray.ENTRY.itemsize)


def _floats(vectors: bytes, dimensions: int) -> Vectors | None:
    """From the database's own form of halfvecs: two 16-bit words, then the coordinates, all with the high byte first."""
    words = np.frombuffer(vectors, np.uint16)
    if len(words) % (dimensions + _HEAD_WORDS):
        return None
    rows = words.reshape(-1, dimensions + _HEAD_WORDS)
    if not (rows[:, 0] == np.array(dimensions, ">u2").view(np.uint16)).all():
        return None
    return _halves()[rows[:, _HEAD_WORDS:]]


@cache
def _halves() -> Vectors:
    """Every half float by its two bytes as they come: looking up is twice as fast as converting."""
    return np.arange(1 << 16, dtype=np.uint16).view(">f2").astype(np.float32)


def _small(rows: Vectors) -> tuple[Small, Vectors]:
    """Each row as 8-bit numbers and what they are to be multiplied by."""
    scales = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-30)) / np.float32(127)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def _length(rows: Vectors) -> float:
    """The length of a row, or the greatest of several, rounding included."""
    squares = np.einsum("...i,...i->...", rows, rows, dtype=np.float64)
    return float(np.sqrt(squares.max())) * 1.001
