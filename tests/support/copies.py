"""Rows by the ten thousand, copied inside the database from a few that the service wrote.

copy_texts(database, team_id, 100)  # each text of the team a hundred times more, with the same words and the same meaning

Foreign keys are not looked at while rows are copied; every other constraint is.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import psycopg

from tests.support.databases import TestDatabase
from tests.support.postings import fold

# The n-th copy of a text has an id of its own and is no duplicate.
_COPY = {
    "evidence_id": "md5(t.evidence_id::text || n)::uuid",
    "evidence_index": "t.evidence_index + 1000 * n",
    "content_sha256": "sha256(t.content_sha256 || n::text::bytea)",
    "duplicate_sha256": "null",
}


def copy_texts(database: TestDatabase, team_id: UUID, times: int) -> None:
    """Every text of a team `times` more, with its parts, words and vectors; what is counted of the space follows, and all is analysed."""
    ours, each = f"t.team_id = '{team_id}'", f"generate_series(1, {times}) n"
    more = {name: f"t.{name} * {times}" for name in ("parts", "length", "texts")}
    with unchecked(database) as connection:
        for table in ("evidence", "evidence_part", "evidence_vector_1"):
            copy_rows(connection, table, each, _COPY, where=ours)
        _copy_postings(connection, "evidence_posting", "evidence_ids", team_id, each)
        copy_rows(connection, "evidence_statistic", "(select 1) once", {"statistic_id": "gen_random_uuid()", **more}, where=ours)
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        connection.execute("vacuum analyze")


# The n-th copy of a relationship is an author's of its own, and means something of its own.
_COPY_RELATIONSHIP = {
    "relationship_id": "md5(t.relationship_id::text || n)::uuid",
    "owner_profile_id": "md5(t.owner_profile_id::text || n)::uuid",
    "semantic_group_key": "'sg:' || encode(sha256((t.semantic_group_key || n)::bytea), 'hex')",
}


def copy_relationships(database: TestDatabase, team_id: UUID, times: int) -> None:
    """Every relationship of a team `times` more, with its document, words and vector; what is counted of the space follows, and all is analysed."""
    ours, each = f"t.team_id = '{team_id}'", f"generate_series(1, {times}) n"
    more = {name: f"t.{name} * {times}" for name in ("documents", "length")}
    with unchecked(database) as connection:
        for table in ("relationship", "relationship_document", "relationship_vector_1"):
            copy_rows(connection, table, each, _COPY_RELATIONSHIP, where=ours)
        _copy_postings(connection, "relationship_posting", "relationship_ids", team_id, each)
        copy_rows(connection, "relationship_statistic", "(select 1) once", {"statistic_id": "gen_random_uuid()", **more}, where=ours)
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        connection.execute("vacuum analyze")


def _copy_postings(connection: psycopg.Connection, table: str, keys: str, team_id: UUID, each: str) -> None:
    """The postings of the copies, in full blocks as a worker leaves them."""
    fold(connection, team_id)
    copies = {
        "block_no": f"nextval(pg_get_serial_sequence('commonlore.{table}', 'block_no'))",
        keys: f"array(select md5(k.key::text || n)::uuid from unnest(t.{keys}) with ordinality k (key, place) order by k.place)",
    }
    copy_rows(connection, table, each, copies, where=f"t.team_id = '{team_id}'")
    fold(connection, team_id)


def unchecked(database: TestDatabase) -> psycopg.Connection:
    """A superuser's connection under which foreign keys are not looked at; what it does is committed at the end of its block."""
    return psycopg.connect(database.admin_conninfo, options="-c session_replication_role=replica")


def copy_rows(connection: psycopg.Connection, table: str, source: str, changed: Mapping[str, str], *, where: str = "true") -> None:
    """The rows `t` of a table again for each row of `source`; columns that are not `changed` stay as they are."""
    rows = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''",
        (f"commonlore.{table}",),
    ).fetchall()
    columns = [str(row[0]) for row in rows]
    values = ", ".join(changed.get(column, f"t.{column}") for column in columns)
    statement = f"insert into commonlore.{table} ({', '.join(columns)}) select {values} from commonlore.{table} t cross join {source} where {where}"
    connection.execute(statement.encode())
