"""The one recorder of a recall: how long each step took and, when the recall is to be explained, what each fetch gave.

The names of the steps are those of ARCHITECTURE.md; the trace, `Server-Timing` and the metrics use the same. The functions
of the steps know nothing of it: whoever calls them puts the call inside `step`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, get_args
from uuid import UUID

from commonlore.domain.recall.snapshot import Fetched

StepName = Literal[
    "decode",
    "parse_intent",
    "authenticate",
    "embed",
    "read_statistics",
    "make_plan",
    "fetch",
    "rank",
    "fuse_spaces",
    "hydrate",
    "admit",
    "assemble",
    "cover",
    "seed_communities",
    "rank_communities",
    "fill_communities",
    "group",
    "subtract",
    "fall_back",
    "say_conflicts",
    "suggest",
    "conclude",
    "explain",
]
STEPS: tuple[StepName, ...] = get_args(StepName)
FetchFor = Literal["both", "evidence", "relationships"]


@dataclass(frozen=True, slots=True)
class FetchNote:
    """One fetch: for which lane, how deep, and what it gave by space id."""

    lane: FetchFor
    depth: int
    fetched: Mapping[UUID, Fetched]


class Recorder:
    """`now` gives seconds of a clock that never goes back. A step that runs several times adds up.

    `keeps_fetches` is off unless the recall is explained; then nothing is held and `note_fetch` does nothing.
    """

    __slots__ = ("_now", "fetches", "keeps_fetches", "seconds")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.keeps_fetches = False
        self.seconds: dict[StepName, float] = {}
        self.fetches: list[FetchNote] = []

    def step(self, name: StepName) -> _Step:
        """Times the block. Failed steps count as well."""
        return _Step(self, name, self._now)

    def note_fetch(self, lane: FetchFor, depth: int, fetched: Mapping[UUID, Fetched]) -> None:
        if self.keeps_fetches:
            self.fetches.append(FetchNote(lane, depth, fetched))

    def milliseconds(self) -> dict[str, float]:
        """By step, in the order of `STEPS`, to a hundredth."""
        return {name: round(self.seconds[name] * 1000, 2) for name in STEPS if name in self.seconds}


class _Step:
    __slots__ = ("_began", "_name", "_now", "_recorder")

    def __init__(self, recorder: Recorder, name: StepName, now: Callable[[], float]) -> None:
        self._recorder, self._name, self._now = recorder, name, now

    def __enter__(self) -> None:
        self._began = self._now()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        seconds = self._recorder.seconds
        seconds[self._name] = seconds.get(self._name, 0.0) + self._now() - self._began
