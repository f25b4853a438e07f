"""The proof by trying is green on the migrated schema, and each of its parts is red when its lock is taken away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import DictRow, dict_row

from commonlore.db.isolation import Check, locks, verify_scratch
from commonlore.db.isolation import statements as plans
from commonlore.db.isolation.attempts import attempt_checks, enter
from commonlore.db.isolation.catalogue import SPACE_CONDITION, TEAM_CONDITION, level
from commonlore.db.isolation.population import Population, populate
from commonlore.db.isolation.scratch import connect
from commonlore.db.isolation.statements import named_statements, statement_checks, unlocked, without_predicates
from commonlore.domain.errors import OperatorError
from tests.integration.isolation.test_catalogue import TABLES
from tests.support.databases import TestDatabase, clone, drop

SPACE_TABLES = [table for table in TABLES if level(table) == "space"]


@dataclass
class Scratch:
    admin: Connection[DictRow]
    app: Connection[DictRow]
    worker: Connection[DictRow]
    population: Population

    def failures(self, *tables: str) -> list[Check]:
        checks = [
            *attempt_checks(self.admin, self.app, "commonlore_app", self.population, only=tables),
            *attempt_checks(self.admin, self.worker, "commonlore_worker", self.population, only=tables),
        ]
        return [check for check in checks if not check.passed]


@pytest.fixture(scope="module")
def scratch(template: str) -> Iterator[Scratch]:
    """A filled database. A mutation is committed, because the roles have connections of their own, and is undone by its test."""
    made = clone(template)
    with connect(made.admin_conninfo) as admin, connect(made.serving_conninfo) as app, connect(made.worker_conninfo) as worker:
        population = populate(admin)
        admin.execute("analyze")
        yield Scratch(admin, app, worker, population)
    drop(made.name)


def test_the_whole_proof_passes_on_a_new_database(database: TestDatabase) -> None:
    checks = verify_scratch(database.admin_conninfo, database.serving_conninfo, database.worker_conninfo)

    assert [check for check in checks if not check.passed] == []
    assert {check.subject for check in checks if check.rule.startswith("commonlore_app: one space")} == set(TABLES)


def test_the_proof_refuses_a_database_that_holds_a_team(scratch: Scratch, database: TestDatabase) -> None:
    with psycopg.connect(database.admin_conninfo, autocommit=True, row_factory=dict_row) as admin:
        populate(admin)

    with pytest.raises(OperatorError):
        verify_scratch(database.admin_conninfo, database.serving_conninfo, database.worker_conninfo)


@pytest.mark.parametrize("table", TABLES)
def test_without_row_security_a_table_fails_by_trying(scratch: Scratch, table: str) -> None:
    scratch.admin.execute(f"alter table commonlore.{table} disable row level security".encode())
    try:
        rules = {check.rule for check in scratch.failures(table)}
    finally:
        scratch.admin.execute(f"alter table commonlore.{table} enable row level security".encode())

    assert "commonlore_app: an unset or odd context shows nothing" in rules
    assert "commonlore_app: one space shows its own rows, all of them and no other" in rules
    assert "commonlore_worker: one space shows its own rows, all of them and no other" in rules or table == "team"
    assert scratch.failures(table) == []


@pytest.mark.parametrize("table", SPACE_TABLES)
def test_a_policy_on_the_team_alone_fails_by_trying(scratch: Scratch, table: str) -> None:
    scratch.admin.execute(f"alter policy tenant on commonlore.{table} using {TEAM_CONDITION} with check {TEAM_CONDITION}".encode())
    try:
        rules = {check.rule for check in scratch.failures(table)}
    finally:
        scratch.admin.execute(f"alter policy tenant on commonlore.{table} using {SPACE_CONDITION} with check {SPACE_CONDITION}".encode())

    assert "commonlore_app: one space shows its own rows, all of them and no other" in rules
    assert "commonlore_app: an unset or odd context shows nothing" in rules


@pytest.mark.parametrize("table", TABLES)
def test_an_open_write_check_fails_by_trying_where_a_role_may_insert(scratch: Scratch, table: str) -> None:
    granted = scratch.admin.execute(
        "select has_table_privilege('commonlore_app', %(name)s::text, 'insert') or has_table_privilege('commonlore_worker', %(name)s::text, 'insert') as yes",
        {"name": f"commonlore.{table}"},
    ).fetchone()
    condition = SPACE_CONDITION if level(table) == "space" else TEAM_CONDITION
    scratch.admin.execute(f"alter policy tenant on commonlore.{table} with check (true)".encode())
    try:
        rules = {check.rule.split(": ")[1] for check in scratch.failures(table)}
    finally:
        scratch.admin.execute(f"alter policy tenant on commonlore.{table} with check {condition}".encode())

    assert granted is not None
    may_write = bool(granted["yes"]) or table == "projection_generation"  # the worker may update it
    expected = {"rows of another space can be neither made, changed, moved nor removed"} if may_write else set()
    assert rules - {"without context nothing can be inserted"} == expected


def _insert_refused(scratch: Scratch, table: str, row: str) -> str | None:
    """The SQLSTATE with which the serving role's insert into its own space is refused."""
    try:
        with scratch.app.transaction(force_rollback=True):
            enter(scratch.app, scratch.population.open)
            scratch.app.execute(f"insert into commonlore.{table} select (%(row)s::commonlore.{table}).*", {"row": row})
    except psycopg.Error as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize("child", ["evidence_part", "relationship_observation", "relationship_support"])
