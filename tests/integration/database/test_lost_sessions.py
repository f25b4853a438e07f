"""A pooled connection whose session the server has ended is replaced before anything happens on it."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.db import session
from commonlore.db.pipeline import Pipeline
from commonlore.db.session import make_pool, team_transaction
from commonlore.domain.errors import Unavailable
from commonlore.domain.ids import new_id
from tests.support.databases import TestDatabase

SAYS_GOODBYE: Any = "do $$ begin raise exception using errcode = '{state}'; end $$"


@pytest.mark.parametrize("state", ["57P01", "57P02", "57P04", "57P05"])
async def test_a_session_that_the_server_says_it_ends_is_replaced_though_the_connection_does_not_know_it_yet(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """The error comes first and the end of the stream after it: between the two libpq takes the connection for open."""
    begin, used = session._begin, []

    def ended_once(pipeline: Pipeline, *others: Any, **named: Any) -> None:
        used.append(pipeline.connection)
        if len(used) == 1:
            pipeline.ask_tuples(SAYS_GOODBYE.replace("{state}", state))
        begin(pipeline, *others, **named)

    monkeypatch.setattr(session, "_begin", ended_once)
    async with make_pool(database.serving_conninfo, size=2, name="test") as pool, team_transaction(pool, new_id(), timeout_ms=5_000) as transaction:
        assert transaction.connection is used[1]

    assert used[0].closed
    assert 2 == len(used)


async def test_a_server_that_ends_every_session_is_stated_as_unavailable(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(pipeline: Pipeline, *_: Any, **__: Any) -> None:
        pipeline.ask_tuples(SAYS_GOODBYE.replace("{state}", "57P01"))

    monkeypatch.setattr(session, "_begin", ended)
    async with make_pool(database.serving_conninfo, size=2, name="test") as pool:
        with pytest.raises(Unavailable):
            async with team_transaction(pool, new_id(), timeout_ms=5_000):
                pass
