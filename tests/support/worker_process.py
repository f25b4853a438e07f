"""A worker that kills itself with SIGKILL, or freezes, at a named place.

Its model hashes words, so that it starts quickly; everything else is the real worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

from commonlore.db import backlog
from commonlore.db.backlog import SpaceBacklog
from commonlore.db.job_queue import JobQueue
from commonlore.db.session import TeamTransaction
from commonlore.db.settings import read_settings
from commonlore.workers import main as worker
from tests.support.memory import ServedHashEmbedder

# Less grace than silence, as in production: a worker that is told to stop reports no more, and its job would be taken for lost.
QUICK = worker.WorkerRules(concurrency=1, heartbeat_s=0.2, silent_s=1.0, poll_s=0.1, grace_s=0.3)


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel a task until it is over. One cancellation can be lost: `asyncio.wait_for` of Python 3.11 drops one that meets its result."""
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=5)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FreezingEmbedder(ServedHashEmbedder):
    """Stops the process in the middle of its first batch, until somebody lets it go on."""

    frozen = False

    async def embed_texts(self, texts: Any) -> Any:
        if not self.frozen:
            self.frozen = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return await super().embed_texts(texts)


class DyingEmbedder(ServedHashEmbedder):
    async def embed_texts(self, texts: Any) -> Any:
        die()


def _dies(owner: type, name: str, *, after: bool, when: Callable[..., bool] = lambda *_, **__: True) -> None:
    """From now on the method ends the process, before or after it did its work."""
    real = getattr(owner, name)

    async def method(self: Any, *arguments: Any, **named: Any) -> Any:
        if not after and when(self, *arguments, **named):
            die()
        result = await real(self, *arguments, **named)
        if when(self, *arguments, **named):
            die()
        return result

    setattr(owner, name, method)


def _stores(_: Any, statement: str, **__: Any) -> bool:
    return statement == backlog._SQL["store_part_vectors"]


PLACES: dict[str, Callable[[], None]] = {
    "taken": lambda: _dies(JobQueue, "begin", after=False),
    "embedding": lambda: None,
    "stored, not committed": lambda: _dies(TeamTransaction, "execute", after=True, when=_stores),
    "a batch committed": lambda: _dies(SpaceBacklog, "store", after=True),
    "all done, not told": lambda: _dies(JobQueue, "finish", after=False),
    "told": lambda: _dies(JobQueue, "finish", after=True),
    "frozen": lambda: None,
}


def main(conninfo: str, place: str) -> None:
    PLACES[place]()
    embedder = {"embedding": DyingEmbedder, "frozen": FreezingEmbedder}.get(place, ServedHashEmbedder)
    asyncio.run(worker.run(read_settings({}), conninfo, rules=QUICK, make_embedder=embedder))