def test_a_child_of_a_foreign_parent_is_refused_like_a_child_of_none(scratch: Scratch, child: str) -> None:
    """B010: the foreign key is no oracle for ids of another team or space."""
    own = scratch.population.open
    states = {}
    for label, other in (("foreign", scratch.population.foreign), ("neighbour", scratch.population.neighbour), ("none", None)):
        row = scratch.admin.execute(
            f"select (jsonb_populate_record(t, %(change)s::jsonb))::text as row from commonlore.{child} t where team_id = %(team)s and space_epoch = %(epoch)s",
            {
                "change": json.dumps(
                    {
                        "team_id": str(own.team_id),
                        "space_epoch": own.space_epoch,
                        "reason": "another",
                        "part_no": 7,
                        "observation_id": str(uuid4()),
                        "support_id": str(uuid4()),
                        "span_start": 7,
                        **({"evidence_id": str(uuid4()), "submission_id": str(uuid4()), "relationship_id": str(uuid4())} if other is None else {}),
                    }
                ),
                "team": (other or own).team_id,
                "epoch": (other or own).space_epoch,
            },
        ).fetchone()
        assert row is not None
        states[label] = _insert_refused(scratch, child, row["row"])

    assert set(states.values()) == {"23503"}


def test_a_bypassing_grant_fails_by_trying(scratch: Scratch) -> None:
    """What `grant ... bypassrls` would do: the role reads past every policy."""
    tables = ("evidence", "credential")
    with scratch.admin.transaction(force_rollback=True):
        scratch.admin.execute("set local role commonlore_app")
        hidden = scratch.admin.execute("select count(*) as n from commonlore.evidence").fetchone()
    with scratch.admin.transaction(force_rollback=True):
        scratch.admin.execute("alter role commonlore_app bypassrls")
        scratch.admin.execute("set local role commonlore_app")
        shown = scratch.admin.execute("select count(*) as n from commonlore.evidence").fetchone()

    assert (hidden, shown) == ({"n": 0}, {"n": 6})
    assert scratch.failures(*tables) == []


# -- statements


def test_every_named_statement_restricts_every_tenant_table_it_touches(scratch: Scratch) -> None:
    assert [check for check in statement_checks(scratch.admin) if not check.passed] == []


@pytest.mark.parametrize(("subject", "name", "statement"), [s for s in named_statements() if "-- tenant" in s[2]], ids=lambda value: str(value)[:40])
def test_a_statement_without_its_marked_predicates_is_red(scratch: Scratch, subject: str, name: str, statement: str) -> None:
    assert unlocked(scratch.admin, statement) == []
    assert unlocked(scratch.admin, without_predicates(statement)) != []


