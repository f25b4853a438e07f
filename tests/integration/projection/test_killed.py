"""Nothing is lost and nothing is there twice, wherever the worker or its connection ends, and whoever recalls and writes meanwhile."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from commonlore.db import contract_change, projection_build
from commonlore.db.settings import read_settings
from commonlore.domain.time import system_clock
from commonlore.workers import main as worker
from tests.integration.projection.test_contracts import OTHER, filled, owner
from tests.integration.projection.test_generations import contents, related
from tests.support.dying import Dying
from tests.support.memory import Holder, Memory, contexts
from tests.support.projection import ask, states, working
from tests.support.projection_process import BATCH, CONTRACT_PLACES, PLACES, embedders
from tests.support.worker_process import QUICK, ended


@pytest.fixture(autouse=True)
def _batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TEXT_BATCH", "VECTOR_BATCH", "CLEAR_BATCH"):
        monkeypatch.setattr(projection_build, name, BATCH)


@asynccontextmanager
async def a_worker(memory: Memory) -> AsyncIterator[None]:
    task = asyncio.ensure_future(worker.run(read_settings({}), memory.database.worker_conninfo, rules=QUICK, make_embedder=embedders))
    try:
        yield
    finally:
        await ended(task)
        if not task.cancelled():
            task.result()


async def until(memory: Memory, ann: Holder, wanted: dict[int, str], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while (found := await states(memory, ann)) != wanted:
        assert time.monotonic() < end, found
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("place", PLACES)
async def test_a_rebuild_whose_worker_is_killed_goes_on_from_its_rows(memory: Memory, dying: Dying, place: str) -> None:
    ann = await related(memory, copies=20)
    await ask(memory, ann, "start")
    await dying.killed("projection_process", memory.database.worker_conninfo, place)
    assert "current" == (await memory.recall(ann, "Who works on Orion?"))["search_states"]["relationships"]
    async with a_worker(memory):
        await until(memory, ann, {2: "standby", 1: "current"})

    assert contents(memory, 1) == contents(memory, 2)
    assert [(0,)] == memory.sql("select count(*) from commonlore.projection_progress where not is_projected")


@pytest.mark.parametrize("place", CONTRACT_PLACES)
async def test_a_change_of_contract_whose_worker_is_killed_goes_on_from_its_rows(memory: Memory, dying: Dying, place: str) -> None:
    ann = await filled(memory)
    async with owner(memory) as pool:
        await contract_change.start(pool, OTHER, now=system_clock())
        await dying.killed("projection_process", memory.database.worker_conninfo, place)
        async with a_worker(memory):
            contracts = await contract_change.list_contracts(pool)
            end = time.monotonic() + 60
            while (counts := await contract_change.count(pool, contracts[1], contracts[0])).pending or counts.lacking or counts.unready:
                assert time.monotonic() < end, counts
                await asyncio.sleep(0.05)
        assert (33, 33, 3, 0) == (counts.parts, counts.vectors, counts.documents, counts.failed)
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
    answer = await memory.with_embedder(embedders()).recall(ann, "Zebra number 7")
    assert ("Zebra number 7 grazes.", []) == (contexts(answer)[0], answer["degradations"])


async def test_connections_that_are_cut_all_the_time_only_cost_time(memory: Memory) -> None:
    """`pg_terminate_backend` on whatever the worker does, again and again; each time it goes on from its rows."""
    ann = await related(memory, copies=100)
    await ask(memory, ann, "start")
    chance, cut = random.Random(7), 0
    async with a_worker(memory):
        end = time.monotonic() + 60
        while (await states(memory, ann))[2] != "standby":
            assert time.monotonic() < end
            if cut < 3:
                cut += memory.sql(
                    "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'commonlore_worker' and datname = current_database()"
                    " and application_name = 'commonlore-worker' and state <> 'idle'"
                )[0][0]
            await asyncio.sleep(chance.uniform(0.01, 0.08))
    assert cut >= 3
    assert contents(memory, 1) == contents(memory, 2)


async def test_recalls_and_writes_during_a_rebuild_are_whole_and_no_group_is_twice(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of documents, every state on the way, the switch and the way back: no error, no warming, nothing twice."""
    for name in ("TEXT_BATCH", "VECTOR_BATCH"):
        monkeypatch.setattr(projection_build, name, 200)
    ann = await related(memory, copies=500)
    answers: list[dict[str, Any]] = []
    done = asyncio.Event()

    async def recalls(query: str) -> None:
        while not done.is_set():
            answers.append(await memory.recall(ann, query))

    async def writes() -> None:
        number = 0
        while not done.is_set():
            key = await memory.relate(ann, f"Yan{number} works on Lyra.", f"Yan{number}", "works_on", "Lyra")
            if number % 3 == 0:
                await memory.correct(ann, key, patch={"valid_to": "2027-01-01T00:00:00Z"}, reason="a test")
            number += 1

    running = [asyncio.ensure_future(recalls(query)) for query in ("Yan works on Lyra", "Who works on Orion?")] + [asyncio.ensure_future(writes())]
    await ask(memory, ann, "start")
    async with working(memory, ann) as works:
        await works.build(2)
        assert {2: "standby", 1: "current"} == await states(memory, ann)
        for step in ("activate", "roll_back", "activate", "roll_back"):
            await ask(memory, ann, step)
            await asyncio.sleep(0.2)
        done.set()
        await asyncio.gather(*running)
        await works.embed()
    assert contents(memory, 1) == contents(memory, 2)
    for answer in answers:
        assert "current" == answer["search_states"]["relationships"]
        assert set() == {item["code"] for item in answer["degradations"]} - {"relationship_bound_reached"}
        keys = [key for item in answer["related_relationships"] for key in (item["relationship_id"], *item["equivalent_relationship_ids"])]
        assert len(keys) == len(set(keys))
