"""What holds for every table, read from the catalogue, and the migrations that made it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from commonlore.db.migrate import head_revision, scripts, upgrade
from tests.support.databases import TestDatabase, clone, drop

GLOBAL_TABLES = {"alembic_version", "embedding_contract"}
# Unique by the nature of what it says, without a space: one key of a credential belongs to one request, wherever it went.
WITHOUT_EPOCH = {"submission_team_id_credential_id_idempotency_key_key", "submission_of_the_holder_once"}
# What nobody may rewrite: what was said, what was decided and when.
APPEND_ONLY = {
    "evidence",
    "evidence_occurrence",
    "evidence_source_revision",
    "evidence_lifecycle_event",
    "evidence_security_event",
    "evidence_part",
    "entity_resolution_event",
    "value_record",
    "predicate_definition",
    "predicate_registration_event",
    "relationship_observation",
    "verification_event",
    "relationship_support",
    "conflict_position",
    "conflict_member",
    "conflict_quote",
    "conflict_event",
    "delegated_brief_event",
    "delegated_summary",
    "hypothesis_source",
    "hypothesis_event",
    "support_decision_event",
    "relationship_transition_event",
    "space_epoch",
    "audit_entry",
    "audit_seal",
    "erasure_scope",
}


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture(scope="module")
def catalogue(shared: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(shared.admin_conninfo, autocommit=True) as connection:
        yield connection


def rows(connection: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_team_comes_first_in_every_primary_key(catalogue: psycopg.Connection) -> None:
    """And the space epoch second, where the table has one: rows of one space lie together, and can be distributed by team."""
    keys = rows(
        catalogue,
        "select c.relname, array_agg(a.attname::text order by k.place), bool_or(exists (select from pg_attribute e where e.attrelid = c.oid and e.attname = 'space_epoch')) "
        "from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace "
        "cross join unnest(i.indkey) with ordinality as k (number, place) join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number "
        "where n.nspname = 'commonlore' and i.indisprimary group by c.relname",
    )
    tenant = [(table, columns, has_epoch) for table, columns, has_epoch in keys if table not in GLOBAL_TABLES]

    assert len(tenant) > 25
    assert [] == [table for table, columns, _ in tenant if columns[0] != "team_id"]
    assert ["space"] == [table for table, columns, has_epoch in tenant if has_epoch and columns[1] != "space_epoch"]  # its epoch is a state of it


def test_every_table_has_a_primary_key(catalogue: psycopg.Connection) -> None:
    assert [] == rows(
        catalogue,
        "select relname from pg_class c where relnamespace = 'commonlore'::regnamespace and relkind = 'r' "
        "and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)",
    )


def test_every_unique_key_holds_the_team_and_the_epoch(catalogue: psycopg.Connection) -> None:
    """Two teams, or two lives of a space, can never meet in a key."""
    keys = rows(
        catalogue,
        "select i.indexrelid::regclass::text, c.relname, array_agg(a.attname::text), "
        "bool_or(exists (select from pg_attribute e where e.attrelid = c.oid and e.attname = 'space_epoch')) "
        "from pg_index i join pg_class c on c.oid = i.indrelid cross join unnest(i.indkey) as k (number) "
        "join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number "
        "where c.relnamespace = 'commonlore'::regnamespace and i.indisunique group by 1, 2",
    )
    tenant = [(name.removeprefix("commonlore."), set(columns), has_epoch) for name, table, columns, has_epoch in keys if table not in GLOBAL_TABLES]

    assert [] == [name for name, columns, _ in tenant if "team_id" not in columns]
    assert WITHOUT_EPOCH == {
        name for name, columns, has_epoch in tenant if has_epoch and "space_epoch" not in columns and not name.startswith(("space_", "space_epoch"))
    }


def test_every_foreign_key_holds_the_team_and_the_epoch_where_both_sides_have_it(catalogue: psycopg.Connection) -> None:
    """A row can point only at rows of its own team and of its own space."""
    keys = rows(
        catalogue,
        "select f.conname, f.conrelid::regclass::text, f.confrelid::regclass::text, "
        "array(select a.attname::text from unnest(f.conkey) k join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k), "
        "(select count(*) from pg_attribute e where e.attrelid in (f.conrelid, f.confrelid) and e.attname = 'space_epoch') = 2 "
        "from pg_constraint f where f.contype = 'f' and f.connamespace = 'commonlore'::regnamespace",
    )
    tenant = [key for key in keys if key[2].removeprefix("commonlore.") not in GLOBAL_TABLES]

    assert len(tenant) > 40
    assert [] == [name for name, _, _, columns, _ in tenant if "team_id" not in columns]
    assert [] == [
        (name, table)
        for name, table, target, columns, both in tenant
        if both and "space_epoch" not in columns and target.removeprefix("commonlore.") not in ("space", "space_epoch")
    ]


def test_times_have_a_zone_and_numbers_are_exact(catalogue: psycopg.Connection) -> None:
    """No naive time; no float but the confidence of a verdict; no text of fixed length; ids are uuids."""
    columns = rows(
        catalogue,
        "select table_name || '.' || column_name, data_type from information_schema.columns "
        "where table_schema = 'commonlore' and table_name <> 'alembic_version'",
    )

    assert [] == [name for name, kind in columns if kind in ("timestamp without time zone", "time with time zone", "time without time zone", "date")]
    assert ["verification_event.confidence"] == [name for name, kind in columns if kind in ("real", "double precision", "money", "numeric")]
    assert [] == [name for name, kind in columns if kind in ("character", "character varying", "json")]
    assert [] == [(name, kind) for name, kind in columns if name.endswith("_id") and kind not in ("uuid", "smallint")]


def test_what_was_said_and_decided_cannot_be_rewritten(catalogue: psycopg.Connection) -> None:
    """Neither the serving role nor a worker may update or delete it."""
    for role in ("commonlore_app", "commonlore_worker"):
        assert [] == [
            (role, table, right)
            for table in sorted(APPEND_ONLY)
            for right in ("UPDATE", "DELETE", "TRUNCATE")
            if rows(catalogue, f"select has_table_privilege('{role}', 'commonlore.{table}', '{right}')")[0][0]
        ]


# What each role may change of an erasure, a hold or a file: (serving, worker).
ERASURE_CHANGES = {
    "erasure": ({"state", "restored_at"}, {"state", "target_id", "finished_at", "receipt"}),
    "erasure_scope": (set(), {"steps_done"}),
    "erasure_count": (set(), {"row_count"}),
    "erasure_item": (set(), set()),
    "erasure_sample": (set(), set()),
    "legal_hold": ({"released_by", "released_at"}, set()),
    "export": ({"destroyed_at"}, set()),
}


def test_each_role_changes_of_an_erasure_what_is_its_part(catalogue: psycopg.Connection) -> None:
    """A worker neither begins one nor ends a team; who serves ends none; neither notes a file."""

    def changes(role: str, table: str) -> set[str]:
        found = rows(
            catalogue,
            f"select attname::text from pg_attribute where attrelid = 'commonlore.{table}'::regclass and attnum > 0"
            f" and has_column_privilege('commonlore_{role}', attrelid, attnum, 'update')",
        )
        return {name for (name,) in found}

    def may(role: str, right: str) -> set[str]:
        return {
            table
            for table in ERASURE_CHANGES
            if rows(catalogue, f"select has_table_privilege('commonlore_{role}', 'commonlore.{table}', '{right}')")[0][0]
        }

    assert {table: (changes("app", table), changes("worker", table)) for table in ERASURE_CHANGES} == ERASURE_CHANGES
    assert (set(), {"erasure_item", "erasure_sample"}) == (may("app", "delete"), may("worker", "delete"))
    assert {"erasure_scope", "erasure_count", "erasure_sample"} == may("worker", "insert")
    assert {"erasure", "erasure_scope", "erasure_item", "erasure_sample", "legal_hold"} == may("app", "insert")
    assert {"name", "purge_at"} == changes("worker", "team")


def test_every_event_table_is_on_the_list(catalogue: psycopg.Connection) -> None:
    """A new table of events is append-only, or this list says otherwise."""
    tables = rows(
        catalogue, "select relname from pg_class where relnamespace = 'commonlore'::regnamespace and relkind = 'r' and relname like '%event%'"
    )

    assert [] == [table for (table,) in tables if table not in APPEND_ONLY]


def test_no_serving_role_may_change_the_schema(catalogue: psycopg.Connection) -> None:
    for role in ("commonlore_app", "commonlore_worker"):
        assert [(False, False)] == rows(
            catalogue, f"select has_schema_privilege('{role}', 'commonlore', 'CREATE'), has_schema_privilege('{role}', 'public', 'CREATE')"
        )


# --- migrations


def test_there_is_one_line_of_revisions_and_its_head_is_found_by_name() -> None:
    """Two heads, or a head that the file names do not tell, stop every start."""
    config = Config()
    config.set_main_option("script_location", str(scripts()))
    directory = ScriptDirectory.from_config(config)

    assert [head_revision()] == directory.get_heads()
    assert [] == [revision.revision for revision in directory.walk_revisions() if revision.is_branch_point or revision.is_merge_point]


def test_migrations_wait_for_no_lock_for_long() -> None:
    assert re.search(r"set lock_timeout = '\d+s'", Path(scripts(), "env.py").read_text("utf-8"))


def test_a_second_upgrade_changes_nothing(shared: TestDatabase) -> None:
    assert [(head_revision(), head_revision())] * 2 == [upgrade(shared.migrator_conninfo) for _ in range(2)]


def test_a_database_of_a_newer_program_is_left_alone(template: str) -> None:
    database = clone(template)
    try:
        with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
            connection.execute("update commonlore.alembic_version set version_num = '9999'")
        with pytest.raises(Exception, match="newer than this program"):
            upgrade(database.migrator_conninfo)
    finally:
        drop(database.name)


def test_two_runners_at_once_migrate_once(template: str) -> None:
    """From an empty schema: one does the work, the other finds it done; neither fails."""
    database = clone(template)
    try:
        with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
            for (table,) in connection.execute(
                "select oid::regclass::text from pg_class where relnamespace = 'commonlore'::regnamespace and relkind = 'r'"
            ):
                connection.execute(f"drop table if exists {table} cascade".encode())
            for (function,) in connection.execute("select oid::regprocedure::text from pg_proc where pronamespace = 'commonlore'::regnamespace"):
                connection.execute(f"drop function if exists {function} cascade".encode())
            for (sequence,) in connection.execute(
                "select oid::regclass::text from pg_class where relnamespace = 'commonlore'::regnamespace and relkind = 'S'"
            ):
                connection.execute(f"drop sequence {sequence} cascade".encode())
            connection.execute("drop schema procrastinate cascade")
            connection.execute("create schema procrastinate authorization commonlore_owner")
        results: list[tuple[str | None, str]] = []
        runners = [threading.Thread(target=lambda: results.append(upgrade(database.migrator_conninfo))) for _ in range(3)]
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join(60)

        assert sorted([(None, head_revision()), *[(head_revision(), head_revision())] * 2], key=str) == sorted(results, key=str)
    finally:
        drop(database.name)
