"""Vector indexes of large spaces as jobs of a real worker role, and recalls that use them: what is found, gated and said stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from commonlore.db import contract_change
from commonlore.db.backlog import sweep
from commonlore.db.session import make_pool
from commonlore.db.settings import read_settings
from commonlore.db.statements import NEAR, OPEN_NEAR
from commonlore.db.vector_indexes import index_builder
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import DROP_VECTOR_INDEXES, TEND_VECTOR_INDEXES, JobFailed
from commonlore.domain.projection.vector_index import VectorIndexPolicy
from commonlore.domain.time import system_clock
from commonlore.workers import main as worker_main
from commonlore.workers.handlers import HANDLERS
from tests.integration.database.test_plans import VECTOR, explained
from tests.integration.memory.test_worker import as_worker, shared_space
from tests.integration.projection.test_contracts import OTHER, both, owner, work
from tests.support.databases import TestDatabase, clone, drop
from tests.support.jobs import a_turn
from tests.support.memory import Holder, Memory, ServedHashEmbedder, contexts

TEXTS = 560
SMALL = VectorIndexPolicy(build_from=500, queries=6)
INDEX = "select i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname ~ '_vector_1_near_' order by c.relname"
NOTED = "select frontier, state from commonlore.vector_index order by frontier"
_WORDS = ("otter", "pelican", "harbour", "lantern", "violet", "granite", "saddle", "meadow", "copper", "thimble", "walnut")


def text(number: int) -> str:
    """Texts that share words with many others, so that nearness has an order."""
    words = [_WORDS[(number // step) % len(_WORDS)] for step in (1, 11, 121)]
    return f"Number{number} keeps a {words[0]} beside the {words[1]} and one {words[2]} more."


@dataclass(frozen=True)
class Large:
    """A space with 560 texts in a template of its own; each test has a copy."""

    name: str
    holder: Holder


@pytest.fixture(scope="module")
def large(template: str) -> Iterator[Large]:
    made = clone(template)

    async def fill() -> Holder:
        async with Memory.open(made) as memory:
            ann = await memory.key(scopes=("read", "write", "admin"), binding="shared_only")
            await memory.remember_all(ann, [text(number) for number in range(TEXTS)])
            return ann

    yield Large(made.name, asyncio.run(fill()))
    drop(made.name)


@pytest.fixture
async def memory(large: Large) -> AsyncIterator[Memory]:
    copy: TestDatabase = clone(large.name)
    async with Memory.open(copy) as opened:
        yield opened
    drop(copy.name)


async def tend(memory: Memory, holder: Holder, policy: VectorIndexPolicy = SMALL, *, knows_owner: bool = True) -> list[str]:
    """One turn of the job under the worker's role; the stages that it told."""
    async with working(memory, policy, knows_owner=knows_owner) as worker:
        run = a_turn(worker.adapters, TEND_VECTOR_INDEXES, holder.team_id, shared_space(memory, holder))
        await HANDLERS[TEND_VECTOR_INDEXES.name](run)
    return [stage for stage, _, _ in run.queue.told]  # type: ignore[attr-defined]


@asynccontextmanager
async def working(memory: Memory, policy: VectorIndexPolicy = SMALL, *, knows_owner: bool = True) -> AsyncIterator[Memory]:
    owner = memory.database.maintenance_conninfo if knows_owner else None
    pool = make_pool(memory.database.worker_conninfo, size=1, name="test-worker")
    await pool.open()
    try:
        yield replace(memory, adapters=replace(memory.adapters, pool=pool, indexes=policy, owner_conninfo=owner))
        async with pool.connection() as connection:
            await connection.execute("select pg_stat_force_next_flush()")  # what it searched is counted now and not later
    finally:
        await pool.close()


async def scanned(memory: Memory) -> int:
    """How often an index of a space was searched; a connection tells it when it is closed, at the latest."""
    for _ in range(20):
        await asyncio.sleep(0.05)
        [(scans,)] = memory.sql("select coalesce(sum(idx_scan), 0)::int from pg_stat_user_indexes where indexrelname ~ '_vector_1_near_'")
        if scans:
            return int(scans)
    return 0


