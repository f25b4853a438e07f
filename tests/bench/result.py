"""What a benchmark found, beside what the machine itself allows at that moment."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from commonlore.db.embedding.local import LocalEmbedder
from tests.bench.floors import embed_once_ms

T = TypeVar("T")
# How long embedding a query took where the bounds were set.
_FLOOR_OF_BOUNDS_MS = 5.2
_AT_ONCE = 6


@dataclass(frozen=True)
class Result:
    """One line of the table: what, how much, in which unit, against which bound (empty where there is none).

    `floor_ms`: embedding a query while it was measured; 0 where that says nothing.
    """

    name: str
    value: float
    unit: str
    bound: str = ""
    floor_ms: float = 0.0

    def shown(self) -> str:
        by_floor = f"{_number(self.by_floor)} {self.unit}" if self.floor_ms else ""
        return f"| {self.name} | {_number(self.value)} {self.unit} | {by_floor} | {self.bound} |"

    @property
    def by_floor(self) -> float:
        """The value on a machine that embeds a query in the time of the bounds; itself where there is no floor."""
        faster = self.floor_ms / _FLOOR_OF_BOUNDS_MS if self.floor_ms else 1.0
        return self.value / faster if self.unit == "ms" else self.value * faster


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


class Floor:
    """The machine's own time for embedding a query, taken before, between and after the parts of what is measured: its speed changes within minutes."""

    def __init__(self, queries: Sequence[str]) -> None:
        self._queries = list(queries)
        self._embedder = LocalEmbedder(threads=1)
        self._at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._embedder.close()

    async def beside(self, parts: Sequence[Callable[[], Awaitable[T]]]) -> tuple[list[T], float]:
        """What each part gives, one after the other, and the median of the floor around and between them."""
        samples, found = await self._some(), []
        for part in parts:
            found.append(await part())
            samples += await self._some()
        return found, statistics.median(samples)

    async def _some(self) -> list[float]:
        samples = []
        for _ in range(_AT_ONCE):
            self._at += 1
            samples.append(await embed_once_ms(self._embedder, self._queries[self._at % len(self._queries)]))
        return samples[1:]  # the first pays for what was in the caches
