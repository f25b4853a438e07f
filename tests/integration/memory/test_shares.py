"""What one team's calls leave to the others, and how long a statement may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psycopg
import pytest

from commonlore.db.deadline import set_deadline
from commonlore.db.session import actor_transaction, team_transaction
from commonlore.db.shares import Shares
from commonlore.domain.errors import CommonloreError
from commonlore.domain.tenancy.key import mint, parse
from commonlore.domain.time import system_clock
from tests.support.databases import TestDatabase
from tests.support.memory import Memory


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  what is waited for has no event
            await asyncio.sleep(0.005)


async def test_writers_that_wait_for_a_lock_leave_connections_to_other_teams(database: TestDatabase) -> None:
    """Twelve writers of one team stand before its ledger lock over four connections; another team's recall does not wait for them."""
    async with Memory.open(database, pool_size=4) as memory:
        memory.adapters.pool.shares = Shares(4, wait_s=60)
        ann, bob = await memory.key("atlas"), await memory.key("borea")
        await memory.relate(ann, "Mark likes Zig.", "Mark", "likes", "Zig")
        await memory.remember(bob, content="A zebra.")
        with psycopg.connect(database.admin_conninfo) as admin:
            admin.execute("lock table commonlore.ledger_instant in access exclusive mode")
            writers = [asyncio.create_task(memory.relate(ann, f"Mark likes {n}.", "Mark", "likes", f"Rust{n}")) for n in range(12)]
            await until(lambda: 9 == memory.adapters.pool.shares.waiting)
            held = memory.adapters.pool.shares.held
            answers = [await asyncio.wait_for(memory.recall(bob, "zebra"), 30) for _ in range(5)]
        await asyncio.gather(*writers)

    assert {ann.team_id: 3} == held
    assert [1] * 5 == [len(answer["results"]) for answer in answers]


async def test_a_forged_key_takes_nothing_from_the_team_that_it_names(database: TestDatabase) -> None:
    async with Memory.open(database, pool_size=4) as memory:
        memory.adapters.pool.shares = Shares(4, wait_s=60)
        ann = await memory.key()
        await memory.remember(ann, content="A zebra.")
        forged = parse(mint(ann.team_id).text)
        assert forged is not None
        with psycopg.connect(database.admin_conninfo) as admin:
            admin.execute("lock table commonlore.credential in access exclusive mode")
            calls = [asyncio.create_task(memory.operations.authenticate(forged)) for _ in range(8)]
            await until(lambda: 5 == memory.adapters.pool.shares.waiting)
            held = memory.adapters.pool.shares.held
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        answer = await memory.recall(ann, "zebra")

    assert {None: 3} == held and 1 == len(answer["results"])
    assert ["credential_invalid"] * 8 == [item.code for item in outcomes if isinstance(item, CommonloreError)]


@pytest.mark.parametrize(("left_s", "expected"), [(None, (20_000, 20_000)), (15.0, (1_000, 15_000)), (90.0, (30_000, 90_000))])
async def test_a_statement_may_take_what_the_request_has_left(database: TestDatabase, left_s: float | None, expected: tuple[int, int]) -> None:
    async with Memory.open(database) as memory:
        ann = await memory.key()
        pool = memory.adapters.pool

        async def ask() -> list[int]:
            if left_s is not None:
                set_deadline(asyncio.get_running_loop().time() + left_s)
            found = []
            async with team_transaction(pool, ann.team_id, timeout_ms=20_000) as transaction:
                found.append(await timeout_of(transaction.connection))
            async with actor_transaction(pool, ann.key, clock=system_clock, timeout_ms=20_000) as (_, transaction):
                found.append(await timeout_of(transaction.connection))
            return found

        for milliseconds in await asyncio.create_task(ask()):
            assert expected[0] <= milliseconds <= expected[1]


async def timeout_of(connection: psycopg.AsyncConnection[object]) -> int:
    cursor = await connection.execute("select setting::int as ms from pg_settings where name = 'statement_timeout'")
    row = await cursor.fetchone()
    assert isinstance(row, dict)
    return int(row["ms"])
