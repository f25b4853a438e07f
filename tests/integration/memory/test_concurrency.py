"""Writers and readers at once: no deadlock, no mixed answer, no connection that carries anything over."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from commonlore.db.pipeline import Pipeline
from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory, a_relationship, contexts


async def test_writers_of_one_set_of_names_in_opposite_orders_all_end(database: TestDatabase) -> None:
    """Texts, names, sources and keys in every order: nobody waits for one who waits for them, nothing is made twice."""
    async with Memory.open(database, pool_size=8) as memory:
        holders = [await memory.key(member="one") for _ in range(4)] + [await memory.key(member=f"m{number}") for number in range(4)]
        names = [f"Name{letter}" for letter in "abcdefghij"]

        async def write(number: int) -> None:
            for turn in range(4):
                order = names if (number + turn) % 2 else names[::-1]
                texts = [{"content": f"{name} likes Zig."} for name in order]
                proposals = [
                    a_relationship(name, "likes", "Zig", ref=name, evidence=(place,), kinds=("person", "product")) for place, name in enumerate(order)
                ]
                await memory.remember(holders[number], evidence=texts, relationships=proposals)

        await asyncio.wait_for(asyncio.gather(*(write(number) for number in range(8))), 60)

        assert [(11, 50, 50, 50)] == memory.sql(
            "select (select count(*) from commonlore.entity), (select count(*) from commonlore.evidence), "
            "(select count(*) from commonlore.relationship), (select count(*) from commonlore.relationship_support)"
        )
        assert memory.sql("select count(*) from commonlore.evidence_part") == memory.sql("select sum(parts) from commonlore.evidence_statistic")


async def test_the_first_writers_of_one_source_all_store(database: TestDatabase) -> None:
    """Eight texts of one new source at once: one source, eight texts."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember_all(ann, ["The first text of a space holds up the others."])

        await asyncio.gather(*(memory.remember(ann, content=f"Paragraph {number}.", source_key="page", source_revision="1") for number in range(8)))

        assert [(1, 1, 8)] == memory.sql(
            "select (select count(*) from commonlore.evidence_source), (select count(*) from commonlore.evidence_source_revision), "
            "(select count(*) from commonlore.evidence where source_id is not null)"
        )


async def test_rivals_for_one_current_object_leave_one(database: TestDatabase) -> None:
    """Sixteen statements at once by one author: the last is active, every other was replaced once."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        names = [f"Store{letter}" for letter in "abcdefghijklmnop"]

        await asyncio.gather(
            *(
                memory.relate(ann, f"Atlas primary database is {name}.", "Atlas", "primary_database", name, kinds=("project", "product"))
                for name in names
            )
        )

        assert [("active", 1), ("superseded", 15)] == memory.sql("select status, count(*) from commonlore.relationship group by 1 order by 1")
        assert [(31,)] == memory.sql("select count(*) from commonlore.relationship_transition_event")
        assert [(15,)] == memory.sql("select count(*) from commonlore.evidence_exclusion")


async def test_twenty_recalls_during_writes_each_see_one_state(database: TestDatabase) -> None:
    """A text and its statement come together or not at all: whoever is returned covers, whatever is written meanwhile."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember_all(ann, ["Zebra at the start."])
        done = asyncio.Event()

        async def write() -> None:
            for number in range(12):
                await memory.relate(ann, f"Zebra {number} likes Basel.", f"Zebra {number}", "likes", "Basel")
            done.set()

        async def read() -> int:
            rounds = 0
            while not done.is_set():
                answer = await memory.recall(ann, "zebra likes basel", limit=50, relationship_limit=20)
                told = [item for item in answer["results"] if "likes" in item["context"]]
                assert all(len(item["relationship_ids"]) == 1 for item in told)
                covered = {key for item in told for key in item["relationship_ids"]}
                assert set() == covered & {item["relationship_id"] for item in answer["related_relationships"]}
                assert {"evidence": "current", "relationships": "current"} == answer["search_states"]
                rounds += 1
            return rounds

        rounds = (await asyncio.wait_for(asyncio.gather(write(), *(read() for _ in range(20))), 60))[1:]

        assert min(item for item in rounds if item is not None) >= 1
        assert 13 == len((await memory.recall(ann, "zebra", limit=50))["results"])


async def test_the_same_request_at_once_under_two_keys_stores_the_text_once(database: TestDatabase) -> None:
    """Two idempotency keys are two submissions of one text: one evidence, one later sighting."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()

        answers = await asyncio.gather(*(memory.remember(ann, content="One giraffe.", idempotency_key=f"k{number}") for number in range(8)))

        assert 1 == len({answer["evidence"][0]["evidence_id"] for answer in answers})
        assert [(1, 7)] == memory.sql("select (select count(*) from commonlore.evidence), (select count(*) from commonlore.evidence_occurrence)")


# --- cancellation


async def clean(memory: Memory) -> None:
    """Every connection of the pool is idle, outside a transaction, and without a team."""
    pool = memory.adapters.pool
    await asyncio.sleep(0.05)
    taken = [await pool.getconn() for _ in range(pool.max_size)]
    try:
        for connection in taken:
            assert psycopg.pq.TransactionStatus.IDLE == connection.info.transaction_status
            assert psycopg.pq.PipelineStatus.OFF == connection.pgconn.pipeline_status
            row = await (
                await connection.execute(
                    "select coalesce(current_setting('commonlore.team_id', true), '') as team, "
                    "coalesce(current_setting('commonlore.space_epoch', true), '') as epoch, (select count(*) from commonlore.evidence) as seen"
                )
            ).fetchone()
            assert {"team": "", "epoch": "", "seen": 0} == row
    finally:
        for connection in taken:
            await pool.putconn(connection)
    with psycopg.connect(memory.database.admin_conninfo, row_factory=dict_row) as connection:
        open_ones = connection.execute(
            "select state, query from pg_stat_activity where datname = current_database() and application_name = 'commonlore-test' and state <> 'idle'"
        ).fetchall()
    assert [] == open_ones


async def cancelled(work: Any, after_s: float) -> bool:
    """Whether the work was cut off; it may also have ended in time."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(after_s)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


