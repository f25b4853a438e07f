"""A worker that kills itself with SIGKILL in the middle of an erasure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonlore.db.erasure import checking, deletion
from commonlore.db.erasure.deletion import Deletion
from commonlore.db.job_queue import JobQueue
from commonlore.db.session import TeamTransaction
from commonlore.db.settings import read_settings
from commonlore.workers import main as worker
from tests.support.memory import ServedHashEmbedder
from tests.support.worker_process import QUICK, _dies


def _statement(name: str, subject: Any = deletion, nth: int = 1) -> Callable[..., bool]:
    """The nth time that the statement runs."""
    seen = 0

    def is_it(_: Any, statement: Any, **__: Any) -> bool:
        nonlocal seen
        seen += statement == subject._SQL[name]
        return bool(statement == subject._SQL[name] and seen >= nth)

    return is_it


def _table(name: str) -> Callable[..., bool]:
    return lambda _self, _scope, table, *_: bool(table == name)


PLACES: dict[str, Callable[[], None]] = {
    "taken": lambda: _dies(Deletion, "read", after=False),
    "collected": lambda: _dies(Deletion, "collect", after=True),
    "unlinked": lambda: _dies(Deletion, "unlink", after=True),
    "words deleted": lambda: _dies(Deletion, "purge", after=True, when=_table("evidence_posting")),
    "a batch deleted, not counted": lambda: _dies(TeamTransaction, "execute", after=True, when=_statement("purge_rows", nth=8)),
    "a batch counted, not committed": lambda: _dies(TeamTransaction, "execute", after=True, when=_statement("count_rows", nth=5)),
    "texts deleted": lambda: _dies(Deletion, "purge", after=True, when=_table("evidence")),
    "everything deleted": lambda: _dies(Deletion, "purge_epoch", after=True),
    "searching": lambda: _dies(TeamTransaction, "execute", after=True, when=_statement("left_rows", checking, nth=20)),
    "receipt written, not committed": lambda: _dies(TeamTransaction, "execute", after=True, when=_statement("finish_erasure", checking)),
    "all done, not told": lambda: _dies(JobQueue, "finish", after=False),
}


def main(conninfo: str, place: str, home: str) -> None:
    PLACES[place]()
    settings = read_settings({}, home=Path(home))
    asyncio.run(worker.run(settings, conninfo, rules=QUICK, make_embedder=ServedHashEmbedder))
