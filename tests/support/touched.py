"""How many rows the database looked at for some requests: the same on a quiet machine and on a busy one.

touched = rows_touched(database, lambda service: ask(service))

The service runs for these requests alone. Its connections hand in their counts when they close; those of the check itself do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from commonlore.domain.ports import Embedder
from tests.support.databases import TestDatabase
from tests.support.server import Service, running_service

_COUNTS = (
    "select coalesce(sum(t.read), 0)::bigint from ("
    "select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables where schemaname = 'commonlore' "
    "union all select idx_tup_read from pg_stat_user_indexes where schemaname = 'commonlore') t"
)
_CONNECTIONS = (
    "select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()"
)


def rows_touched(database: TestDatabase, ask: Callable[[Service], object], embedder: Embedder | None = None) -> int:
    """Rows and index entries of the schema that were read while `ask` ran, the start of the service included."""
    before = _counted(database)
    with running_service(database, embedder) as service:
        ask(service)
    return _counted(database) - before


def _counted(database: TestDatabase) -> int:
    """The counts once every other connection is gone."""
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        deadline = time.monotonic() + 60
        while _one(connection, _CONNECTIONS):
            assert time.monotonic() < deadline, "a connection stays open"
            time.sleep(0.02)
        return _one(connection, _COUNTS)


def _one(connection: psycopg.Connection, statement: str) -> int:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])
