"""A row for each table that has none, by what the catalogue says of it; for tables that nobody wrote rows for.

Foreign keys get values of rows that are there. Words of lists, patterns and lengths are read off the CHECK constraints; what they say together is
found by trying. Where nothing fits the table stays empty, and the test that wants a row says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

import psycopg
from psycopg import Connection, sql

_LIST = re.compile(r"\(*(?P<column>\w+)\)* = ANY \(ARRAY\[(?P<words>[^\]]*)\]")
_MOST_TRIES = 400
_BY_TYPE: Mapping[str, Any] = {
    "uuid": "01982f00-0000-7000-8000-0000000000ff",
    "text": "word",
    "timestamp with time zone": "2026-01-08T00:00:00Z",
    "bytea": bytes(32),
    "boolean": True,
    "jsonb": "{}",
    "json": "{}",
    "date": "2026-01-08",
    "text[]": ["word"],
    "uuid[]": ["01982f00-0000-7000-8000-0000000000ff"],
    "integer[]": [1],
    "bigint[]": [1],
    "smallint[]": [1],
}


def fill_empty_tables(connection: Connection) -> None:
    """`connection`: a superuser's, autocommit."""
    for _ in range(3):  # a table may refer to one that is filled after it
        for (table,) in connection.execute(
            "select c.relname from pg_class c where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p')"
            " and c.relpersistence = 'p' and not c.relispartition order by 1"
        ).fetchall():
            found = connection.execute(sql.SQL("select exists (select from {})").format(sql.Identifier("commonlore", table))).fetchone()
            if found == (False,):
                _fill(connection, table)


def _fill(connection: Connection, table: str) -> None:
    for values in islice(_rows(connection, table), _MOST_TRIES):
        statement = sql.SQL("insert into {} ({}) values ({})").format(
            sql.Identifier("commonlore", table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() for _ in values),
        )
        try:
            with connection.transaction():
                connection.execute(statement, list(values.values()))
        except psycopg.DatabaseError:
            continue
        return


def _rows(connection: Connection, table: str) -> Iterator[dict[str, Any]]:
    """Rows worth trying, the plainest first: nothing optional, everything optional, then each word of each list."""
    columns = connection.execute(
        "select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull from pg_attribute a"
        " where a.attrelid = ('commonlore.' || %s)::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum",
        [table],
    ).fetchall()
    linked, words = _linked(connection, table), _words(connection, table)
    team = connection.execute("select team_id from commonlore.team limit 1").fetchone()
    known = {"team_id": team[0] if team else None, "space_epoch": 2, **linked}

    def value(name: str, kind: str) -> Any:
        if name in known:
            return known[name]
        if vector := re.fullmatch(r"(?:halfvec|vector)\((\d+)\)", kind):
            return str([1] * int(vector[1]))
        return _BY_TYPE.get(kind, 1)

    optional = [name for name, _, required in columns if not required]
    chosen = [name for name, _, _ in columns if name in words]
    for picked in product(*(words[name] for name in chosen)):
        for given in ([], optional, *([name] for name in optional), *([other for other in optional if other != name] for name in optional)):
            row = {name: value(name, kind) for name, kind, required in columns if required or name in given}
            yield row | {name: word for name, word in zip(chosen, picked, strict=True) if name in row}


def _linked(connection: Connection, table: str) -> dict[str, Any]:
    """For columns of foreign keys, the values of a row that is there."""
    found: dict[str, Any] = {}
    for target, own, theirs in connection.execute(
        "select k.confrelid::regclass::text,"
        " array(select a.attname::text from unnest(k.conkey) with ordinality o (n, p) join pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.n order by o.p),"
        " array(select a.attname::text from unnest(k.confkey) with ordinality o (n, p) join pg_attribute a on a.attrelid = k.confrelid and a.attnum = o.n order by o.p)"
        " from pg_constraint k where k.contype = 'f' and k.conrelid = ('commonlore.' || %s)::regclass order by array_length(k.conkey, 1)",
        [table],
    ).fetchall():
        columns = sql.SQL(", ").join(map(sql.Identifier, theirs))
        row = connection.execute(sql.SQL("select {} from {} limit 1").format(columns, sql.SQL(target))).fetchone()
        if row is not None:
            found |= dict(zip(own, row, strict=True))
    return found


def _words(connection: Connection, table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (definition,) in connection.execute(
        "select pg_get_constraintdef(k.oid) from pg_constraint k where k.contype = 'c' and k.conrelid = ('commonlore.' || %s)::regclass", [table]
    ).fetchall():
        for match in _LIST.finditer(definition):
            words = re.findall(r"'((?:[^']|'')*)'", match["words"])
            if words and match["column"] not in found:
                found[match["column"]] = words
    return found
