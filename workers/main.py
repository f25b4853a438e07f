"""The worker process: `python -m commonlore.workers.main`.

Stops gracefully on SIGTERM and SIGINT: jobs that run are given time to end, and one that is cut off goes back to the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from commonlore.db.assemble import assemble
from commonlore.db.job_queue import JobQueue, queue_pool
from commonlore.db.locate import open_database
from commonlore.db.session import Pool, make_pool
from commonlore.db.settings import Settings, read_settings
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ports import Embedder
from commonlore.workers.execute import Executor
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.jobs import make_app
from commonlore.workers.run import Handler

log = logging.getLogger("commonlore.worker")


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """How one worker works.

    `heartbeat_s`: how often it reports. `silent_s`: after how long without a report its jobs are another's. `grace_s`: how long
    jobs may go on when it is told to stop. `slice_s`: the length of a turn, instead of that of each kind.
    """

    concurrency: int = 2
    heartbeat_s: float = 10.0
    silent_s: float = 30.0
    poll_s: float = 2.0
    grace_s: float = 20.0
    slice_s: float | None = None


async def run(
    settings: Settings,
    conninfo: str,
    *,
    wait: bool = True,
    rules: WorkerRules | None = None,
    handlers: Mapping[str, Handler] = HANDLERS,
    make_embedder: Callable[[], Embedder] | None = None,
    owner_conninfo: str | None = None,
) -> None:
    """Take jobs until cancelled; with `wait` false, until nothing is due, each job in one turn.

    Without `owner_conninfo` it asks for no vector indexes and builds none.

    Raises:
        CommonloreError: the database does not answer, or refuses the role.
    """
    rules = rules or WorkerRules()
    async with AsyncExitStack() as stack:
        share = replace(settings, pool_size=max(2, settings.pool_size // rules.concurrency))
        adapters = await stack.enter_async_context(
            assemble(conninfo, share, name="worker", make_embedder=make_embedder, owner_conninfo=owner_conninfo)
        )
        slots = await _slots(stack, adapters.pool, conninfo, share, rules.concurrency)
        queue = JobQueue(await stack.enter_async_context(queue_pool(conninfo, prepare=settings.prepared_statements == "on")))
        executor = Executor(adapters, queue, handlers, slots, rules.slice_s if wait else float("inf"))
        app = make_app(conninfo, executor)
        async with app.open_async():
            log.info("the worker takes jobs")
            looking = asyncio.ensure_future(_take_back(executor, rules))
            working = asyncio.ensure_future(
                app.run_worker_async(
                    concurrency=rules.concurrency,
                    wait=wait,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=rules.poll_s,
                    update_heartbeat_interval=rules.heartbeat_s,
                    stalled_worker_timeout=rules.silent_s,
                    shutdown_graceful_timeout=rules.grace_s,
                )
            )
            try:
                await asyncio.wait((looking, working), return_when=asyncio.FIRST_COMPLETED)
            finally:
                executor.stopping.set()
                looking.cancel()
                if not working.done():
                    working.cancel()
                await asyncio.wait((working,))
            for ended in (looking, working):
                if ended.done() and not ended.cancelled():
                    ended.result()


async def _slots(stack: AsyncExitStack, first: Pool, conninfo: str, settings: Settings, number: int) -> asyncio.Queue[Pool]:
    """A pool for each job that may run at once: one that takes all of its own leaves the others theirs."""
    slots: asyncio.Queue[Pool] = asyncio.Queue()
    slots.put_nowait(first)
    for _ in range(number - 1):
        pool = make_pool(conninfo, size=settings.pool_size, name="worker", prepare=settings.prepared_statements == "on")
        slots.put_nowait(await stack.enter_async_context(pool))
    return slots


async def _take_back(executor: Executor, rules: WorkerRules) -> None:
    """Look again and again for jobs whose worker is gone; returns when this worker should end itself."""
    while not executor.broken.is_set():
        try:
            for kind in await executor.queue.take_back(rules.silent_s):
                log.warning("a job of kind %s was taken back from a worker that is gone or silent", kind)
        except CommonloreError as error:
            log.warning("jobs of lost workers are not looked for now: %s", error.code)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(executor.broken.wait(), rules.silent_s / 3)


async def _run_until_signalled(settings: Settings, conninfo: str, owner_conninfo: str | None) -> bool:
    """Whether it was told to stop; otherwise it ended by itself, which is for whoever keeps it to make good."""
    stopped = asyncio.Event()
    task = asyncio.ensure_future(run(settings, conninfo, owner_conninfo=owner_conninfo))

    def stop() -> None:
        stopped.set()
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return stopped.is_set()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    try:
        settings = read_settings(os.environ)
        logging.getLogger().setLevel(settings.log_level.upper())
        with open_database(settings) as database:
            if not asyncio.run(_run_until_signalled(settings, database.worker_conninfo, database.maintenance_conninfo)):
                log.error("the worker ended by itself; what it was at is taken up by the next one")
                sys.exit(1)
    except CommonloreError as error:
        log.error("%s: %s %s", error.code, error.message, error.entry.remediation)
        sys.exit(1)


if __name__ == "__main__":
    main()