async def answers(memory: Memory, holder: Holder, **request: Any) -> list[list[str]]:
    """Contexts of three questions over connections of their own, so that what they searched is counted at once."""
    async with memory.under("-c application_name=asking") as asking:
        return [contexts(await asking.recall(holder, query, limit=20, **request)) for query in ("otter and lantern", "a violet saddle", "granite")]


async def test_a_space_gets_its_index_when_it_is_large_enough(memory: Memory, large: Large) -> None:
    """Asked for by the sweep of a worker that can build; below the threshold, and of one that cannot, never."""
    kinds = "select kind from commonlore.job where kind = 'tend_vector_indexes'"
    async with as_worker(memory) as worker:
        await sweep(worker.adapters.pool, indexes=replace(SMALL, build_from=TEXTS + 1))
        await sweep(worker.adapters.pool)
        assert [] == memory.sql(kinds)
        await sweep(worker.adapters.pool, indexes=SMALL)
    assert [("tend_vector_indexes",)] == memory.sql(kinds)
    stages = await tend(memory, large.holder)

    assert [(True,)] == memory.sql(INDEX)
    assert [("evidence", "ready")] == memory.sql(NOTED)
    assert [("evidence", 500, True, 6)] == memory.sql("select frontier, size_bucket, overlap >= 990, query_count from commonlore.vector_overlap")
    assert "measuring_evidence" == stages[-1]


@pytest.mark.parametrize("case", ["plain", "known", "withdrawn", "filtered", "past"])
async def test_answers_by_the_index_are_those_of_the_exact_search(memory: Memory, large: Large, case: str) -> None:
    """With everything that a gate refuses: what the caller knows, what was withdrawn, another time and a filter."""
    holder, request = large.holder, {}
    first = (await memory.recall(holder, "otter and lantern", limit=40))["results"]
    if case == "known":
        request = {"known_evidence_ids": [item["evidence_id"] for item in first]}
    elif case == "withdrawn":
        await memory.retract(holder, *[item["evidence_id"] for item in first[:20]])
    elif case == "past":
        [(latest,)] = memory.sql("select max(known_from) from commonlore.evidence")
        request = {"known_at": latest.isoformat()}
    elif case == "filtered":
        request = {"filter": {"authorities": ["unknown"]}}
    exact = await answers(memory, holder, **request)
    await tend(memory, holder)
    memory.sql("select pg_stat_reset()")

    assert exact == await answers(memory, holder, **request)
    assert (await scanned(memory) > 0) == (case != "filtered")
    assert all(len(found) == 20 for found in exact)


