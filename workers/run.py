"""What a handler is given: whose job it is, how to tell how far it has come, and when its turn is over."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.job_queue import Entry, JobQueue, Told
from commonlore.domain.jobs.kind import JobKind
from commonlore.domain.jobs.progress import rate_of

# How often a job's progress is written at most.
_REPORT_EVERY_S = 1.0


class Outcome(Enum):
    """DONE: nothing is left. AGAIN: the turn is over and something is left; the job goes to the end of its team's turn."""

    DONE = "done"
    AGAIN = "again"


class TakenOver(Exception):
    """This worker was given up for lost and another has the job: whoever runs it here stops."""


@dataclass(slots=True)
class JobRun:
    """One turn of one job.

    A handler works from rows, never from what an earlier turn kept in memory: it may be killed anywhere and begin again,
    and two of the same key never run at once unless one was given up for lost. `adapters.pool` is the worker's role: a
    handler opens `team_transaction` with `team` before it reads or writes anything of a team.
    """

    adapters: Adapters
    kind: JobKind
    queue: JobQueue
    entry: Entry
    told: Told
    slice_s: float
    stopping: Callable[[], bool] = lambda: False
    timer: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _stage: str | None = field(init=False, default=None)
    _stage_began: float = field(init=False, default=0.0)
    _stage_done: int = field(init=False, default=0)
    _reported: float = field(init=False, default=float("-inf"))
    _last: tuple[str, int, int | None] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._began = self.timer()

    @property
    def team(self) -> UUID:
        """The team of a job of a team or space."""
        assert self.entry.team_id is not None
        return self.entry.team_id

    @property
    def space(self) -> UUID:
        """The space of a job of a space."""
        assert self.entry.space_id is not None
        return self.entry.space_id

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What `enqueue` was given: ids as text, and numbers."""
        return self.entry.arguments or {}

    def is_over(self) -> bool:
        """Whether to return `Outcome.AGAIN` after the present step: the turn's time is used up, or the worker stops."""
        return self.stopping() or self.timer() - self._began >= self.slice_s

    async def tell(self, stage: str, done: int, total: int | None = None) -> None:
        """How far the job is: `done` things of `total` in this stage, counted from rows. Written once a second at most, and at every new stage.

        Raises:
            TakenOver: the job is another worker's by now.
        """
        now = self.timer()
        if stage != self._stage:
            self._stage, self._stage_began, self._stage_done, self._reported = stage, now, done, float("-inf")
        self._last = (stage, done, total)
        if now - self._reported >= _REPORT_EVERY_S:
            await self.flush()

    async def flush(self) -> None:
        """Write what was told last.

        Raises:
            TakenOver: the job is another worker's by now.
        """
        if self._last is None:
            return
        (stage, done, total), self._last, self._reported = self._last, None, self.timer()
        rate = rate_of(done - self._stage_done, self.timer() - self._stage_began)
        if not await self.queue.report(self.entry, stage=stage, done=done, total=total, rate=rate):
            raise TakenOver


Handler = Callable[[JobRun], Awaitable[Outcome]]
