"""One turn of one job, from the queue to its end there: begin, run the handler, and say what became of it.

A handler that returns ends or goes on; one that fails is tried again after a pause, and after its last try it is dead with
a reason. What is written to the queue is written in one transaction, and tried until the database takes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from procrastinate import JobContext
from procrastinate.job_context import AbortReason

from commonlore.db.acting import acting
from commonlore.db.assemble import Adapters
from commonlore.db.job_queue import Entry, JobQueue
from commonlore.db.session import Pool
from commonlore.domain.audit.act import Act
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import KINDS, REASONS, JobFailed, JobKind
from commonlore.domain.ports import EmbeddingUnavailable
from commonlore.workers.run import Handler, JobRun, Outcome, TakenOver

# How long the end of a job is tried to be written before the worker gives itself up.
_SETTLE_TRIES = 30
_SETTLE_PAUSE_S = 1.0
log = logging.getLogger("commonlore.worker")


@dataclass(slots=True)
class Executor:
    """Runs jobs for one worker, each turn on connections that no other job uses: `slots` has as many pools as jobs run at once.

    `broken` is set when it could not write the end of a job: the worker must then end, so that another takes it up.
    """

    adapters: Adapters
    queue: JobQueue
    handlers: Mapping[str, Handler]
    slots: asyncio.Queue[Pool]
    slice_s: float | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    broken: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, context: JobContext) -> None:
        """Run a job that was taken. Raises nothing: what went wrong is in the queue and in the log.

        Cancelled by its administrator it ends; cancelled because the worker stops it goes back to the queue.
        """
        job = context.job
        assert job.id is not None
        entry = Entry.of(job.id, job.task_name, job.worker_id, job.attempts, job.task_kwargs)
        try:
            settle = await self._turn(entry, KINDS[job.task_name])
        except asyncio.CancelledError:
            by_person = context.abort_reason() is AbortReason.USER_REQUEST
            settle = (lambda: self.queue.bury(entry, "cancelled", "cancelled", tries=0)) if by_person else (lambda: self.queue.put_back(entry))
        if settle is not None:
            await self._settle(entry, settle)

    async def _turn(self, entry: Entry, kind: JobKind) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Run the handler; what to write to the queue then."""
        pool = await self.slots.get()
        try:
            told = await self.queue.begin(entry)
            run = JobRun(replace(self.adapters, pool=pool), kind, self.queue, entry, told, self.slice_s or kind.slice_s, self.stopping.is_set)
            with acting(Act(kind.name, str(entry.job_id), "worker")):
                outcome = await self.handlers[kind.name](run)
            await run.flush()
        except TakenOver:
            log.warning("job %s of kind %s is another worker's by now", entry.job_id, kind.name)
            return None
        except Exception as error:
            reason, for_good = reason_of(error)
            if reason == "internal_failure":
                log.exception("job %s of kind %s failed", entry.job_id, kind.name)
            else:
                log.warning("job %s of kind %s failed: %s", entry.job_id, kind.name, reason)
            pause_s = None if for_good else kind.retry.pause_s(entry.attempts + 1)
            if pause_s is None:
                return lambda: self.queue.bury(entry, "dead", reason, tries=1)
            return lambda: self.queue.put_back(entry, reason=reason, tries=1, pause_s=pause_s)
        finally:
            self.slots.put_nowait(pool)
        if outcome is Outcome.AGAIN:
            return lambda: self.queue.put_back(entry)
        return lambda: self.queue.finish(entry)

    async def _settle(self, entry: Entry, settle: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Write the end of a turn, whoever cancels meanwhile."""
        writing = asyncio.ensure_future(self._write(entry, settle))
        while not writing.done():
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                continue

    async def _write(self, entry: Entry, settle: Callable[[], Coroutine[Any, Any, None]]) -> None:
        for _ in range(_SETTLE_TRIES):
            try:
                return await settle()
            except CommonloreError as error:
                log.warning("the end of job %s of kind %s is not written yet: %s", entry.job_id, entry.kind, error.code)
                await asyncio.sleep(_SETTLE_PAUSE_S)
        self.broken.set()


def reason_of(error: Exception) -> tuple[str, bool]:
    """The code that a failed try is known by, and whether trying again would not help."""
    if isinstance(error, JobFailed):
        return error.reason, error.for_good
    if isinstance(error, EmbeddingUnavailable):
        return "embedding_unavailable", False
    if isinstance(error, CommonloreError) and error.code in REASONS:
        return error.code, False
    return "internal_failure", False