async def test_the_plan_that_is_made_once_uses_the_index(memory: Memory, large: Large) -> None:
    """Under the one plan for every team, as the serving role, behind the policy."""
    from commonlore.db.sql import statements
    from commonlore.db.vector_indexes import in_one_space

    await tend(memory, large.holder)
    with psycopg.connect(memory.database.serving_conninfo, row_factory=dict_row) as connection:
        team, space = large.holder.team_id, shared_space(memory, large.holder)
        connection.execute(statements("session")["enter_team"], {"team_id": team, "timeout_ms": 20_000, "plans": "force_generic_plan"})
        row = connection.execute(statements("session")["enter_space"], {"team_id": team, "space_id": space}).fetchone()
        assert row is not None
        epoch = int(row["space_epoch"])
        values = {"team_id": team, "space_epoch": epoch, "vector": VECTOR, "sample": 128, "part_depth": 200, "depth": 200}
        plain = explained(connection, OPEN_NEAR["evidence_vector"], values)
        ours = explained(connection, in_one_space(OPEN_NEAR["evidence_vector"], team, epoch), values)
        foreign = explained(connection, in_one_space(OPEN_NEAR["evidence_vector"], UUID(int=7), epoch), values)

        values["known_evidence_ids"], values["present"] = [], True
        statement = in_one_space(NEAR["evidence_vector"], team, epoch).encode()
        nearest = [row["evidence_id"] for row in connection.execute(statement, values).fetchall()]
        others = [row["evidence_id"] for row in connection.execute(statement, {**values, "known_evidence_ids": nearest[:50]}).fetchall()]

    assert (200, 200) == (len(nearest), len(others))
    assert not {*nearest[:50]} & {*others}
    name = f"evidence_vector_1_near_{epoch}"
    assert [False, True, False] == [any(node.get("Index Name") == name and node["Actual Rows"] for node in nodes) for nodes in (plain, ours, foreign)]
    assert {200} == {int(nodes[0]["Actual Rows"]) for nodes in (plain, ours, foreign)}


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
async def test_an_index_that_was_cut_off_is_built_anew(memory: Memory, large: Large, how: str) -> None:
    """Cut off while it waits for an old transaction, it is not valid; searches are exact meanwhile, and the next turn repairs it."""
    before = await answers(memory, large.holder)
    with psycopg.connect(memory.database.admin_conninfo) as old:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from commonlore.evidence_vector_1")
        turn = asyncio.ensure_future(tend(memory, large.holder))
        for _ in range(400):
            await asyncio.sleep(0.05)
            if memory.sql(INDEX) == [(False,)]:
                break
        if how == "cancelled":
            turn.cancel()
        else:  # as the server does to a statement that takes too long
            memory.sql(
                "select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'commonlore-index' and datname = current_database()"
            )
        with pytest.raises(asyncio.CancelledError if how == "cancelled" else CommonloreError) as ended:
            await turn
    assert how == "cancelled" or "request_timeout" == ended.value.code  # type: ignore[union-attr]
    assert [(False,)] == memory.sql(INDEX)
    assert [("evidence", "building")] == memory.sql(NOTED)
    assert before == await answers(memory, large.holder)
    await tend(memory, large.holder)

    assert [(True,)] == memory.sql(INDEX)
    assert [("evidence", "ready")] == memory.sql(NOTED)


async def test_a_lost_index_costs_time_and_nothing_else(memory: Memory, large: Large) -> None:
    """Dropped behind our back: the same answers, exact, and the next turn builds it."""
    await tend(memory, large.holder)
    before = await answers(memory, large.holder)
    [(name,)] = memory.sql("select index_name from commonlore.vector_index")
    memory.sql(f"drop index commonlore.{name}")

    assert before == await answers(memory, large.holder)
    await tend(memory, large.holder)
    assert [(True,)] == memory.sql(INDEX)


@pytest.mark.parametrize(("exact_at_most", "state", "said"), [(10_000, "poor", False), (0, "degraded", True)])
async def test_an_index_that_finds_too_little_is_not_trusted(memory: Memory, large: Large, exact_at_most: int, state: str, said: bool) -> None:
    """The search is exact instead, and nothing is missing; where that would take too long the answer says what may be."""
    await tend(memory, large.holder, replace(SMALL, least_overlap=1_001, least_overlap_beyond=1_001, exact_at_most=exact_at_most))
    memory.sql("select pg_stat_reset()")
    found = await memory.recall(large.holder, "otter and lantern")

    await answers(memory, large.holder)

    assert [("evidence", state)] == memory.sql(NOTED)
    assert said == (await scanned(memory) > 0)
    assert said == (("evidence", "evidence_vector_approximate") in {(item["frontier"], item["code"]) for item in found["degradations"]})
    assert said == (len(found["degradations"]) == 1)


async def test_a_space_that_shrank_loses_its_index(memory: Memory, large: Large) -> None:
    await tend(memory, large.holder)
    await tend(memory, large.holder, replace(SMALL, build_from=TEXTS + 1))  # more than half of it is left
    assert [(True,)] == memory.sql(INDEX)
    await tend(memory, large.holder, replace(SMALL, build_from=2 * TEXTS + 1))

    assert ([], []) == (memory.sql(INDEX), memory.sql(NOTED))


async def test_the_index_of_a_space_that_is_no_more_is_dropped(memory: Memory, large: Large) -> None:
    """By the job of the installation; those of living spaces stay."""
    await tend(memory, large.holder)

    async def tidy() -> None:
        async with working(memory) as worker:
            await HANDLERS[DROP_VECTOR_INDEXES.name](a_turn(worker.adapters, DROP_VECTOR_INDEXES, large.holder.team_id))

    await tidy()
    assert [(True,)] == memory.sql(INDEX)
    memory.sql("update commonlore.space set lifecycle_state = 'retired'")
    await tidy()
    assert [] == memory.sql(INDEX)


