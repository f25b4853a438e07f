"""A worker that kills itself with SIGKILL at a named place of a rebuild."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from commonlore.db import backlog, changes, contracts, projection_build
from commonlore.db.embedding.several import ContractEmbedders
from commonlore.db.projection_build import GenerationBuild
from commonlore.db.session import TeamTransaction
from commonlore.db.settings import read_settings
from commonlore.db.vectors import of_contract
from commonlore.workers import main as worker
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.jobs import PERIODIC
from tests.support.embedders import HashEmbedder
from tests.support.memory import ServedHashEmbedder
from tests.support.worker_process import QUICK, _dies

BATCH = 20
# Without the jobs that come by the clock: a sweep between two tries would do the rest by another way, past the places below.
ASKED = {name: handler for name, handler in HANDLERS.items() if name not in PERIODIC}


def _runs(*statements: str) -> Callable[..., bool]:
    def when(_: Any, statement: str, **__: Any) -> bool:
        return statement in statements

    return when


def _inside(*statements: str) -> Callable[[], None]:
    return lambda: _dies(TeamTransaction, "execute", after=True, when=_runs(*statements))


_BUILD, _WORKER, _CONTRACT, _ROWS = projection_build._SQL, backlog._SQL, contracts._SQL, changes._ROWS
# Places inside a transaction: the statement that has run there, not committed yet.
STATEMENTS = {"texts written": _BUILD["copy_documents"], "texts posted": _ROWS["document_statistics"], "vectors carried": _BUILD["carry_vectors"]}
CONTRACT_STATEMENTS = {
    "backlog filled": of_contract(_CONTRACT["fill_backlog"], 2, 1),
    "a batch of vectors": of_contract(_WORKER["store_part_vectors"], 2),
}
PLACES: dict[str, Callable[[], None]] = {
    **{f"{place}, not committed": _inside(statement) for place, statement in STATEMENTS.items()},
    "a batch of texts committed": lambda: _dies(GenerationBuild, "project", after=True),
    "ready": lambda: _dies(GenerationBuild, "conclude", after=True),
}
CONTRACT_PLACES: dict[str, Callable[[], None]] = {f"{place}, not committed": _inside(statement) for place, statement in CONTRACT_STATEMENTS.items()}


def embedders() -> ContractEmbedders:
    return ContractEmbedders([ServedHashEmbedder(), HashEmbedder(96)])


def small_batches() -> None:
    projection_build.TEXT_BATCH = projection_build.VECTOR_BATCH = projection_build.CLEAR_BATCH = BATCH


def main(conninfo: str, place: str) -> None:
    small_batches()
    {**PLACES, **CONTRACT_PLACES}[place]()
    asyncio.run(worker.run(read_settings({}), conninfo, rules=QUICK, handlers=ASKED, make_embedder=embedders))
