"""Each lock without the other: every named statement, run four times with the same parameters.

With both locks, with its predicates only, with the policies only, and with neither. The first three must answer alike and
leave every foreign row as it was. The fourth shows whether the parameters reach foreign rows at all; a statement that
answers the same with no lock has proved nothing here, and its plan (`statements.py`) is what stands for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow

from commonlore.db.isolation.attempts import enter
from commonlore.db.isolation.catalogue import level, tenant_tables
from commonlore.db.isolation.population import Population, SampleSpace, sample_value
from commonlore.db.isolation.report import Check
from commonlore.db.isolation.statements import EXEMPT, named_statements, without_predicates

Locks = Literal["both", "predicates", "policies", "neither"]
_LOCKS: tuple[Locks, ...] = ("both", "predicates", "policies", "neither")
_ROLES = ("commonlore_app", "commonlore_worker", "commonlore_owner")
_TYPED = re.compile(r"%\((?P<name>\w+)\)s(?:::(?P<kind>\w+(?:\[\])?))?(?:::(?P<then>\w+))?")
_NOW = datetime(2026, 6, 1, tzinfo=UTC)
# Parameters that are not named as the column they are compared with.
_COLUMN_OF = {
    "keys": "predicate_key",
    "predicates": "predicate_key",
    "groups": "semantic_group_key",
    "types": "value_type",
    "canonicals": "canonical_value",
    "subjects": "entity_id",
    "objects": "entity_id",
}
_SETS = ("own ids", "foreign ids", "own ids in the past")
# What a statement must hold to change a row: one of these words, or a function of ours, which may do anything.
_MAY_WRITE = re.compile(r"\b(insert|update|delete|merge|truncate)\b|\bcommonlore\.\w+\(", re.IGNORECASE)
_VECTOR = "[" + ",".join("1" for _ in range(384)) + "]"


@dataclass(frozen=True)
class Outcome:
    """`answer`: the rows, or the SQLSTATE. `foreign`: the state of every row outside the open space afterwards."""

    answer: str
    foreign: str
    refused: bool


def lock_checks(admin: Connection[DictRow], population: Population) -> list[Check]:
    """Every statement with a tenant mark, under each set of locks. `admin`: a superuser's, autocommit; all is rolled back."""
    marked = [(subject, name, text) for subject, name, text in named_statements() if "-- tenant" in text and (subject, name) not in EXEMPT]
    with admin.transaction(force_rollback=True):  # one for all, so that now() is the same in every run
        outcomes = {locks: _run_all(admin, population, marked, locks) for locks in _LOCKS}
    checks = []
    reached = ran = 0
    for number, (subject, name, _) in enumerate(marked):
        runs = {locks: outcomes[locks][number] for locks in _LOCKS}
        ran += any(not run.refused for run in runs["both"])
        reached += runs["neither"] != runs["both"]
        for locks in _LOCKS[1:3]:
            differing = list(_differences(runs["both"], runs[locks]))
            checks.append(Check(f"{locks} alone isolate a statement", f"{subject}.{name}", not differing, "; ".join(differing)))
    seen = f"{len(marked)} statements, {ran} ran to an answer, {reached} reach foreign rows with neither lock"
    checks.append(Check("statements reach foreign rows when both locks are off", "db/queries", reached > 0, seen))
    return checks


def _differences(both: list[Outcome], one: list[Outcome]) -> Iterator[str]:
    for label, expected, found in zip(_SETS, both, one, strict=True):
        if expected.answer != found.answer:
            yield f"{label}: answered {found.answer[:120]} instead of {expected.answer[:120]}"
        if expected.foreign != found.foreign:
            yield f"{label}: changed a foreign row"


def _run_all(admin: Connection[DictRow], population: Population, marked: list[tuple[str, str, str]], locks: Locks) -> list[list[Outcome]]:
    """Outcomes by statement, one for each of `_SETS`."""
    tables = tenant_tables(admin)
    results = []
    with admin.transaction(force_rollback=True):
        if locks in ("predicates", "neither"):
            for table in tables:
                admin.execute(sql.SQL("alter table {} disable row level security").format(sql.Identifier("commonlore", table)))
        enter(admin, population.open)
        for _, _, statement in marked:
            text = statement if locks in ("both", "predicates") else without_predicates(statement)
            touched = [table for table in tables if re.search(rf"commonlore\.{table}\b", statement)] if _MAY_WRITE.search(statement) else []
            results.append([_run(admin, population.open, text, _parameters(statement, population, label), touched) for label in _SETS])
    return results


