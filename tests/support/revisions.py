"""Databases at earlier revisions, filled with rows by SQL as it was at each.

`tests/data/revisions/NNNN.sql` is run when the schema is at that revision, so a database at revision N holds what NNNN.sql of
every revision up to N wrote, in every table that there was. A migration that adds a table brings such a file with it; a table
that is empty all the same gets one row by what the catalogue says of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

from commonlore.db.migrate import shipped_revisions, upgrade
from commonlore.db.provision import provision
from tests.support.databases import TestDatabase, _addresses, clone, drop, passwords, server_conninfo
from tests.support.filling import fill_empty_tables

FOLDER = Path(__file__).parents[1] / "data" / "revisions"
TEAM_ID = UUID(md5(b"team").hexdigest())
KEY = f"cl_{TEAM_ID.hex}_aaaaaaaaaaaa_{'b' * 52}"


def named(word: str) -> UUID:
    """The id that the files give to `word`."""
    return UUID(md5(word.encode()).hexdigest())


@contextmanager
def empty_database() -> Iterator[TestDatabase]:
    """A database with roles and schemas, and no migration run."""
    name = f"test_revision_{uuid4().hex[:12]}"
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    database = _addresses(name)
    try:
        provision(database.admin_conninfo, passwords())
        yield database
    finally:
        drop(name)


def fill(database: TestDatabase, revision: str) -> None:
    """Run the file of a revision on a database that is at it."""
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        schema = connection.execute("select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'")
        [place] = schema.fetchone() or ("public",)
        connection.execute(sql.SQL("set search_path = commonlore, {}, procrastinate").format(sql.Identifier(place)))
        file = FOLDER / f"{revision}.sql"
        if file.exists():
            connection.execute(file.read_text("utf-8").encode())
        fill_empty_tables(connection)


@contextmanager
def filled_revisions() -> Iterator[dict[str, TestDatabase]]:
    """One database for each shipped revision, filled; the last one is at head."""
    made: dict[str, TestDatabase] = {}
    try:
        with empty_database() as growing:
            for revision in shipped_revisions():
                upgrade(growing.migrator_conninfo, to=revision)
                fill(growing, revision)
                made[revision] = clone(growing.name)
        yield made
    finally:
        for database in made.values():
            drop(database.name)


@contextmanager
def filled_database() -> Iterator[TestDatabase]:
    """A database at head with rows in every table."""
    with empty_database() as database:
        for revision in shipped_revisions():
            upgrade(database.migrator_conninfo, to=revision)
            fill(database, revision)
        yield database
