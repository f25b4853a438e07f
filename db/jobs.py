"""Jobs of one team: asked for in the transaction that needs them, seen and steered by its administrators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.jobs.kind import JobKind, State
from commonlore.domain.jobs.progress import Progress
from commonlore.domain.tenancy.paging import Page

_SQL = statements("jobs")


async def enqueue(transaction: TeamTransaction, kind: JobKind, *, space_id: UUID | None = None, **ids: UUID | int | str) -> UUID | None:
    """Ask for a job of the transaction's team, in the transaction whose data it serves; the job's id.

    `ids` are its arguments and, with kind and space, its key: of one key one job waits and one runs at most. None where
    one waits already. Arguments are ids and numbers only, because the queue stands outside row security.
    """
    arguments = {name: str(value) if isinstance(value, UUID) else value for name, value in ids.items()}
    cursor = await transaction.execute(
        _SQL["enqueue"],
        job_id=new_id(),
        kind=kind.name,
        queue=kind.queue,
        priority=kind.priority,
        job_key=job_key(kind, transaction.team_id, space_id, arguments),
        space_id=space_id,
        args=msgspec.json.encode(arguments).decode(),
    )
    row = await cursor.fetchone()
    return cast("UUID | None", row["job_id"] if row else None)


def job_key(kind: JobKind, team_id: UUID, space_id: UUID | None, arguments: Mapping[str, object]) -> str:
    """What makes two jobs the same work: the kind, the space or the team, and the arguments in the order of their names."""
    return ":".join((kind.name, str(space_id or team_id), *(f"{arguments[name]}" for name in sorted(arguments))))


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job as its team's administrators see it. `seen_at` is the queue's own clock when this was read."""

    job_id: UUID
    kind: str
    queue: str
    priority: int
    space_id: UUID | None
    state: State
    attempts: int
    reason: str | None
    cancel_requested: bool
    progress: Progress | None
    queued_at: datetime
    run_after: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    seen_at: datetime


async def page_jobs(
    transaction: TeamTransaction, *, state: State | None = None, kind: str | None = None, before: UUID | None = None, limit: int = 50
) -> Page[JobReport]:
    """Jobs of the team, the newest first."""
    cursor = await transaction.execute(_SQL["page_jobs"], state=state, kind=kind, before=before, limit=limit + 1)
    found = [_report(row) for row in await cursor.fetchall()]
    return Page(found[:limit], found[limit - 1].job_id if len(found) > limit else None)


async def read_job(transaction: TeamTransaction, job_id: UUID) -> JobReport:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    row = await (await transaction.execute(_SQL["read_job"], job_id=job_id)).fetchone()
    if row is None:
        raise NotVisible("not_found", "this team has no job of this id")
    return _report(row)


async def cancel_job(transaction: TeamTransaction, job_id: UUID) -> JobReport:
    """End a job that waits; ask the worker of one that runs to end it. A cancelled job stays cancelled.

    Raises:
        NotVisible: absent and foreign alike.
        Conflict: `stale_input`, it ended otherwise.
    """
    state = await _state(transaction, "cancel_job", job_id)
    if state not in ("queued", "running", "cancelled"):
        raise Conflict("stale_input", f"the job is over: {state}")
    return await read_job(transaction, job_id)


async def retry_job(transaction: TeamTransaction, job_id: UUID) -> JobReport:
    """Queue a dead or cancelled job anew, with every try before it; one that waits or runs is left as it is.

    Raises:
        NotVisible: absent and foreign alike.
        Conflict: `stale_input`, it succeeded.
    """
    state = await _state(transaction, "retry_job", job_id)
    if state == "succeeded":
        raise Conflict("stale_input", f"the job is over: {state}")
    return await read_job(transaction, job_id)


async def _state(transaction: TeamTransaction, statement: str, job_id: UUID) -> str | None:
    row = await (await transaction.execute(_SQL[statement], job_id=job_id)).fetchone()
    assert row is not None
    state: str | None = row["state"]
    if state is None:
        raise NotVisible("not_found", "this team has no job of this id")
    return state


def _report(row: Mapping[str, Any]) -> JobReport:
    told = row["stage"] is not None
    progress = Progress(row["stage"], row["done"], row["total"], row["rate"], row["reported_at"]) if told else None
    own = {name: value for name, value in row.items() if name not in ("stage", "done", "total", "rate", "reported_at")}
    return JobReport(progress=progress, **own)


@dataclass(frozen=True, slots=True)
class QueueNumbers:
    """One queue over all teams. `oldest_seconds`: how long the oldest job that is due waits."""

    queue: str
    waiting: int
    running: int
    dead: int
    oldest_seconds: int


@dataclass(frozen=True, slots=True)
class WorkerNumbers:
    """Workers that report, and seconds since the last report of any; None where none is known."""

    workers: int
    silent_seconds: int | None


async def read_numbers(pool: Pool) -> tuple[list[QueueNumbers], WorkerNumbers]:
    """The queue and the workers in numbers, for the metrics; by name of the queue."""
    with stating():
        async with pool.connection() as connection:
            queues = await (await connection.execute(_SQL["queue_numbers"])).fetchall()
            workers = await (await connection.execute(_SQL["worker_numbers"])).fetchone()
    assert workers is not None
    return [QueueNumbers(**row) for row in queues], WorkerNumbers(**workers)
