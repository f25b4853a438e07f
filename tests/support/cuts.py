"""Writes that are cut off at a chosen statement: by a failure, by the end of the database's process, by the end of their own.

As a command it is a process that makes processes to kill: it reads one JSON line a write, forks, and the child writes its
pid once it has reached the statement, inside its transaction, and goes no further.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncCursor

from commonlore.db.pipeline import Pipeline
from commonlore.db.sql import statements, subjects

# A connection that is lost before the key was checked is replaced and the call goes on, so nothing is counted before that.
_BEFORE = {statements("session")[name] for name in ("enter_team", "authenticate", "enter_space")}
_COUNTED = {text for subject in subjects() for text in statements(subject).values()} - _BEFORE | {"commit"}
_WRITES = "begin isolation level read committed"
Act = Callable[[AsyncConnection[Any]], Awaitable[None]]


class Cut:
    """Counts the statements of one call and acts at one of them; `reached` tells whether it came to that."""

    def __init__(self) -> None:
        self.seen = 0
        self.writes = False
        self.reached = False

    def counts(self, text: object) -> bool:
        if not isinstance(text, str):
            return False
        self.writes = self.writes and text != "commit"
        self.seen += text in _COUNTED
        return text in _COUNTED


@contextmanager
def cut(at: int | None, act: Act, *, after: bool = False) -> Iterator[Cut]:
    """`act` before the statement with this number, or `after` it. Without a number: at the commit of the write."""
    found, execute, ask = Cut(), AsyncCursor.execute, Pipeline.ask_tuples

    async def counted(cursor: AsyncCursor[Any], query: Any, *arguments: Any, **options: Any) -> AsyncCursor[Any]:
        is_end = query == "commit" and found.writes
        meant = found.counts(query) and (is_end if at is None else found.seen == at)
        if meant and not after:
            found.reached = True
            await act(cursor.connection)
        result = await execute(cursor, query, *arguments, **options)
        if meant and after:
            found.reached = True
            await act(cursor.connection)
        return result

    def begun(pipeline: Pipeline, statement: Any, *arguments: Any) -> Any:
        found.writes = statement == _WRITES or found.writes
        return ask(pipeline, statement, *arguments)

    AsyncCursor.execute = counted  # type: ignore[method-assign, assignment]
    Pipeline.ask_tuples = begun  # type: ignore[method-assign, assignment]
    try:
        yield found
    finally:
        AsyncCursor.execute = execute  # type: ignore[method-assign]
        Pipeline.ask_tuples = ask  # type: ignore[method-assign]


async def fail(_: AsyncConnection[Any]) -> None:
    raise psycopg.OperationalError("cut off")


def end_backend(admin_conninfo: str) -> Act:
    """The server ends the process of the connection, and is waited for."""

    async def act(connection: AsyncConnection[Any]) -> None:
        with psycopg.connect(admin_conninfo, autocommit=True) as admin:
            admin.execute("select pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))

    return act


async def _stand_still(_: AsyncConnection[Any]) -> None:
    os.write(1, f"{os.getpid()}\n".encode("ascii"))
    await asyncio.sleep(600)


def _child(asked: dict[str, Any]) -> None:
    from tests.support.writes import World

    async def run() -> None:
        async with World.reopened(asked["world"]) as world:
            with cut(asked["at"], _stand_still):
                await world.write()

    asyncio.run(run())


def main() -> None:
    import tests.support.writes  # noqa: F401  so that a child has it at once

    for line in sys.stdin:
        if os.fork() == 0:
            try:
                _child(json.loads(line))
            finally:
                os.write(1, b"0\n")  # it was not stopped, and whoever waits for it must learn so
                os._exit(1)


if __name__ == "__main__":
    main()
