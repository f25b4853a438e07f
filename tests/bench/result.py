"""What a benchmark found, beside what the machine itself allows at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.bench.floors import embed_ms

T = TypeVar("T")
# How long embedding a query took where the bounds were set.
_FLOOR_OF_BOUNDS_MS = 5.2


@dataclass(frozen=True)
class Result:
    """One line of the table: what, how much, in which unit, against which bound (empty where there is none).

    `floor_ms`: embedding a query just before it was measured and just after; 0 where that says nothing.
    """

    name: str
    value: float
    unit: str
    bound: str = ""
    floor_ms: float = 0.0

    def shown(self) -> str:
        return f"| {self.name} | {_number(self.value)} {self.unit} | {self._by_floor()} | {self.bound} |"

    def _by_floor(self) -> str:
        """The value on a machine that embeds a query in the time of the bounds."""
        if not self.floor_ms:
            return ""
        faster = self.floor_ms / _FLOOR_OF_BOUNDS_MS
        return f"{_number(self.value / faster if self.unit == 'ms' else self.value * faster)} {self.unit}"


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


async def beside_floor(queries: Sequence[str], work: Awaitable[T]) -> tuple[T, float]:
    """What the work gives, and the mean of the floor of embedding just before and just after it."""
    before = await asyncio.to_thread(embed_ms, queries)
    found = await work
    return found, (before + await asyncio.to_thread(embed_ms, queries)) / 2
