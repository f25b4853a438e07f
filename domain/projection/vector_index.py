"""When a space's vectors are searched by an index of their own, and what one must find to be used: rules and numbers, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Frontier = Literal["evidence", "relationship"]
Step = Literal["build", "measure", "drop", "forget"]
# building: it may be there or not, searches are exact. ready: searches use it. poor: it finds too little, searches are exact.
# degraded: it finds too little and the space is too large to be searched exactly: searches use it and answers say so.
IndexState = Literal["building", "ready", "poor", "degraded"]
SEARCHED: tuple[IndexState, ...] = ("ready", "degraded")
# Rows that a recall asks of an index at least; a measurement asks for as many.
SEARCH_DEPTH = 200
# What pgvector takes.
_LEAST_EF_SEARCH, _MOST_EF_SEARCH = 400, 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """One frontier of one space: how many vectors it has, what stands in the catalogue, and what was noted and measured last.

    `generation` is 0 for evidence. `is_valid` is None where no index stands, and false for one whose building was cut off.
    """

    frontier: Frontier
    generation: int
    rows: int
    is_valid: bool | None = None
    state: IndexState | None = None
    measured_rows: int | None = None
    measured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class VectorIndexPolicy:
    """Counts are rows of one space's vectors in one frontier.

    From `build_from` on an index is built; it goes when less than half of that is left. `least_overlap`, in thousandths, is
    how many of the exact nearest 60 a search by the index must find on average over `queries` of them.
    """

    build_from: int = 20_000
    least_overlap: int = 990
    exact_at_most: int = 200_000
    queries: int = 40
    nearest: int = 60
    measure_every: timedelta = timedelta(hours=24)
    links: int = 16
    build_depth: int = 128

    def is_wanted(self, rows: int, *, exists: bool) -> bool:
        """Whether a space of that size should have an index; one that exists is kept for a while when the space shrinks."""
        return rows >= self.build_from or (exists and 2 * rows >= self.build_from)

    def state(self, overlap: int, rows: int) -> IndexState:
        """How searches go on after a measurement."""
        if overlap >= self.least_overlap:
            return "ready"
        return "poor" if rows <= self.exact_at_most else "degraded"

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


def ef_search(rows_wanted: int) -> int:
    """Candidates that a search by the index keeps: as many as are wanted, within what pgvector takes."""
    return min(max(rows_wanted, _LEAST_EF_SEARCH), _MOST_EF_SEARCH)
