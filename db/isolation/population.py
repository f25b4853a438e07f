"""Rows in every tenant table of a scratch database: two teams, each with two private spaces and a shared one.

Values come from the catalogue, so that a new table needs no work here. Rows of different spaces carry the same texts and
numbers and differ in their ids only: whatever a statement lets through adds to a count or shows a foreign id.
Within a space, ids agree across tables (foreign keys are followed), so that joins find their partners.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4, uuid5

from psycopg import Connection, sql
from psycopg.rows import DictRow

from commonlore.db.isolation.catalogue import level
from commonlore.db.sql import statements
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.key import mint

_CATALOGUE = statements("isolation")
_TENANCY = statements("tenancy")
_PAST = datetime(2026, 1, 1, tzinfo=UTC)
_NAMED_KINDS = frozenset(("text", "smallint", "integer", "bigint"))
_CHOICE = re.compile(r"\(+(?P<column>\w+)\)* = ANY \(ARRAY\[(?P<choices>[^\]]*)\]")
# Rows here take other rows out of every search, so they point at evidence of their own.
_SUBTRACTING = frozenset(("evidence_exclusion", "evidence_lifecycle_event"))
# The one posting of a block and of a difference: of the same text and term, once in it, as its first.
_POSTED: Mapping[str, Any] = {"codes": [1 << 16 | 1], "bases": [1], "words": '{"term": "{64}"}'}
_PREFERRED = ("active", "current", "pending", "entailed", "grant", "canonical", "conversation", "many")


@dataclass(frozen=True)
class SampleSpace:
    """A space with one row in every space table. `ids`: its uuid for each column name."""

    team_id: UUID
    space_id: UUID
    space_epoch: int
    profile_id: UUID
    credential_id: UUID
    prefix: str
    ids: dict[str, UUID] = field(default_factory=dict, compare=False)

    def id_of(self, column: str) -> UUID:
        if column.endswith("profile_id"):
            return self.profile_id
        if column.endswith("credential_id"):
            return self.credential_id
        known = {"team_id": self.team_id, "space_id": self.space_id}
        return known.get(column) or self.ids.setdefault(column, uuid5(self.space_id, column))


@dataclass(frozen=True)
class Population:
    """`spaces`: three of the first team, then three of the second. `values`: what text and number columns of a name hold."""

    spaces: tuple[SampleSpace, ...]
    values: Mapping[str, str | int]

    @property
    def open(self) -> SampleSpace:
        """The private space that the proof stands in."""
        return self.spaces[0]

    @property
    def neighbour(self) -> SampleSpace:
        """Another private space of the same team."""
        return self.spaces[1]

    @property
    def foreign(self) -> SampleSpace:
        """A private space of the other team."""
        return self.spaces[3]


def populate(connection: Connection[DictRow]) -> Population:
    """Fill a database that holds no team. `connection`: a superuser's, autocommit.

    CHECK constraints are dropped first, since no generic value meets them all; they take no part in isolation.

    Raises:
        ValueError: a required column has a type that no value is known for.
    """
    choices = _take_choices(connection)
    spaces = tuple(space for _ in range(2) for space in _team(connection))
    tables = _columns(connection)
    targets = _targets(connection)
    known: dict[str, str | int] = {}
    with connection.transaction():
        # Without triggers: foreign keys point in circles, and each row's partner is made in the same transaction.
        connection.execute("set local session_replication_role = replica")
        for table, columns in tables.items():
            if level(table) == "global":
                continue
            for space in spaces if level(table) == "space" else spaces[::3]:
                if level(table) == "team" and _has_row(connection, table, space.team_id):
                    continue
                values = {name: _value(table, name, kind, required, space, choices, targets) for name, kind, required in columns}
                known.update({name: values[name] for name, kind, _ in columns if kind in _NAMED_KINDS and name != "space_epoch"})
                _insert(connection, table, values)
    return Population(spaces, known)


def _team(connection: Connection[DictRow]) -> list[SampleSpace]:
    """A team with a member and a key for each space, by the statements of `commonlore.db.tenancy`."""
    team_id, now = uuid4(), {"now": _PAST}
    connection.execute(_TENANCY["add_team"], {"team_id": team_id, "name": "team", **now})
    connection.execute(_TENANCY["add_generation"], {"team_id": team_id, "format_version": 2, **now})
    made = []
    for number, kind in enumerate(("credential_private", "credential_private", "team_shared")):
        minted, profile_id, credential_id = mint(team_id), uuid4(), uuid4()
        member = {"team_id": team_id, "profile_id": profile_id, "name": f"member {number}", "profile_kind": "agent", "role": "member", **now}
        connection.execute(_TENANCY["add_member"], member)
        key = {
            "team_id": team_id,
            "credential_id": credential_id,
            "profile_id": profile_id,
            "name": "key",
            "prefix": minted.prefix,
            "suffix": minted.suffix,
            "secret_sha256": minted.secret_sha256,
            "scopes": ["read", "write", "admin"],
            "memory_binding": "shared_only" if kind == "team_shared" else kind,
            "expires_at": None,
            **now,
        }
        connection.execute(_TENANCY["add_key"], key)
        made.append(_space(connection, kind, minted.prefix, team_id=team_id, profile_id=profile_id, credential_id=credential_id))
    return made


def _space(connection: Connection[DictRow], kind: str, prefix: str, *, team_id: UUID, profile_id: UUID, credential_id: UUID) -> SampleSpace:
    space_id = new_id()
    parameters = {
        "team_id": team_id,
        "space_id": space_id,
        "space_kind": kind,
        "owner_profile_id": None,
        "owner_credential_id": credential_id if kind == "credential_private" else None,
        "now": _PAST,
    }
    connection.execute(_TENANCY["add_space"], parameters)
    row = connection.execute(sql.SQL("select space_epoch from commonlore.space where space_id = {}").format(sql.Literal(space_id))).fetchone()
    assert row is not None
    return SampleSpace(team_id, space_id, row["space_epoch"], profile_id, credential_id, prefix)


def _take_choices(connection: Connection[DictRow]) -> dict[tuple[str, str], str]:
    """A valid word for each column that a CHECK limits to a list; the constraints are gone afterwards."""
    found: dict[tuple[str, str], str] = {}
    for row in connection.execute(_CATALOGUE["check_constraints"], {}).fetchall():
        match = _CHOICE.search(row["definition"])
        words = re.findall(r"'((?:[^']|'')*)'", match["choices"]) if match else []
        if match and words:  # a list of numbers holds no word
            found[row["relation"], match["column"]] = next((word for word in _PREFERRED if word in words), words[0])
        table, name = sql.Identifier("commonlore", row["relation"]), sql.Identifier(row["name"])
        connection.execute(sql.SQL("alter table {} drop constraint {}").format(table, name))
    return found


def _columns(connection: Connection[DictRow]) -> dict[str, list[tuple[str, str, bool]]]:
    tables: dict[str, list[tuple[str, str, bool]]] = {}
    for row in connection.execute(_CATALOGUE["columns"], {}).fetchall():
        tables.setdefault(row["relation"], []).append((row["name"], row["type"], row["required"]))
    return tables


def _targets(connection: Connection[DictRow]) -> dict[tuple[str, str], tuple[str, str]]:
    """The column that each foreign-key column refers to."""
    return {
        (row["relation"], column): (row["target"], target)
        for row in connection.execute(_CATALOGUE["foreign_keys"], {}).fetchall()
        for column, target in zip(row["columns"], row["target_columns"], strict=True)
        if column != target
    }


def _has_row(connection: Connection[DictRow], table: str, team_id: UUID) -> bool:
    query = sql.SQL("select from {} where team_id = {}").format(sql.Identifier("commonlore", table), sql.Literal(team_id))
    return connection.execute(query).fetchone() is not None


def _value(
    table: str,
    name: str,
    kind: str,
    required: bool,
    space: SampleSpace,
    choices: Mapping[tuple[str, str], str],
    targets: Mapping[tuple[str, str], tuple[str, str]],
) -> Any:
    if name == "space_epoch":
        return space.space_epoch
    if name == "erasure_id" and not required:
        return None  # a row that has one is erased, and in nobody's sight
    if kind == "uuid":
        seen = set()
        while (table, name) in targets and (table, name) not in seen:
            seen.add((table, name))
            if targets[table, name][0] == table and not required:
                return None  # an alias or a predecessor in the same table
            table, name = targets[table, name]
        return uuid5(space.space_id, table) if table in _SUBTRACTING and name == "evidence_id" else space.id_of(name)
    if kind == "text":
        return choices.get((table, name), name)
    if kind == "timestamp with time zone":
        return _PAST if required else None  # the optional ones end things
    if table.endswith(("_posting", "_posting_difference")) and name in _POSTED:
        return _POSTED[name]
    if kind == "uuid[]" and table.endswith(("_posting", "_posting_difference")):
        return [space.id_of(name.removesuffix("s"))]
    value = sample_value(kind)
    if value is None and required:
        raise ValueError(f"{table}.{name}: no value is known for the type {kind}")
    return value


def sample_value(kind: str) -> Any:
    """A value of a type that is neither an id, a text nor a time; None for a type that is not known."""
    if match := re.fullmatch(r"(?:halfvec|vector)\((\d+)\)", kind):
        return "[" + ",".join("1" for _ in range(int(match[1]))) + "]"
    if kind in ("smallint", "integer", "bigint", "real", "double precision", "numeric", "int", "float8", "float4"):
        return 1
    by_type: dict[str, Any] = {
        "boolean": True,
        "bool": True,
        "bytea": bytes(32),
        "jsonb": "{}",
        "json": "{}",
        "text[]": [],
        "uuid[]": [],
        "integer[]": [],
        "xid8": "3",
        "date": "2026-01-01",
    }
    return by_type.get(kind)


def _insert(connection: Connection[DictRow], table: str, values: Mapping[str, Any]) -> None:
    query = sql.SQL("insert into {} ({}) values ({})").format(
        sql.Identifier("commonlore", table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(map(sql.Literal, values.values())),
    )
    connection.execute(query)