async def a_holder(memory: Memory) -> Holder:
    ann = await memory.key()
    for space in ("team_shared", "private"):
        await memory.relate(ann, f"Mark likes {space}.", "Mark", "likes", space, target_space=space)
    return ann


async def test_a_cancelled_recall_leaves_its_connection_clean(database: TestDatabase) -> None:
    """A hundred times, each at another moment: no open transaction, no team, and the next answer is right."""
    async with Memory.open(database, pool_size=3) as memory:
        ann = await a_holder(memory)
        draw = random.Random(11)
        cuts = 0
        for _ in range(100):
            cuts += await cancelled(memory.recall(ann, "Mark likes"), draw.random() * 0.012)

        assert cuts >= 20
        await clean(memory)
        assert {"Mark likes private.", "Mark likes team_shared."} == set(contexts(await memory.recall(ann, "Mark likes")))


async def test_a_connection_left_inside_a_pipeline_is_not_used_again(database: TestDatabase) -> None:
    """Cut off exactly where the pipeline begins: nobody else gets that connection."""
    async with Memory.open(database, pool_size=1) as memory:
        ann = await a_holder(memory)
        async with memory.adapters.pool.connection() as connection:
            backend = connection.info.backend_pid
        entered = Pipeline.__aenter__

        async def cut_off(pipeline: Pipeline) -> Pipeline:
            await entered(pipeline)
            raise asyncio.CancelledError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pipeline, "__aenter__", cut_off)
            with pytest.raises(asyncio.CancelledError):
                await memory.recall(ann, "Mark likes")

        assert 2 == len((await memory.recall(ann, "Mark likes"))["results"])
        async with memory.adapters.pool.connection() as connection:
            assert backend != connection.info.backend_pid
        await clean(memory)


async def test_a_cancelled_remember_stores_all_or_nothing(database: TestDatabase) -> None:
    """A hundred times: what is there is whole, with its claim, counts and vector, and no lock is left behind."""
    async with Memory.open(database, pool_size=3) as memory:
        ann = await a_holder(memory)
        draw = random.Random(13)
        cuts = 0
        for number in range(100):
            cuts += await cancelled(memory.relate(ann, f"Zoe {number} likes Zig.", f"Zoe {number}", "likes", "Zig"), draw.random() * 0.025)

        assert cuts >= 20
        await clean(memory)
        await asyncio.wait_for(memory.relate(ann, "Last likes Zig.", "Last", "likes", "Zig"), 60)
        counts = memory.sql(
            "select (select count(*) from commonlore.submission), (select count(*) from commonlore.submission where result is not null), "
            "(select count(*) from commonlore.evidence), (select count(*) from commonlore.relationship), (select count(*) from commonlore.relationship_support), "
            "(select count(*) from commonlore.evidence_vector_1), (select sum(parts) from commonlore.evidence_statistic)::int, "
            "(select sum(documents) from commonlore.relationship_statistic)::int"
        )[0]
        assert 1 == len(set(counts))


async def test_a_cancelled_trace_leaves_its_connection_clean(database: TestDatabase) -> None:
    async with Memory.open(database, pool_size=2) as memory:
        ann = await memory.key()
        relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
        draw = random.Random(17)
        for _ in range(50):
            await cancelled(memory.trace(ann, relationship_id), draw.random() * 0.008)

        await clean(memory)
        assert "Mark" == (await memory.trace(ann, relationship_id))["relationship"]["subject"]["name"]


async def test_a_connection_that_was_cut_is_replaced(database: TestDatabase) -> None:
    """The server ends every connection of the pool: one call may fail, stated and retryable; then it works again."""
    async with Memory.open(database, pool_size=2) as memory:
        ann = await a_holder(memory)
        memory.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'commonlore-test'"
        )
        failures = []
        for _ in range(6):
            try:
                await memory.recall(ann, "Mark likes")
            except CommonloreError as error:
                failures.append(error.code)

        assert {"database_unavailable"} >= set(failures)
        assert 2 == len((await memory.recall(ann, "Mark likes"))["results"])


async def test_a_revoked_key_is_refused_at_once(database: TestDatabase) -> None:
    async with Memory.open(database) as memory:
        ann = await a_holder(memory)
        memory.sql("update commonlore.credential set revoked_at = now() where credential_id = %s", ann.credential_id)

        for call in (memory.recall(ann, "Mark"), memory.remember(ann, content="x")):
            with pytest.raises(CommonloreError) as caught:
                await call
            assert "credential_invalid" == caught.value.code