def _run(admin: Connection[DictRow], own: SampleSpace, text: str, parameters: dict[str, Any], touched: list[str]) -> Outcome:
    """As the first role that is granted what the statement needs. `touched`: the tables in which it may change a row."""
    answer, foreign = "no role may run it", ""
    for role in _ROLES:
        try:
            with admin.transaction(force_rollback=True):
                admin.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
                cursor = admin.execute(text.encode(), parameters)
                rows = cursor.fetchall() if cursor.description else []
                answer = f"{cursor.rowcount} rows: {sorted(map(repr, rows))}"
                if touched:
                    admin.execute("reset role")
                    foreign = _foreign_state(admin, own, touched)
                return Outcome(answer, foreign, refused=False)
        except psycopg.errors.InsufficientPrivilege as error:
            answer = f"refused {error.sqlstate}"
            if "row-level security" in str(error):
                break
        except psycopg.Error as error:
            answer = f"refused {error.sqlstate}"
            break
    return Outcome(answer, foreign, refused=True)


def _foreign_state(admin: Connection[DictRow], own: SampleSpace, tables: list[str]) -> str:
    states = []
    for table in tables:
        mine = sql.SQL("t.team_id = {}").format(sql.Literal(own.team_id))
        if level(table) == "space":
            mine = sql.SQL("{} and t.space_epoch = {}").format(mine, sql.Literal(own.space_epoch))
        query = sql.SQL("select md5(string_agg(t::text, chr(10) order by t::text)) as state from {} t where not ({})")
        row = admin.execute(query.format(sql.Identifier("commonlore", table), mine)).fetchone()
        states.append(str(row["state"] if row else None))
    return " ".join(states)


def _parameters(statement: str, population: Population, label: str) -> dict[str, Any]:
    """Team and epoch are always the open ones, as the transaction helper gives them; other ids follow the label."""
    ids = population.foreign if label == "foreign ids" else population.open
    values: dict[str, Any] = {}
    for match in _TYPED.finditer(statement):
        name, kind = match["name"], match["kind"] or "text"
        if kind == "timestamptz" and name not in ("now", "after_time") and label != "own ids in the past":
            values[name] = None
        else:
            values.setdefault(name, _parameter(name, kind, match["then"], population, ids))
    return values


def _parameter(name: str, kind: str, then: str | None, population: Population, ids: SampleSpace) -> Any:
    own, column = population.open, _COLUMN_OF.get(name, name.removesuffix("s"))
    every = (own, population.neighbour, population.foreign)
    fixed: dict[str, Any] = {
        "team_id": own.team_id,
        "space_epoch": own.space_epoch,
        "prefix": ids.prefix,
        "after_id": UUID(int=0),
        "after_time": datetime(2000, 1, 1, tzinfo=UTC),
    }
    if name in fixed:
        return fixed[name]
    if then == "jsonb" or kind in ("jsonb", "json"):
        return json.dumps([{**population.values, **{key: str(value) for key, value in space.ids.items()}} for space in every])
    by_kind: dict[str, Callable[[], Any]] = {
        "uuid": lambda: ids.id_of(name),
        "uuid[]": lambda: [space.id_of(column) for space in every],
        "text": lambda: str(population.values.get(name, name)),
        "text[]": lambda: [str(population.values.get(column, column))] * len(every),
        "timestamptz": lambda: _NOW,
        "halfvec": lambda: _VECTOR,
        "vector": lambda: _VECTOR,
        "halfvec[]": lambda: [_VECTOR] * len(every),
    }
    if kind in by_kind:
        return by_kind[kind]()
    if kind in ("int", "integer", "bigint", "smallint"):
        return 1000 if any(word in name for word in ("limit", "depth", "timeout", "budget", "count", "page", "batch")) else 1
    return [sample_value(kind.removesuffix("[]"))] * len(every) if kind.endswith("[]") else sample_value(kind)
