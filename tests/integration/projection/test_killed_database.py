"""kill -9 of the database, every process of it, at each stage of a rebuild and of a change of contract: the worker goes on from its rows.

A server of its own: the shared one has other tests on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from commonlore.db import contract_change, job_queue, projection_build
from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.projection_build import GenerationBuild
from commonlore.db.provision import ROLES
from commonlore.db.session import TeamTransaction
from commonlore.db.settings import read_settings
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import KINDS, RetryPolicy
from commonlore.domain.time import system_clock
from commonlore.workers import execute
from commonlore.workers import main as worker
from tests.integration.projection.test_contracts import OTHER, filled, owner
from tests.integration.projection.test_generations import contents, related
from tests.support import databases
from tests.support.memory import Memory, contexts
from tests.support.projection import ask, states
from tests.support.projection_process import ASKED, BATCH, CONTRACT_STATEMENTS, STATEMENTS, embedders
from tests.support.worker_process import QUICK, ended


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="commonlore-test-"))
    folder.chmod(0o711)
    # What is committed is written before it is told; fsync is for the end of the machine, which this is not.
    with EmbeddedPostgres(folder / "home", parameters={"max_connections": "60", "fsync": "off"}) as made:
        yield made
    shutil.rmtree(folder)


@pytest.fixture
async def memory(server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Memory]:
    monkeypatch.setattr(databases, "server_conninfo", server.superuser_conninfo)
    monkeypatch.setattr(databases, "passwords", lambda: {role: f"test-only-{role}" for role in ROLES})
    for name in ("TEXT_BATCH", "VECTOR_BATCH", "CLEAR_BATCH"):
        monkeypatch.setattr(projection_build, name, BATCH)
    at_once = {name: replace(kind, retry=RetryPolicy(max_attempts=20, first_pause_s=0.1, factor=1.0)) for name, kind in KINDS.items()}
    for module in (execute, job_queue):
        monkeypatch.setattr(module, "KINDS", at_once)
    template = databases.make_template()
    async with Memory.open(databases.clone(template)) as opened:
        yield opened
    databases.administrator().close()  # the next test's server is another start of it


class Killer:
    """Kills the server once at each of its places, when the worker gets there, and starts it again."""

    def __init__(self, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server, self._patch = server, monkeypatch
        self.waiting: set[str] = set()

    def at_statement(self, place: str, statement: str) -> None:
        """After the statement ran, inside its transaction."""
        self.after(place, TeamTransaction, "execute", lambda _, found, **__: found == statement)

    def after(self, place: str, owner: type, name: str, when: Any = lambda *_, **__: True) -> None:
        real = getattr(owner, name)
        self.waiting.add(place)

        async def method(*arguments: Any, **named: Any) -> Any:
            result = await real(*arguments, **named)
            if place in self.waiting and when(*arguments, **named):
                self.waiting.remove(place)
                await asyncio.to_thread(self._kill)
            return result

        self._patch.setattr(owner, name, method)

    def _kill(self) -> None:
        postmaster = psutil.Process(self._server.pid)
        processes = [postmaster, *postmaster.children(recursive=True)]
        postmaster.suspend()  # or it would look after its children's end
        for process in reversed(processes):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=60)
        assert "started" == self._server.start()


@asynccontextmanager
async def a_worker(memory: Memory) -> AsyncIterator[None]:
    """A worker that ends by itself is followed by another, as `commonlore up` does it."""

    async def kept() -> None:
        while True:
            with contextlib.suppress(CommonloreError, OSError):
                await worker.run(read_settings({}), memory.database.worker_conninfo, rules=QUICK, handlers=ASKED, make_embedder=embedders)
            await asyncio.sleep(0.1)

    task = asyncio.ensure_future(kept())
    try:
        yield
    finally:
        await ended(task)
        if not task.cancelled():
            task.result()


async def until(true: Any, killer: Killer, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < end, killer.waiting
        await asyncio.sleep(0.05)


async def test_a_rebuild_whose_database_is_killed_at_every_stage_ends_whole(
    memory: Memory, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = await related(memory, copies=20)
    await ask(memory, ann, "start")
    killer = Killer(server, monkeypatch)
    # "texts posted" is in the transaction of "texts written": for the database they are one place.
    for place in ("texts written", "vectors carried"):
        killer.at_statement(place, STATEMENTS[place])
    killer.after("a batch of texts committed", GenerationBuild, "project")
    killer.after("ready", GenerationBuild, "conclude")

    async def built() -> bool:
        if killer.waiting:
            return False
        with contextlib.suppress(CommonloreError):
            return await states(memory, ann) == {2: "standby", 1: "current"}
        return False

    async with a_worker(memory):
        await until(built, killer)

    assert contents(memory, 1) == contents(memory, 2)
    assert [(0,)] == memory.sql("select count(*) from commonlore.projection_progress where not is_projected")
    assert "current" == (await memory.recall(ann, "Who works on Orion?"))["search_states"]["relationships"]


async def test_a_change_of_contract_whose_database_is_killed_at_every_stage_ends_whole(
    memory: Memory, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = await filled(memory)
    killer = Killer(server, monkeypatch)
    for place, statement in CONTRACT_STATEMENTS.items():
        killer.at_statement(place, statement)
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())

        async def complete() -> bool:
            if killer.waiting:
                return False
            with contextlib.suppress(CommonloreError):
                contracts = await contract_change.list_contracts(pool)
                counts = await contract_change.count(pool, contracts[1], contracts[0])
                return not (counts.pending or counts.lacking or counts.unready)
            return False

        async with a_worker(memory):
            await until(complete, killer)
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
    answer = await memory.with_embedder(embedders()).recall(ann, "Zebra number 7")
    assert ("Zebra number 7 grazes.", []) == (contexts(answer)[0], answer["degradations"])
