"""The job kinds as procrastinate tasks, taken by our own rule: fair between teams, and never two of one key at once.

procrastinate runs the loop, wakes it when a job comes, beats the worker's heart and makes periodic jobs; which job is next
and how one ends are statements of `db/queries/job_runs.sql`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any

import procrastinate
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from commonlore.db.job_queue import JobQueue
from commonlore.domain.jobs.kind import DROP_VECTOR_INDEXES, KINDS, SCHEDULE_COMMUNITIES, SWEEP
from commonlore.workers.execute import Executor

_CONNECTIONS = 3
# When the jobs of the installation come round.
PERIODIC = {SWEEP.name: "* * * * * */20", SCHEDULE_COMMUNITIES.name: "* * * * *", DROP_VECTOR_INDEXES.name: "*/10 * * * *"}


class TeamTurns(JobManager):
    """Takes jobs in the order of `take`. A job is over in the queue when the executor says so, in the transaction that says it to its team."""

    def __init__(self, connector: Any, queue: JobQueue, kinds: Iterable[str]) -> None:
        super().__init__(connector)
        self._queue = queue
        self._kinds = tuple(kinds)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        row = await self._queue.take(self._kinds, worker_id)
        return Job.from_row(row) if row else None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Written already."""

    async def retry_job(
        self, job: Job, retry_at: datetime | None = None, priority: int | None = None, queue: str | None = None, lock: str | None = None
    ) -> None:
        """Written already."""


def make_app(conninfo: str, executor: Executor) -> procrastinate.App:
    """The application with every kind that the executor has a handler for."""
    connector = procrastinate.PsycopgConnector(
        conninfo=conninfo,
        kwargs={"options": "-c search_path=procrastinate", "application_name": "commonlore-queue"},
        min_size=1,
        max_size=_CONNECTIONS,
    )
    app = procrastinate.App(connector=connector)
    app.job_manager = TeamTurns(connector, executor.queue, executor.handlers)
    for name in executor.handlers:
        task = app.task(name=name, queue=KINDS[name].queue, queueing_lock=name if name in PERIODIC else None, pass_context=True)(_task(executor.run))
        if name in PERIODIC:
            app.periodic(cron=PERIODIC[name])(task)
    return app


def _task(run: Callable[[procrastinate.JobContext], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def job(context: procrastinate.JobContext, **_: object) -> None:
        await run(context)

    return job
