"""Statements of a pipeline answer as those of cursors do, and what goes wrong with one leaves the connection as a cursor would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.pq import PipelineStatus

from commonlore.db import pipeline as pipelines
from commonlore.db.pipeline import Connection, Pipeline
from tests.support.databases import TestDatabase

VALUES: dict[str, Any] = {
    "ids": [uuid4(), uuid4()],
    "number": 70_000,
    "words": ["a,b", 'c"d', "", "ü"],
    "weights": [0.1, 2.5e-9],
    "flag": True,
    "nothing": None,
    "at": datetime(2026, 5, 1, 12, tzinfo=UTC),
    "bytes": b"\0\xff",
}
QUERY: Any = (
    "select %(ids)s::uuid[] as ids, %(number)s::bigint + 1 as number, %(words)s::text[] as words, %(weights)s::float8[] as weights, "
    "%(flag)s::bool as flag, %(nothing)s::timestamptz as nothing, %(at)s::timestamptz as at, %(bytes)s::bytea as bytes, "
    "7 %% 4 as rest, 1.50::numeric as exact, jsonb_build_object('a', %(number)s::int) as json"
)
PREPARED = "select name from pg_prepared_statements where name like 'pipeline%%'"


@pytest.fixture
async def connection(database: TestDatabase) -> AsyncIterator[Connection]:
    async with await Connection.connect(database.serving_conninfo, autocommit=True, prepare_threshold=0) as made:
        yield made


async def test_rows_are_those_of_a_cursor(connection: Connection) -> None:
    async with Pipeline(connection) as pipeline:
        asked, tuples, empty = pipeline.ask(QUERY, VALUES), pipeline.ask_tuples(QUERY, VALUES), pipeline.ask_tuples("select 1 where false")
        (row,) = await asked.fetchall()
    cursor = connection.cursor(row_factory=psycopg.rows.dict_row, binary=True)

    assert row == await (await cursor.execute(QUERY, VALUES)).fetchone()
    assert tuple(row.values()) == await tuples.fetchone()
    assert [] == await empty.fetchall()
    assert (3, Decimal("1.50"), {"a": 70_000}) == (row["rest"], row["exact"], row["json"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e400", 10**400), (f"{10**400}.5", float("inf")), ("[123456789012345678901234567890, -0.0]", [123456789012345678901234567890, -0.0])],
)
async def test_json_is_what_the_standard_library_reads(connection: Connection, text: str, value: object) -> None:
    """Numbers of any size; one beyond all floats is infinite there, and no error."""
    async with Pipeline(connection) as pipeline:
        asked = pipeline.ask_tuples("select %(text)s::text::jsonb", {"text": text})
        assert [(value,)] == await asked.fetchall()


KEYS = [uuid4() for _ in range(3)]
LISTS: list[tuple[str, list[object]]] = [
    ("uuid[]", list(KEYS)),
    ("text[]", ["pelican", "", "äöü 鯨", 'say "NULL", \\ {}']),
    ("int[]", [0, -1, 2**31 - 1]),
    ("bigint[]", [2**62, -5]),
    ("float8[]", [0.1, -2.5e-300]),
    ("smallint[]", [3, 4]),
    ("bool[]", [True, False]),
]


@pytest.mark.parametrize(("kind", "values"), LISTS, ids=[kind for kind, _ in LISTS])
async def test_lists_are_arrays_of_the_type_that_they_are_cast_to(connection: Connection, kind: str, values: list[object]) -> None:
    """As psycopg sends them, empty ones too, and all by one prepared statement."""
    statement = f"select %(values)s::{kind} as whole, cardinality(%(values)s::{kind}) as size"
    for given in (values, [], values[:1]):
        async with Pipeline(connection) as pipeline:
            asked = pipeline.ask_tuples(statement, {"values": given})  # type: ignore[arg-type]
        assert [(given, len(given))] == await asked.fetchall()

    assert 1 == len(await (await connection.execute(PREPARED)).fetchall())


@pytest.mark.parametrize("values", [[2**31], [1, "x"], [None, 1]])
async def test_a_list_that_is_none_of_that_is_for_the_database_to_judge(connection: Connection, values: list[object]) -> None:
    """As it would be without this form."""
    statement = "select %(values)s::int[]"
    outcomes: list[object] = []
    for ask in (True, False):
        try:
            if ask:
                async with Pipeline(connection) as pipeline:
                    asked = pipeline.ask_tuples(statement, {"values": values})
                outcomes.append(await asked.fetchall())
            else:
                cursor = connection.cursor(row_factory=psycopg.rows.tuple_row)
                outcomes.append(await (await cursor.execute(statement, {"values": values})).fetchall())
        except (psycopg.Error, ValueError) as error:
            outcomes.append(type(error))

    assert outcomes[0] == outcomes[1]


async def test_a_statement_is_prepared_once_and_also_where_it_occurs_twice(connection: Connection) -> None:
    for _ in range(2):
        async with Pipeline(connection) as pipeline:
            asked = [pipeline.ask_tuples("select %(n)s::int", {"n": number}) for number in (1, 100_000)]
        assert [[(1,)], [(100_000,)]] == [await one.fetchall() for one in asked]

    assert 1 == len(await (await connection.execute(PREPARED)).fetchall())


async def test_what_psycopg_frees_is_prepared_again(connection: Connection) -> None:
    """After a ROLLBACK it frees all statements of the session."""
    for _ in range(2):
        async with Pipeline(connection) as pipeline:
            pipeline.ask_tuples("select 1")
        await connection.execute("select 2")
        await connection.execute("begin")
        await connection.execute("rollback")
        await connection.execute("select 3")


async def test_those_that_were_unused_longest_are_freed(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "MOST_PREPARED", 3)
    for number in (0, 1, 2, 0, 3, 4):
        async with Pipeline(connection) as pipeline:
            asked = pipeline.ask_tuples(f"select {number}")
        assert [(number,)] == await asked.fetchall()

    assert {"select 0", "select 3", "select 4"} == {statement for statement, _ in connection.prepared}
    assert 3 == len(await (await connection.execute(PREPARED)).fetchall())


async def test_nothing_is_prepared_for_a_pooler(database: TestDatabase) -> None:
    async with await Connection.connect(database.serving_conninfo, autocommit=True, prepare_threshold=None) as connection:
        async with Pipeline(connection) as pipeline:
            asked = pipeline.ask_tuples(QUERY, VALUES)
        assert await asked.fetchone() is not None
        assert [] == await (await connection.execute(PREPARED)).fetchall()


async def test_the_first_failure_is_raised_and_the_connection_goes_on(connection: Connection) -> None:
    async def ask() -> None:
        async with Pipeline(connection) as pipeline:
            pipeline.ask_tuples("select 1")
            failed = pipeline.ask_tuples("select 1 / %(n)s::int", {"n": 0})
            pipeline.ask_tuples("select no_such_column")
            await failed.fetchall()

    await connection.execute("begin")
    await connection.execute("savepoint here")
    with pytest.raises(psycopg.errors.DivisionByZero):
        await ask()
    await connection.execute("rollback to savepoint here")
    async with Pipeline(connection) as pipeline:
        assert [(1,)] == await pipeline.ask_tuples("select 1 / %(n)s::int", {"n": 1}).fetchall()
    await connection.execute("commit")


async def test_rows_can_be_read_while_the_server_is_at_what_follows(connection: Connection) -> None:
    async with Pipeline(connection) as pipeline:
        first, later = pipeline.ask_tuples("select 1"), pipeline.ask_tuples("select 2 from pg_sleep(0.3)")
        assert [(1,)] == await first.fetch_early()
        assert later._rows is None
        last = pipeline.ask_tuples("select 3")
        assert [[(2,)], [(3,)]] == [await later.fetchall(), await last.fetch_early()]


@pytest.mark.parametrize("place", [0, 1])
async def test_a_failure_is_raised_where_rows_are_read_early(connection: Connection, place: int) -> None:
    async def ask() -> None:
        async with Pipeline(connection) as pipeline:
            asked = [pipeline.ask_tuples("select 1 / %(n)s::int", {"n": 0}), pipeline.ask_tuples("select 2"), pipeline.ask_tuples("select 3")]
            await asked[place].fetch_early()

    with pytest.raises(psycopg.errors.DivisionByZero):
        await ask()
    assert [(5,)] == await (await connection.execute("select 5")).fetchall()


async def test_a_statement_that_does_not_parse_is_not_taken_for_prepared(connection: Connection) -> None:
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedColumn):
            async with Pipeline(connection) as pipeline:
                pipeline.ask_tuples("select no_such_column")

    assert {} == connection.prepared


async def test_a_failure_in_between_leaves_nothing_unread(connection: Connection) -> None:
    async def fail() -> None:
        async with Pipeline(connection) as pipeline:
            pipeline.ask_tuples("select pg_sleep(0.01)")
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()

    assert PipelineStatus.OFF == connection.pgconn.pipeline_status
    assert [(5,)] == await (await connection.execute("select 5")).fetchall()


async def test_a_failure_that_nobody_read_is_raised_at_the_end(connection: Connection) -> None:
    async def ask() -> None:
        async with Pipeline(connection) as pipeline:
            pipeline.ask_tuples("select 1 / %(n)s::int", {"n": 0})

    with pytest.raises(psycopg.errors.DivisionByZero):
        await ask()
    assert [(5,)] == await (await connection.execute("select 5")).fetchall()


async def test_a_pipeline_that_is_cut_off_stops_its_statement(connection: Connection) -> None:
    async def ask() -> None:
        async with Pipeline(connection) as pipeline:
            await pipeline.ask_tuples("select pg_sleep(600)").fetchall()

    task = asyncio.ensure_future(ask())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)

    assert connection.closed or [(5,)] == await (await connection.execute("select 5")).fetchall()


async def test_a_session_that_ends_in_between_is_an_error(connection: Connection, database: TestDatabase) -> None:
    async def ask() -> None:
        async with Pipeline(connection) as pipeline:
            asked = pipeline.ask_tuples("select pg_sleep(600)")
            with psycopg.connect(database.admin_conninfo, autocommit=True) as admin:
                admin.execute("select pg_terminate_backend(pid, 10000) from pg_stat_activity where pid = %s", (connection.info.backend_pid,))
            await asked.fetchall()

    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            await ask()
