"""When a space's vectors are searched by an index of their own, and what one must find to be used: rules and numbers, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

Frontier = Literal["evidence", "relationship"]
Step = Literal["build", "measure", "drop", "forget"]
# building: it may be there or not, searches are exact. ready: searches use it. poor: it finds too little, searches are exact.
# degraded: it finds too little and the space is too large to be searched exactly: searches use it and answers say so.
IndexState = Literal["building", "ready", "poor", "degraded"]
SEARCHED: tuple[IndexState, ...] = ("ready", "degraded")
# Rows that a recall asks of an index at least; a measurement asks for as many.
SEARCH_DEPTH = 200
# As many candidates as a search by an index keeps at most; pgvector takes no more.
MOST_BY_INDEX = 1_000


class IndexUse(NamedTuple):
    """How a recall searches a space by its index: `ef_search` candidates are kept."""

    state: IndexState
    ef_search: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many of the exact nearest an index finds while it keeps `ef_search` candidates, in thousandths, over so many queries."""

    thousandths: int
    queries: int
    ef_search: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One frontier of one space: how many vectors it has, what stands in the catalogue, and what was noted and measured last.

    `generation` is 0 for evidence. `is_valid` is None where no index stands, and false for one whose building was cut off.
    """

    frontier: Frontier
    contract_id: int
    generation: int
    rows: int
    is_valid: bool | None = None
    state: IndexState | None = None
    measured_rows: int | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class VectorIndexPolicy:
    """Counts are rows of one space's vectors in one frontier.

    From `build_from` on an index is built; it goes when less than half of that is left. Over `queries` of them, a search by
    the index must find `least_overlap` thousandths of the exact nearest 60, or `least_overlap_beyond` in a space that is too
    large to be searched exactly. Searches keep the least of `depths` that finds enough.
    """

    build_from: int = 24_000
    least_overlap: int = 990
    least_overlap_beyond: int = 970
    exact_at_most: int = 200_000
    queries: int = 40
    nearest: int = 60
    measure_every: timedelta = timedelta(hours=24)
    links: int = 16
    build_depth: int = 128
    depths: tuple[int, ...] = (200, 300, 400, 600, 800)

    def is_wanted(self, rows: int, *, exists: bool) -> bool:
        """Whether a space of that size should have an index; one that exists is kept for a while when the space shrinks."""
        return rows >= self.build_from or (exists and 2 * rows >= self.build_from)

    def state(self, overlap: int, rows: int) -> IndexState:
        """How searches go on after a measurement."""
        if overlap >= self.wanted_overlap(rows):
            return "ready"
        return "poor" if rows <= self.exact_at_most else "degraded"

    def wanted_overlap(self, rows: int) -> int:
        """What an index over that many rows must find, in thousandths."""
        return self.least_overlap if rows <= self.exact_at_most else self.least_overlap_beyond

    def least_that_finds_enough(self, found: Sequence[Overlap], rows: int) -> Overlap:
        """Of measurements at rising depths the first that finds enough, else the last."""
        return next((overlap for overlap in found if overlap.thousandths >= self.wanted_overlap(rows)), found[-1])

    def step(self, seen: Seen, now: datetime) -> Step | None:
        """What is to be done next for one frontier of a space; None when it is as it should be."""
        exists = seen.is_valid is not None
        if not self.is_wanted(seen.rows, exists=exists):
            return "drop" if exists else "forget" if seen.state is not None else None
        if not seen.is_valid or seen.state is None:
            return "build"
        return None if self._is_measured(seen, now) else "measure"

    def _is_measured(self, seen: Seen, now: datetime) -> bool:
        """Whether the last measurement still speaks for a space of that size."""
        if seen.measured_at is None or seen.measured_rows is None:
            return False
        return size_bucket(seen.measured_rows) == size_bucket(seen.rows) and now - seen.measured_at < self.measure_every


def size_bucket(rows: int) -> int:
    """The lower bound of the rows' size class: 1, 2 and 5 in each power of ten; 0 for none."""
    power = 1
    while power * 10 <= rows:
        power *= 10
    return max((step * power for step in (1, 2, 5) if step * power <= rows), default=0)
