"""A worker sees at the end of each batch whether calls are served, and of them nothing but that."""

from __future__ import annotations

import psycopg
import pytest

from commonlore.db import projection_build
from commonlore.db.projection_build import Batch, GenerationBuild
from commonlore.workers import build_generation
from tests.integration.projection.test_generations import contents, related
from tests.support.memory import Memory
from tests.support.projection import ask, states, working


async def test_a_batch_tells_whether_the_serving_role_had_a_transaction_open(memory: Memory) -> None:
    """One that is open and does nothing counts; a connection without one, and the worker's own, do not."""
    ann = await related(memory, copies=5)
    await ask(memory, ann, "start")
    async with working(memory, ann) as works:
        build = GenerationBuild(works.adapters.pool, ann.team_id, 2, works.adapters.clock)
        for space_id in await works.spaces():
            with psycopg.connect(memory.database.serving_conninfo, autocommit=True) as caller:
                idle = await build.project(space_id, 10)
                if idle is None:
                    continue
                caller.execute("begin")
                caller.execute("select 1")
                busy = await build.project(space_id, 10)
                caller.execute("rollback")
                assert [Batch(10, is_served=False), Batch(10, is_served=True)] == [idle, busy]
                return
    pytest.fail("no space has documents")


async def test_a_rebuild_beside_calls_rests_after_each_batch_and_is_the_same(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is whole, whatever was seen at the end of which batch."""
    rests: list[float] = []

    class Watched(build_generation.Pace):
        def rest_s(self, took_s: float, *, now_s: float, is_served: bool) -> float:
            rests.append(super().rest_s(took_s, now_s=now_s, is_served=is_served))
            return rests[-1]

    monkeypatch.setattr(build_generation, "Pace", Watched)
    for name in ("TEXT_BATCH", "VECTOR_BATCH"):
        monkeypatch.setattr(projection_build, name, 20)
    ann = await related(memory, copies=30)
    await ask(memory, ann, "start")
    with psycopg.connect(memory.database.serving_conninfo) as caller:
        caller.execute("select 1")
        async with working(memory, ann) as works:
            await works.build(2)

    assert len(rests) > 10 and all(rests)
    assert {2: "standby", 1: "current"} == await states(memory, ann)
    assert contents(memory, 1) == contents(memory, 2)
