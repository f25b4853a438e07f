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

from commonlore.db.assemble import assemble
from commonlore.db.locate import open_database
from commonlore.db.settings import Settings, read_settings
from commonlore.domain.errors import CommonloreError
from commonlore.workers.jobs import make_app

CONCURRENCY = 2
SHUTDOWN_GRACE_S = 20.0
log = logging.getLogger("commonlore.worker")


async def run(settings: Settings, conninfo: str, *, wait: bool = True) -> None:
    """Take jobs until told to stop; with `wait` false, until the queue is empty."""
    async with assemble(conninfo, settings, name="worker") as adapters:
        app = make_app(conninfo, adapters)
        async with app.open_async():
            log.info("the worker takes jobs")
            await app.run_worker_async(
                concurrency=CONCURRENCY,
                wait=wait,
                install_signal_handlers=False,
                shutdown_graceful_timeout=SHUTDOWN_GRACE_S,
                delete_jobs="successful",
            )


async def _run_until_signalled(settings: Settings, conninfo: str) -> None:
    task = asyncio.ensure_future(run(settings, conninfo))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    try:
        settings = read_settings(os.environ)
        logging.getLogger().setLevel(settings.log_level.upper())
        with open_database(settings) as database:
            asyncio.run(_run_until_signalled(settings, database.worker_conninfo))
    except CommonloreError as error:
        log.error("%s: %s %s", error.code, error.message, error.entry.remediation)
        sys.exit(1)


if __name__ == "__main__":
    main()
