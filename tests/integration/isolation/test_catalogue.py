"""The catalogue checks are green on the migrated schema and red for every lock that is taken away.

Each mutation lives in one transaction of a superuser and is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import DictRow, dict_row

from commonlore.db.isolation import Check, catalogue_checks, verify_live
from commonlore.db.isolation.catalogue import GLOBAL_TABLES, TEAM_TABLES, level, tenant_tables
from commonlore.db.migrate import scripts
from tests.support.databases import TestDatabase, clone, drop


def _isolated_tables() -> list[str]:
    """The tables that a migration isolates, read from the scripts so that tests can be parametrised without a database."""
    text = "\n".join(path.read_text("utf-8") for path in sorted(Path(scripts(), "versions").glob("*.py")))
    return re.findall(r"commonlore\.isolate\('commonlore\.(\w+)'", text)


TABLES = _isolated_tables()


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
def admin(shared: TestDatabase) -> Iterator[Connection[DictRow]]:
    """A superuser in a transaction that is rolled back."""
    with psycopg.connect(shared.admin_conninfo, row_factory=dict_row) as connection:
        yield connection
        connection.rollback()


def failures(connection: Connection[DictRow]) -> list[Check]:
    return [check for check in catalogue_checks(connection) if not check.passed]


def mutated(connection: Connection[DictRow], statement: str) -> list[tuple[str, str]]:
    connection.execute(statement.encode())
    return [(check.rule, check.subject) for check in failures(connection)]


def test_the_migrated_schema_passes_and_the_lists_are_complete(admin: Connection[DictRow], shared: TestDatabase) -> None:
    assert failures(admin) == []
    assert [check for check in verify_live(shared.serving_conninfo) if not check.passed] == []
    assert tenant_tables(admin) == sorted(TABLES)
    assert {table for table in TABLES if level(table) == "team"} == TEAM_TABLES
    assert not TEAM_TABLES & GLOBAL_TABLES.keys()


def test_the_live_proof_run_as_another_role_is_red(shared: TestDatabase) -> None:
    failed = [(check.rule, check.subject) for check in verify_live(shared.admin_conninfo) if not check.passed]

    assert [rule for rule, _ in failed] == ["the API logs in as the serving role"]


@pytest.mark.parametrize("table", TABLES)
def test_a_dropped_policy_is_red_and_named(admin: Connection[DictRow], table: str) -> None:
    rule = "the policy compares team and space" if level(table) == "space" else "the policy compares the team"

    assert mutated(admin, f"drop policy tenant on commonlore.{table}") == [(rule, table)]


@pytest.mark.parametrize("table", TABLES)
def test_disabled_row_security_is_red_and_named(admin: Connection[DictRow], table: str) -> None:
    assert mutated(admin, f"alter table commonlore.{table} disable row level security") == [("row security is enabled", table)]


@pytest.mark.parametrize("table", TABLES)
def test_row_security_not_forced_is_red_and_named(admin: Connection[DictRow], table: str) -> None:
    assert mutated(admin, f"alter table commonlore.{table} no force row level security") == [("row security is forced on the owner", table)]


_WEAK = {
    "using (true)": "using (true)",
    "with check (true)": "with check (true)",
    "team or unset": "using (team_id = nullif(current_setting('commonlore.team_id', true), '')::uuid "
    "or coalesce(current_setting('commonlore.team_id', true), '') = '')",
}


@pytest.mark.parametrize("weak", _WEAK.values(), ids=_WEAK)
@pytest.mark.parametrize("table", TABLES)
def test_a_weak_policy_is_red_and_named(admin: Connection[DictRow], table: str, weak: str) -> None:
    assert [subject for _, subject in mutated(admin, f"alter policy tenant on commonlore.{table} {weak}")] == [f"{table}.tenant"]


@pytest.mark.parametrize("table", [table for table in TABLES if level(table) == "space"])
def test_a_policy_that_forgets_the_space_is_red(admin: Connection[DictRow], table: str) -> None:
    team = "team_id = nullif(current_setting('commonlore.team_id', true), '')::uuid"

    failed = mutated(admin, f"alter policy tenant on commonlore.{table} using ({team}) with check ({team})")

    assert failed == [("the policy compares team and space", f"{table}.tenant")]


@pytest.mark.parametrize("table", TABLES)
def test_a_second_policy_is_red(admin: Connection[DictRow], table: str) -> None:
    failed = mutated(admin, f"create policy more on commonlore.{table} for select using (true)")

    assert failed == [("only listed policies exist", f"{table}.more")]


@pytest.mark.parametrize("table", TABLES)
def test_a_grant_that_row_security_does_not_bind_is_red(admin: Connection[DictRow], table: str) -> None:
    failed = mutated(admin, f"grant truncate on commonlore.{table} to commonlore_app; grant select on commonlore.{table} to public")

    assert ("no grant goes round row security", f"commonlore_app on commonlore.{table}") in failed
    assert ("PUBLIC is granted nothing", f"commonlore.{table}") in failed


def test_a_new_table_without_policy_is_red_and_named(admin: Connection[DictRow]) -> None:
    """B006: the table nobody thought of."""
    failed = mutated(admin, "create table commonlore.scratch_probe (team_id uuid, x int)")

    assert {subject for _, subject in failed} == {"scratch_probe"}
    assert {
        "row security is enabled",
        "row security is forced on the owner",
        "the policy compares team and space",
        "the primary key begins with the team",
        "a tenant table has its columns",
        "the owner role owns it",
    } == {rule for rule, _ in failed}


def test_an_unprotected_partition_is_red(admin: Connection[DictRow]) -> None:
    """B007: a leaf named directly is not bound by its parent's policy."""
    failed = mutated(
        admin,
        """
        create table commonlore.scratch_parent (team_id uuid, space_epoch bigint, primary key (team_id, space_epoch)) partition by list (team_id);
        create table commonlore.scratch_leaf partition of commonlore.scratch_parent default;
        select commonlore.isolate('commonlore.scratch_parent', 'space', 'none', 'none');
        alter table commonlore.scratch_parent owner to commonlore_owner;
        """,
    )

    assert {subject for _, subject in failed} == {"scratch_leaf"}


