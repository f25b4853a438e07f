"""Vectors of the spaces that are asked often, kept in the process: the nearest to a query, as the database would find them.

Exact to the last bit: all are measured in whichever order the processor adds up best, with a bound on what rounding does in any order;
those that may be among the nearest are then measured in the order of additions that the database's own vector arithmetic has.
Whether it has that order is looked at each time a space is read: a block whose distances are not those of the database is not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
import simsimd
from numpy.typing import NDArray

from commonlore.domain.ports import Vectors

Frontier = Literal["evidence", "relationship"]
Halves = NDArray[np.float16]
Places = NDArray[np.intp]
_UNIT = 2.0**-24
# Wanted beside what is wanted: some may be refused.
SLACK = 16
_ID_BYTES = 16
# Before the coordinates of a vector: how many they are, and a word that says nothing.
_HEAD_WORDS = 2
# Of a 16-bit float in 32 bits, 13 places further up, all but copies of its sign; and by how much the two kinds count their exponents apart.
_SIGN_AND_REST, _BIAS = np.int32(-0x70002000), np.float32(2.0**112)
# Sums that the database's arithmetic keeps side by side.
_LANES = 8
# Vectors whose distances are compared with those of the database.
_LOOKED_AT = 1_024


class BlockName(NamedTuple):
    """Whose vectors a block holds. A fence gives a space another number, a rebuild another generation; 0 for evidence."""

    team_id: UUID
    space_epoch: int
    frontier: Frontier
    contract_id: int
    generation: int = 0


class Arrivals(NamedTuple):
    """Rows of one snapshot, each column's bytes in one piece; `mark` is its least transaction that is not over.

    `holds`: the snapshot sees everything that was held when it was asked. `first` and `distances` come with a whole space: a vector of it,
    and how far the database finds each from that.
    """

    mark: int
    holds: bool
    ids: bytes
    part_nos: bytes
    arrived: bytes
    vectors: bytes
    first: bytes = b""
    distances: bytes = b""

    def numbers(self) -> frozenset[int]:
        """The transactions that the rows came with."""
        return frozenset(np.frombuffer(self.arrived, ">i8").tolist())


# A vector that is near, or a text that holds words: whose it is, which part, and its score, higher is better.
Hit = tuple[UUID, int, float]


class Moments(NamedTuple):
    """Mean and standard deviation of a query's inner products over the sample of a space; None where it has none."""

    mean: float | None
    deviation: float | None


class Nearest(NamedTuple):
    """The nearest `looked_at` to a query, and all that are as near as the last of them."""

    looked_at: int
    hits: list[Hit]


class Measured(NamedTuple):
    """A query's products with every vector of a block, roughly, what the search before would ask next, and the number of changes that the
    block had seen."""

    changes: int
    products: NDArray[np.float64]
    nearest: Nearest | None
    moments: tuple[int, Moments] | None


