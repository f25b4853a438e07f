"""Roles, schemas and the vector extension: what a superuser or database owner makes before the first migration.

Four roles: `commonlore_owner` owns every table and cannot log in; `commonlore_migrator` logs in and acts as the owner;
`commonlore_app` serves requests; `commonlore_worker` runs jobs. None is a superuser or passes row security.
Running it again changes nothing but the passwords it is given.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from commonlore.domain.errors import OperatorError

ROLES = ("commonlore_migrator", "commonlore_app", "commonlore_worker")
PROVISION_LOCK = 0x636F6D6D6F6E6C6F  # "commonlo"; one provisioning of a database at a time
_TRIES = 5


def role_passwords(home: Path) -> dict[str, str]:
    """Passwords of the three login roles, made on first use and kept in `roles.json` (0600) below `home`."""
    path = home / "roles.json"
    if path.exists():
        return {role: str(password) for role, password in json.loads(path.read_text("utf-8")).items()}
    home.mkdir(parents=True, exist_ok=True)
    passwords = {role: secrets.token_urlsafe(32) for role in ROLES}
    temporary = path.with_suffix(f".{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(passwords, file)
    try:
        os.link(temporary, path)  # fails where another process was first: then its passwords count
    except FileExistsError:
        return role_passwords(home)
    finally:
        temporary.unlink()
    return passwords


def provision(admin_conninfo: str, passwords: Mapping[str, str]) -> None:
    """Make or update roles, both schemas and the extension in the database of `admin_conninfo`.

    Raises:
        OperatorError: `database_too_old` below PostgreSQL 16 or pgvector 0.8.
    """
    with psycopg.connect(admin_conninfo, autocommit=True) as connection:
        if connection.info.server_version < 160000:
            raise OperatorError("database_too_old", f"the server is PostgreSQL {connection.info.server_version // 10000}; 16 or newer is needed")
        connection.execute("select pg_advisory_lock(%s::bigint)", (PROVISION_LOCK,))
        _settle(connection, passwords)


def _settle(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """Roles belong to the server and the advisory lock to one database: two databases provisioned at once may meet on a role."""
    for attempt in range(1, _TRIES + 1):
        try:
            with connection.transaction():
                _roles(connection, passwords)
                _schemas(connection)
            _search_path(connection)
        except (psycopg.errors.InternalError_, psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject):
            if attempt == _TRIES:
                raise
        else:
            return


def _roles(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    existing = {row[0] for row in connection.execute("select rolname from pg_roles where rolname like 'commonlore%'")}
    if "commonlore_owner" not in existing:
        connection.execute("create role commonlore_owner nologin nosuperuser nobypassrls nocreatedb nocreaterole")
    for role in ROLES:
        verb = "alter" if role in existing else "create"
        statement = sql.SQL("{} role {} login nosuperuser nobypassrls nocreatedb nocreaterole password {}")
        connection.execute(statement.format(sql.SQL(verb), sql.Identifier(role), sql.Literal(passwords[role])))
    connection.execute("grant commonlore_owner to commonlore_migrator")
    connection.execute("grant commonlore_owner to current_user")
    connection.execute("alter role commonlore_app set idle_in_transaction_session_timeout = '60s'")


def _schemas(connection: psycopg.Connection) -> None:
    connection.execute("create extension if not exists vector")
    row = connection.execute(
        "select extversion, string_to_array(extversion, '.')::int[] >= array[0, 8] from pg_extension where extname = 'vector'"
    ).fetchone()
    assert row is not None
    if not row[1]:
        raise OperatorError("database_too_old", f"pgvector is {row[0]}; 0.8 or newer is needed")
    for schema in ("commonlore", "procrastinate"):
        connection.execute(sql.SQL("create schema if not exists {} authorization commonlore_owner").format(sql.Identifier(schema)))
    connection.execute("grant usage on schema commonlore to commonlore_app, commonlore_worker")


def _search_path(connection: psycopg.Connection) -> None:
    """Each role finds the tables and the extension's types, whatever schema an administrator put the extension in."""
    row = connection.execute(
        "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"
    ).fetchone()
    assert row is not None
    database = sql.Identifier(connection.info.dbname)
    for role in (*ROLES, "commonlore_owner"):
        connection.execute(sql.SQL("grant usage on schema {} to {}").format(sql.Identifier(row[0]), sql.Identifier(role)))
        statement = sql.SQL("alter role {} in database {} set search_path = commonlore, {}")
        connection.execute(statement.format(sql.Identifier(role), database, sql.Identifier(row[0])))