_OBJECTS = {
    "view": ("create view commonlore.leak as select * from commonlore.evidence", "a view reads as its caller", "commonlore.leak"),
    "view elsewhere": ("create view public.leak as select * from commonlore.evidence", "a view reads as its caller", "public.leak"),
    "materialized view": ("create materialized view commonlore.leak as select 1 as x", "a view reads as its caller", "commonlore.leak"),
    "definer function": (
        "create function commonlore.leak() returns bigint language sql security definer as 'select count(*) from commonlore.evidence'",
        "a definer function is listed, pinned and closed to PUBLIC",
        "commonlore.leak()",
    ),
    "definer function elsewhere": (
        "create function public.leak() returns bigint language sql security definer as 'select count(*) from commonlore.evidence'",
        "a definer function is listed, pinned and closed to PUBLIC",
        "public.leak()",
    ),
    "listed definer opened": (
        "grant execute on function commonlore.enqueue to public",
        "a definer function is listed, pinned and closed to PUBLIC",
        "commonlore.enqueue(uuid, text, text, integer, text, uuid, jsonb)",
    ),
    "listed definer unpinned": (
        "alter function commonlore.enqueue reset search_path",
        "a definer function is listed, pinned and closed to PUBLIC",
        "commonlore.enqueue(uuid, text, text, integer, text, uuid, jsonb)",
    ),
    "leakproof function": (
        "create function commonlore.leak(x text) returns boolean language plpgsql leakproof as 'begin raise notice ''%'', x; return true; end'",
        "no function of ours is marked leakproof",
        "commonlore.leak(text)",
    ),
    "bypass": ("alter role commonlore_app bypassrls", "a role cannot pass row security", "commonlore_app"),
    "superuser": ("alter role commonlore_worker superuser", "a role cannot pass row security", "commonlore_worker"),
    "owner bypass": ("alter role commonlore_owner bypassrls", "a role cannot pass row security", "commonlore_owner"),
    "member of the owner": ("grant commonlore_owner to commonlore_app", "a role is a member of no other", "commonlore_app"),
    "member through another": (
        "create role commonlore_middle; grant commonlore_owner to commonlore_middle; grant commonlore_middle to commonlore_worker",
        "a role is a member of no other",
        "commonlore_worker",
    ),
    "reads all data": ("grant pg_read_all_data to commonlore_app", "a role is a member of no other", "commonlore_app"),
    "foreign key without team": (
        "create unique index on commonlore.profile (profile_id); alter table commonlore.evidence add constraint loose "
        + "foreign key (owner_profile_id) references commonlore.profile (profile_id)",
        "a foreign key ties team and space",
        "evidence.loose",
    ),
    "foreign key without space": (
        "alter table commonlore.evidence add constraint whole unique (team_id, evidence_id); alter table commonlore.evidence_exclusion "
        + "add constraint loose foreign key (team_id, evidence_id) references commonlore.evidence (team_id, evidence_id)",
        "a foreign key ties team and space",
        "evidence_exclusion.loose",
    ),
    "unique key without team": (
        "create unique index loose on commonlore.evidence (content_sha256)",
        "a unique key contains the team",
        "evidence.loose",
    ),
    "unique key that only includes the team": (
        "create unique index loose on commonlore.evidence (content_sha256) include (team_id)",
        "a unique key contains the team",
        "evidence.loose",
    ),
    "primary key in another order": (
        "alter table commonlore.evidence_statistic drop constraint evidence_statistic_pkey, "
        + "add constraint evidence_statistic_pkey primary key (statistic_id, team_id, space_epoch)",
        "the primary key begins with the team",
        "evidence_statistic.evidence_statistic_pkey",
    ),
    "owned by the serving role": (
        "grant create on schema commonlore to commonlore_app; alter table commonlore.evidence owner to commonlore_app",
        "the owner role owns it",
        "evidence",
    ),
    "serving role may create": (
        "grant create on schema commonlore to commonlore_app",
        "no grant goes round row security",
        "commonlore_app on commonlore",
    ),
    "serving role reaches the queue": (
        "grant usage on schema procrastinate to commonlore_app",
        "no grant goes round row security",
        "commonlore_app on procrastinate",
    ),
    "column open to public": (
        "grant select (content) on commonlore.evidence to public",
        "PUBLIC is granted nothing",
        "commonlore.evidence.content",
    ),
    "team in a global table": (
        "alter table commonlore.embedding_contract add column team_id uuid",
        "a global table has no team",
        "embedding_contract",
    ),
    "listing policy opened to all": ("alter policy list_teams on commonlore.team to public", "the policy compares the team", "team.list_teams"),
}


@pytest.mark.parametrize(("statement", "rule", "subject"), _OBJECTS.values(), ids=_OBJECTS)
def test_an_object_that_opens_a_way_round_is_red_and_named(admin: Connection[DictRow], statement: str, rule: str, subject: str) -> None:
    assert (rule, subject) in mutated(admin, statement)


def test_a_view_that_reads_as_its_caller_is_allowed(admin: Connection[DictRow]) -> None:
    failed = mutated(
        admin,
        "create view commonlore.fine with (security_invoker = on) as select * from commonlore.evidence; "
        "alter view commonlore.fine owner to commonlore_owner",
    )

    assert failed == []