class VectorBlock:
    """The vectors of one space: every one that a snapshot sees which is not older than the last one that was added, and those that are gone.
    A vector that was written anew takes the place of the old one. Of a transaction all or none are held.

    `mark` and `held`: what a snapshot sees beyond these came with a transaction that is not below `mark` and not in `held`.
    """

    def __init__(self, dimensions: int, rows: int) -> None:
        self.dimensions = dimensions
        self.mark = 0
        self.held: frozenset[int] = frozenset()
        self.count = self.changes = 0
        self._capacity = _capacity(rows)
        self._rows: Halves = np.empty((self._capacity, dimensions), np.float16)
        self._order: NDArray[np.void] = np.empty(self._capacity, _ORDER)
        self._ids: NDArray[np.object_] = np.empty(self._capacity, object)
        self._place: dict[tuple[bytes, int], int] = {}
        self._parts: dict[bytes, int] = {}
        self._longest = 0.0
        self._sample: tuple[int, Vectors] | None = None
        self._looked_at = 0  # by the last search
        self._added_up: Callable[[Vectors], Vectors] = _by_halves

    @property
    def size_bytes(self) -> int:
        return block_bytes(self._capacity, self.dimensions, spare=False)

    def add(self, found: Arrivals) -> bool:
        """Take what is new to the block; False where it does not fit, or is no vector of its kind: then the block is of no more use."""
        if found.ids:
            arrived = np.frombuffer(found.arrived, ">i8")
            # Another recall may have added the same since this one asked: all that is below the mark by now, and what is held.
            new = (arrived >= self.mark) & ~np.isin(arrived, list(self.held))
            rows = _halves_in(found.vectors, self.dimensions)
            if rows is None or not self._put(found, rows, np.flatnonzero(new)):
                return False
            self.held |= frozenset(arrived[new].tolist())
        if found.mark > self.mark:
            self.mark = found.mark
            self.held = frozenset(number for number in self.held if number >= self.mark)
        return True

    def _put(self, found: Arrivals, rows: Halves, new: Places) -> bool:
        """Each of the new rows in the place of its vector, which is a new one at the end where it had none."""
        part_nos, places = np.frombuffer(found.part_nos, ">i4").tolist(), np.empty(len(new), np.intp)
        for number, row in enumerate(new.tolist()):
            key = _id_at(found, row)
            place = self._place.setdefault((key, part_nos[row]), len(self._place))
            if place >= self.count:
                if place >= self._capacity:
                    return False
                self.count = place + 1
                self._ids[place] = UUID(bytes=key)
                self._parts[key] = self._parts.get(key, 0) + 1
                self._order[place] = (*_halves_of(key), part_nos[row])
            places[number] = place
        self._rows[places] = rows[new]
        if len(places):
            self._longest = max(self._longest, _longest(rows[new]))
        self._sample = None
        self.changes += 1
        return True

    def measures_as(self, found: Arrivals) -> bool:
        """Whether the block has the distances from the first vector that the database sent with the whole space, as far as a thousand tell, in
        one of the orders that its builds add up in; the block measures in that order from then on."""
        first = _halves_in(found.first, self.dimensions)
        theirs = np.frombuffer(found.distances, ">f8")
        if first is None or len(theirs) != self.count:
            return False
        part_nos = np.frombuffer(found.part_nos, ">i4")
        looked_at = np.unique(np.linspace(0, self.count - 1, _LOOKED_AT).astype(np.intp))
        places = np.array([self._place[_id_at(found, row), int(part_nos[row])] for row in looked_at.tolist()], np.intp)
        theirs = theirs[looked_at]
        # A processor that adds up 16-bit floats as such is out of the bound by far.
        if np.abs(self._roughly(first[0])[places] + theirs).max() > self._error(first[0]):
            return False
        rows, query = _floats(self._rows[places]), _floats(first[0])
        for added_up in _ORDERS_OF_LANES:
            self._added_up = added_up
            if np.array_equal(self._scores(rows, query).astype(np.float64), -theirs):
                return True
        return False

    def measured(self, query: Vectors) -> Measured:
        """What `nearest` and `moments` begin with, for a query whose other needs are not known yet: as far as they are those of the last search."""
        asked = query.astype(np.float16)
        rough = self._roughly(asked)
        near = self._nearest(asked, self._looked_at, rough) if self._looked_at else None
        moments = (self._sample[0], self._moments(asked, self._sample[1])) if self._sample is not None else None
        return Measured(self.changes, rough, near, moments)

    def nearest(
        self, query: Vectors, wanted: int, refused: Collection[bytes] = (), *, with_ties: bool = False, measured: Measured | None = None
    ) -> list[Hit]:
        """The `wanted` nearest to a query of the same contract, without those of refused owners. Ties: id, then part.

        `with_ties`: and all that are as near as the last of them. `measured`: of the same query; of no use once the block has changed.
        """
        looked_at = self._looked_at = wanted + sum(self._parts.get(key, 0) for key in refused)
        asked, rough, near = query.astype(np.float16), None, None
        if measured is not None and measured.changes == self.changes:
            rough, near = measured.products, measured.nearest
        if near is None or near.looked_at != looked_at:
            near = self._nearest(asked, looked_at, rough)
        hits = near.hits if with_ties else near.hits[:looked_at]
        return [hit for hit in hits if hit[0].bytes not in refused][:wanted] if refused else hits

    def _nearest(self, asked: Halves, looked_at: int, rough: NDArray[np.float64] | None) -> Nearest:
        near = np.arange(self.count) if looked_at >= self.count else self._possible(asked, looked_at, rough)
        scores = self._scores(_floats(self._rows[near]), _floats(asked))
        ranked = np.argsort(-scores, kind="stable")
        by_score, order = scores[ranked], self._order[near]
        if (by_score[1:] == by_score[:-1]).any():
            ranked = np.lexsort((order["part_no"], order["low"], order["high"], -scores))
        if len(ranked) > looked_at:
            ranked = ranked[: int(np.count_nonzero(scores >= scores[ranked[looked_at - 1]]))]
        hits = zip(self._ids[near[ranked]].tolist(), order["part_no"][ranked].tolist(), scores[ranked].tolist(), strict=True)
        return Nearest(looked_at, list(hits))

    def best_parts(self, hits: list[Hit], wanted: int) -> list[Hit]:
        """Of nearest-first hits the first of each owner, at most `wanted`."""
        if len(self._parts) == self.count:
            return hits[:wanted]
        first: dict[UUID, Hit] = {}
        for hit in hits:
            first.setdefault(hit[0], hit)
        return list(first.values())[:wanted]

    def moments(self, query: Vectors, sample: int, *, measured: Measured | None = None) -> Moments:
        """Of the query's products with the first parts of the `sample` owners whose ids end lowest; `measured` as for `nearest`."""
        if measured is not None and measured.changes == self.changes and measured.moments is not None and measured.moments[0] == sample:
            return measured.moments[1]
        if self._sample is None or self._sample[0] != sample:
            order = self._order[: self.count]
            firsts = np.flatnonzero(order["part_no"] == 0)
            ends = order["low"][firsts] & np.uint64(0xFFFFFFFFFFFF)
            chosen = firsts[np.lexsort((order["low"][firsts], order["high"][firsts], ends))[:sample]]
            self._sample = sample, _floats(self._rows[chosen[np.lexsort((order["low"][chosen], order["high"][chosen]))]])
        return self._moments(query.astype(np.float16), self._sample[1])

    def _moments(self, asked: Halves, rows: Vectors) -> Moments:
        """With sums as PostgreSQL's `avg` and `stddev_pop` have them (Youngs and Cramer), in the order of ids."""
        if not len(rows):
            return Moments(None, None)
        values = self._scores(rows, _floats(asked)).astype(np.float64)
        sums, numbers = np.add.accumulate(values), np.arange(1.0, len(values) + 1)
        apart = values[1:] * numbers[1:] - sums[1:]
        squares = np.add.accumulate(apart * apart / (numbers[1:] * numbers[:-1]))
        return Moments(float(sums[-1] / numbers[-1]), math.sqrt(float(squares[-1]) / len(values)) if len(squares) else 0.0)

    def _possible(self, asked: Halves, wanted: int, rough: NDArray[np.float64] | None) -> Places:
        """Rows that hold every vector that may be among the wanted ones: hardly more than those."""
        if rough is None:
            rough = self._roughly(asked)
        least = float(np.partition(rough, self.count - wanted)[self.count - wanted])
        return np.flatnonzero(rough >= least - 2 * self._error(asked))

    def _roughly(self, asked: Halves) -> NDArray[np.float64]:
        products: NDArray[np.float64] = np.asarray(simsimd.cdist(asked[None], self._rows[: self.count], metric="dot", out_dtype="float64"))[0]
        return products

    def _scores(self, rows: Vectors, asked: Vectors) -> Vectors:
        """Inner products as pgvector has them with FMA: eight sums side by side, which are added up, then what is left over.

        A product of two 16-bit floats is exact in 32 bits, so that multiplying and adding rounds once, as the processor's one step does.
        """
        products = rows * asked
        whole = self.dimensions - self.dimensions % _LANES
        steps = products[:, :whole].reshape(len(rows), -1, _LANES).transpose(1, 0, 2)
        # Along the first of several axes numpy adds up one step after the other.
        scores = self._added_up(np.add.reduce(np.ascontiguousarray(steps), axis=0).T)
        for column in products[:, whole:].T:
            scores = scores + column
        return scores

    def _error(self, asked: Halves) -> float:
        """How far two sums of the same products of 32-bit floats can lie apart, rounded in some order."""
        return 2 * (self.dimensions + 4) * _UNIT * self._longest * _longest(asked[None])