_BAD = {
    "no predicate": "select evidence_id from commonlore.evidence e where e.speaker = %(speaker)s::text",
    "team only": "select evidence_id from commonlore.evidence e where e.team_id = %(team_id)s::uuid -- tenant",
    "one side of a join": "select e.evidence_id from commonlore.evidence e cross join commonlore.entity n "
    "where e.team_id = %(team_id)s::uuid and e.space_epoch = %(space_epoch)s::bigint -- tenant",
    "inside a subquery": "select (select count(*) from commonlore.credential) from commonlore.team t where t.team_id = %(team_id)s::uuid -- tenant",
    "unequal": "select 1 from commonlore.team t where t.team_id <> %(team_id)s::uuid -- tenant",
    "one side of an or": "select 1 from commonlore.team t where t.name = %(name)s::text or t.team_id = %(team_id)s::uuid -- tenant",
    "an or among ands": "select 1 from commonlore.team t where t.retired_at is null and (t.name like 'a%%' or t.team_id = %(team_id)s::uuid) -- tenant",
    "any of several": "select 1 from commonlore.team t where t.team_id = any(%(team_ids)s::uuid[]) -- tenant",
    "itself": "select 1 from commonlore.team t where t.team_id = t.team_id -- tenant",
    "update": "update commonlore.evidence_exclusion set reason = 'x' where evidence_id = %(id)s::uuid",
    "delete": "delete from commonlore.evidence_exclusion where team_id = %(team_id)s::uuid -- tenant",
    "insert without epoch": "insert into commonlore.evidence_statistic (team_id, statistic_id, parts, length) "
    "values (%(team_id)s::uuid, %(id)s::uuid, 1, 1)",
}


@pytest.mark.parametrize("statement", _BAD.values(), ids=_BAD)
def test_a_statement_that_leaves_a_table_open_is_red(scratch: Scratch, statement: str) -> None:
    assert unlocked(scratch.admin, statement) != []


def test_a_join_on_the_team_carries_the_predicate_over(scratch: Scratch) -> None:
    statement = "select p.name from commonlore.credential c join commonlore.profile p using (team_id, profile_id) where c.team_id = %(team_id)s::uuid"

    assert unlocked(scratch.admin, statement) == []


def _some() -> list[tuple[str, str, str]]:
    """Every third statement: what one lock lets through without the other is to be seen in many, not in each."""
    return list(named_statements())[::3]


def test_with_the_policies_gone_the_policies_alone_do_not_isolate(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "named_statements", lambda: iter(_some()))
    for table in TABLES:
        scratch.admin.execute(f"alter table commonlore.{table} disable row level security".encode())
    try:
        failed = [check for check in locks.lock_checks(scratch.admin, scratch.population) if not check.passed]
    finally:
        for table in TABLES:
            scratch.admin.execute(f"alter table commonlore.{table} enable row level security".encode())

    assert len(failed) >= 15
    assert {check.rule for check in failed} == {"policies alone isolate a statement"}


def test_with_the_predicates_gone_the_predicates_alone_do_not_isolate(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """B018: and row security alone still does."""
    stripped = [
        (subject, name, without_predicates(statement) + "\n-- tenant predicates removed") if "-- tenant" in statement else (subject, name, statement)
        for subject, name, statement in named_statements()
    ]
    monkeypatch.setattr(locks, "named_statements", lambda: iter(stripped[::3]))
    monkeypatch.setattr(plans, "named_statements", lambda: iter(stripped))

    failed = [check for check in locks.lock_checks(scratch.admin, scratch.population) if not check.passed]
    unrestricted = [
        check for check in statement_checks(scratch.admin) if check.rule == "a statement restricts every tenant table" and not check.passed
    ]

    assert len(failed) >= 15
    assert {check.rule for check in failed} == {"predicates alone isolate a statement"}
    assert len(unrestricted) >= 25