async def test_one_index_is_built_at_a_time(memory: Memory, large: Large) -> None:
    assert memory.database.maintenance_conninfo is not None
    async with index_builder(memory.database.maintenance_conninfo) as ours:
        assert ours is not None
        with pytest.raises(JobFailed) as failed:
            await tend(memory, large.holder)

    assert "index_busy" == failed.value.reason
    assert [("evidence", "building")] == memory.sql(NOTED)


async def test_a_worker_process_builds_what_a_sweep_asks_for(memory: Memory, large: Large) -> None:
    """Through the real queue, with the number of rows from the settings."""
    settings = read_settings({"COMMONLORE_VECTOR_INDEX_ROWS": "500"})
    async with as_worker(memory) as worker:
        await sweep(worker.adapters.pool, indexes=SMALL)
    running = worker_main.run(
        settings,
        memory.database.worker_conninfo,
        wait=False,
        make_embedder=ServedHashEmbedder,
        owner_conninfo=memory.database.maintenance_conninfo,
    )
    await asyncio.wait_for(running, 60)

    assert [(True,)] == memory.sql(INDEX)
    assert [("evidence", "ready")] == memory.sql(NOTED)
    assert [("succeeded", None)] == memory.sql("select state, reason from commonlore.job where kind = 'tend_vector_indexes'")


async def test_a_worker_that_does_not_know_the_owner_builds_nothing(memory: Memory, large: Large) -> None:
    with pytest.raises(JobFailed) as failed:
        await tend(memory, large.holder, knows_owner=False)

    assert "owner_unknown" == failed.value.reason
    assert [] == memory.sql(INDEX)


async def test_documents_of_relationships_get_an_index_too(memory: Memory, large: Large) -> None:
    """Copies of one relationship's document under other ids: enough rows for an index of the generation that serves."""
    ann = large.holder
    await memory.relate(ann, "Nora keeps an otter in the harbour.", "Nora", "keeps", "otter")
    memory.sql(
        "insert into commonlore.relationship_statistic select team_id, space_epoch, generation, gen_random_uuid(), 600, 3000 "
        "from commonlore.relationship_statistic limit 1"
    )
    memory.sql(
        "insert into commonlore.relationship_vector_1 select v.team_id, v.space_epoch, 1, gen_random_uuid(), e.embedding "
        "from commonlore.relationship_vector_1 v, commonlore.evidence_vector_1 e"
    )
    before = await memory.recall(ann, "Who keeps an otter?", relationship_limit=5, limit=1, known_evidence_ids=[])
    await tend(memory, ann)

    assert [("evidence", "ready"), ("relationship", "ready")] == memory.sql(NOTED)
    after = await memory.recall(ann, "Who keeps an otter?", relationship_limit=5, limit=1, known_evidence_ids=[])
    assert before["related_relationships"] == after["related_relationships"]
    assert [(True,), (True,)] == memory.sql(INDEX)


async def test_a_contract_has_its_index_before_it_serves(memory: Memory, large: Large) -> None:
    """Built once every text has its vector, and kept with the contract that stands by: neither switch makes searches of the space exact."""
    near = r"select relname::text from pg_class where relkind = 'i' and relname ~ '_vector_\d+_near_' order by 1"
    noted = "select contract_id, state from commonlore.vector_index where frontier = 'evidence' order by 1"
    await tend(memory, large.holder)
    async with owner(memory) as pool:
        started = await contract_change.start(pool, OTHER, now=system_clock())
        await tend(memory, large.holder)
        assert [(1, "ready")] == memory.sql(noted)
        await work(memory, large.holder, both())
        await tend(memory, large.holder)
        before = memory.sql(near)
        assert [(1, "ready"), (started.contract_id, "ready")] == memory.sql(noted)
        await contract_change.activate(pool, accepts_failed=False, now=system_clock())
    await tend(memory, large.holder)

    assert [(1, "ready"), (started.contract_id, "ready")] == memory.sql(noted)
    assert 2 == len(before) and before == memory.sql(near)
