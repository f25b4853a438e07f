"""The queue under the worker's role: taking jobs, telling how far they came, and ending them.

Connections of its own, so that jobs that use up the worker's pool can never keep it from reporting or ending them.
An entry of the queue and the report of its job change in one transaction; both are fenced by the worker that took the
job, so that a worker that was given up for lost changes nothing of what another has taken up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from psycopg.conninfo import make_conninfo

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction, make_pool, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.jobs.kind import KINDS, RetryPolicy

_SQL = statements("job_runs")
_TIMEOUT_MS = 15_000
_CONNECTIONS = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """A job in the queue. `team_id` is None for a job of the installation. `arguments` are those of its kind."""

    number: int
    kind: str
    worker_id: int | None
    attempts: int
    team_id: UUID | None
    space_id: UUID | None = None
    job_id: UUID | None = None
    arguments: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, number: int, kind: str, worker_id: int | None, attempts: int, args: Mapping[str, Any]) -> Entry:
        def key(name: str) -> UUID | None:
            return UUID(args[name]) if args.get(name) else None

        own = {name: value for name, value in args.items() if name not in ("team_id", "space_id", "job_id", "timestamp")}
        return cls(number, kind, worker_id, attempts, key("team_id"), key("space_id"), key("job_id"), own)


@dataclass(frozen=True, slots=True)
class Told:
    """What a job told in an earlier turn; `stage` is None where it told nothing."""

    stage: str | None
    done: int
    total: int | None


def queue_pool(conninfo: str, *, prepare: bool = True) -> Pool:
    """A closed pool for the queue alone. The queue's own triggers name its tables without a schema."""
    where = make_conninfo(conninfo, options="-c search_path=commonlore,procrastinate")
    return make_pool(where, size=_CONNECTIONS, name="queue", vectors=False, prepare=prepare)


@dataclass(frozen=True, slots=True)
class JobQueue:
    """Every change that a worker makes to the queue."""

    pool: Pool

    async def take(self, kinds: Sequence[str], worker_id: int) -> dict[str, Any] | None:
        """The next job of one of the kinds, taken by the worker: turns between teams are fair. None where nothing is due."""
        with stating():
            async with self.pool.connection() as connection:
                return await (await connection.execute(_SQL["take"], {"kinds": list(kinds), "worker_id": worker_id})).fetchone()

    async def begin(self, entry: Entry) -> Told:
        """Note that the job runs."""
        if entry.team_id is None:
            return Told(None, 0, None)
        async with self._of(entry) as transaction:
            row = await (await transaction.execute(_SQL["begin"], number=entry.number)).fetchone()
        return Told(row["stage"], row["done"], row["total"]) if row else Told(None, 0, None)

    async def report(self, entry: Entry, *, stage: str, done: int, total: int | None, rate: int | None) -> bool:
        """Keep how far the job has come; False where it is no longer this worker's."""
        if entry.team_id is None:
            return True
        async with self._of(entry) as transaction:
            cursor = await transaction.execute(
                _SQL["report"], number=entry.number, worker_id=entry.worker_id, stage=stage, done=done, total=total, rate=rate
            )
            return await cursor.fetchone() is not None

    async def finish(self, entry: Entry) -> None:
        """The job is done: it leaves the queue."""
        await self._settle(entry, "finish", state="succeeded")

    async def bury(self, entry: Entry, state: Literal["dead", "cancelled"], reason: str, *, tries: int) -> None:
        """The job is not tried again; it stays where an administrator finds it."""
        await self._settle(entry, "bury", state=state, reason=reason, tries=tries)

    async def put_back(self, entry: Entry, *, reason: str | None = None, tries: int = 0, pause_s: float = 0.0) -> None:
        """The job goes on in a later turn, or is tried again after a pause. Another one of its key that waits joins it."""
        await self._settle(entry, "put_back", reason=reason, tries=tries, pause_s=pause_s)

    async def _settle(self, entry: Entry, statement: str, **parameters: object) -> None:
        fence = {"number": entry.number, "worker_id": entry.worker_id}
        if entry.team_id is None:
            with stating():
                async with self.pool.connection() as connection:
                    await connection.execute(_SQL["drop_own"], fence)
            return
        async with self._of(entry) as transaction:
            if statement == "put_back":
                await transaction.execute(_SQL["join_waiting"], **fence)
            await transaction.execute(_SQL[statement], **fence, **parameters)

    async def take_back(self, silent_s: float) -> list[str]:
        """Put jobs of workers that are gone or silent back into the queue, or end them after their last try; the kinds of those."""
        with stating():
            async with self.pool.connection() as connection:
                rows = await (await connection.execute(_SQL["stalled"], {"silent_s": silent_s})).fetchall()
        taken = []
        for row in rows:
            entry = Entry(row["id"], row["task_name"], row["worker_id"], row["attempts"], row["team"])
            if await self._take_back(entry, silent_s):
                taken.append(entry.kind)
        return taken

    async def _take_back(self, entry: Entry, silent_s: float) -> bool:
        fence: dict[str, object] = {"number": entry.number, "worker_id": entry.worker_id}
        if entry.team_id is None:
            await self._settle(entry, "finish")
            return True
        known = KINDS.get(entry.kind)
        pause_s = (known.retry if known else RetryPolicy()).pause_s(entry.attempts + 1)
        async with self._of(entry) as transaction:
            row = await (await transaction.execute(_SQL["still_stalled"], silent_s=silent_s, **fence)).fetchone()
            if row is None:
                return False
            if pause_s is None and not row["abort_requested"]:
                await transaction.execute(_SQL["bury"], state="dead", reason="worker_lost", tries=1, **fence)
            else:
                # The first loss is not the job's fault as a rule: it is taken up again at once.
                pause = 0.0 if entry.attempts == 0 else pause_s or 0.0
                await transaction.execute(_SQL["join_waiting"], **fence)
                await transaction.execute(_SQL["put_back"], reason="worker_lost", tries=1, pause_s=pause, **fence)
        return True

    async def forget_ended(self, team_id: UUID) -> None:
        """Remove reports of jobs that ended long ago: 30 days for dead and cancelled ones, 7 for the others."""
        async with team_transaction(self.pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            await transaction.execute(_SQL["forget_ended"])

    def _of(self, entry: Entry) -> AbstractAsyncContextManager[TeamTransaction]:
        assert entry.team_id is not None
        return team_transaction(self.pool, entry.team_id, timeout_ms=_TIMEOUT_MS)


async def is_cared_for(transaction: TeamTransaction, key: str) -> bool:
    """Whether a job of this key waits or runs, or gave up in the last ten minutes: what only comes round again then waits."""
    row = await (await transaction.execute(_SQL["is_cared_for"], job_key=key)).fetchone()
    return row is not None and bool(row["is_cared_for"])
