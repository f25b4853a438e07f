"""What a superuser sees of a database: how many rows each table has, and how everything is made."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.support.databases import TestDatabase

SCHEMAS = ["commonlore", "procrastinate"]


def admin(database: TestDatabase) -> psycopg.Connection:
    return psycopg.connect(database.admin_conninfo, autocommit=True, options="-c timezone=UTC")


def counts(database: TestDatabase) -> dict[str, int]:
    """Rows of every table of both schemas."""
    with admin(database) as connection:
        names = connection.execute(
            "select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = any(%s) and c.relkind in ('r', 'p') and c.relpersistence = 'p' and not c.relispartition order by 1",
            [SCHEMAS],
        ).fetchall()
        return {name: connection.execute(f"select count(*) from {name}".encode()).fetchone()[0] for (name,) in names}  # type: ignore[index]


def shape(database: TestDatabase) -> list[tuple[Any, ...]]:
    """Tables, columns, constraints, indexes, triggers, policies, functions, row security and grants of both schemas."""
    with admin(database) as connection:
        return connection.execute(
            """
            select 'table', c.oid::regclass::text, c.relrowsecurity::text, c.relforcerowsecurity::text, c.relacl::text
            from pg_class c where c.relnamespace = any(%(schemas)s::text[]::regnamespace[]) and c.relkind in ('r', 'p')
            union all
            select 'column', a.attrelid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod),
                   a.attnotnull || coalesce(a.attoptions::text, '') || coalesce(a.attacl::text, '')
            from pg_attribute a join pg_class c on c.oid = a.attrelid
            where c.relnamespace = any(%(schemas)s::text[]::regnamespace[]) and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
            union all
            select 'constraint', k.conrelid::regclass::text, k.conname, pg_get_constraintdef(k.oid), k.convalidated::text
            from pg_constraint k where k.connamespace = any(%(schemas)s::text[]::regnamespace[]) and k.contype <> 'n'
            union all
            select 'index', i.tablename, i.indexname, i.indexdef, null from pg_indexes i where i.schemaname = any(%(schemas)s::text[])
            union all
            select 'trigger', t.tgrelid::regclass::text, t.tgname, t.tgenabled::text, pg_get_triggerdef(t.oid)
            from pg_trigger t join pg_class c on c.oid = t.tgrelid
            where c.relnamespace = any(%(schemas)s::text[]::regnamespace[]) and not t.tgisinternal
            union all
            select 'policy', p.polrelid::regclass::text, p.polname, pg_get_expr(p.polqual, p.polrelid), p.polroles::text from pg_policy p
            union all
            select 'function', p.oid::regprocedure::text, md5(p.prosrc), p.proacl::text, p.prosecdef::text
            from pg_proc p where p.pronamespace = any(%(schemas)s::text[]::regnamespace[])
            order by 1, 2, 3, 4
            """,
            {"schemas": SCHEMAS},
        ).fetchall()