_ORDER = np.dtype([("high", np.uint64), ("low", np.uint64), ("part_no", np.int32)])
# What the lists and dicts of a row take beside its arrays, about.
_ROW_BYTES = 350


def made_block(found: Arrivals) -> VectorBlock | None:
    """A block of everything that a snapshot sees; None where that is nothing, or the database measures in another way."""
    rows = len(found.ids) // _ID_BYTES
    if not rows:
        return None
    block = VectorBlock(len(found.vectors) // rows // 2 - _HEAD_WORDS, rows)
    return block if block.add(found) and block.measures_as(found) else None


def _capacity(rows: int) -> int:
    """With room for what comes; then the block is read anew, and leaves out what is gone."""
    return rows + rows // 8 + 256


def block_bytes(rows: int, dimensions: int, *, spare: bool = True) -> int:
    """What a block of so many rows takes."""
    return (_capacity(rows) if spare else rows) * (2 * dimensions + _ORDER.itemsize + _ROW_BYTES)


def _halves_of(key: bytes) -> tuple[int, int]:
    """An id as two numbers that sort as it does."""
    return int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big")


def _by_halves(sums: Vectors) -> Vectors:
    """As compilers do that may change the order: the upper half to the lower, until one is left."""
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    first: Vectors = sums[0]
    return first


def _one_by_one(sums: Vectors) -> Vectors:
    """As pgvector's source has it."""
    total: Vectors = sums[0]
    for row in sums[1:]:
        total = total + row
    return total


_ORDERS_OF_LANES = (_by_halves, _one_by_one)


def _id_at(found: Arrivals, row: int) -> bytes:
    return found.ids[row * _ID_BYTES : (row + 1) * _ID_BYTES]


def _halves_in(vectors: bytes, dimensions: int) -> Halves | None:
    """From the database's own form of halfvecs: two 16-bit words, then the coordinates, all with the high byte first."""
    words = np.frombuffer(vectors, np.uint16)
    if len(words) % (dimensions + _HEAD_WORDS):
        return None
    rows = words.reshape(-1, dimensions + _HEAD_WORDS)
    if not (rows[:, 0] == np.array(dimensions, ">u2").view(np.uint16)).all():
        return None
    return rows[:, _HEAD_WORDS:].byteswap().view(np.float16)


def _floats(halves: Halves) -> Vectors:
    """Each as it is: its bits in the places of a longer float, whose exponent then counts from another number. Twice as fast as converting."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_REST
    floats: Vectors = bits.view(np.float32)
    floats *= _BIAS
    return floats


def _longest(rows: Halves) -> float:
    """The greatest length of some rows, rounding included."""
    floats = _floats(rows)
    return float(np.sqrt(np.einsum("ij,ij->i", floats, floats, dtype=np.float64).max())) * 1.001
