"""Jobs without a queue: a turn of one handler, as the worker would give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.job_queue import Entry, JobQueue, Told
from commonlore.domain.jobs.kind import JobKind
from commonlore.workers.run import JobRun


@dataclass(frozen=True, slots=True)
class Unqueued(JobQueue):
    """Keeps what a job tells instead of writing it."""

    told: list[tuple[str, int, int | None]] = field(default_factory=list)

    async def report(self, entry: Entry, *, stage: str, done: int, total: int | None, rate: int | None) -> bool:
        self.told.append((stage, done, total))
        return True


def a_turn(
    adapters: Adapters,
    kind: JobKind,
    team_id: UUID,
    space_id: UUID | None = None,
    *,
    stopping: Callable[[], bool] = lambda: False,
    **arguments: object,
) -> JobRun:
    """One turn of a job of the kind; `run.queue.told` has what it told."""
    entry = Entry(0, kind.name, None, 0, team_id, space_id, None, arguments)
    return JobRun(adapters, kind, Unqueued(adapters.pool), entry, Told(None, 0, None), float("inf"), stopping)


async def embed(adapters: Adapters, *, team_id: UUID, space_id: UUID) -> int:
    """Give the texts of a space their vectors; how many were made."""
    from commonlore.domain.jobs.kind import EMBED_PARTS
    from commonlore.workers.embed_parts import embed_parts

    run = a_turn(adapters, EMBED_PARTS, team_id, space_id)
    await embed_parts(run)
    await run.flush()
    assert isinstance(run.queue, Unqueued)
    return run.queue.told[-1][1] if run.queue.told else 0
