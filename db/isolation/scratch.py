"""The proof by trying, in a database of its own: what each role can do, and what one lock alone still holds."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from commonlore.db.errors import stating
from commonlore.db.isolation.attempts import attempt_checks
from commonlore.db.isolation.catalogue import catalogue_checks
from commonlore.db.isolation.locks import lock_checks
from commonlore.db.isolation.population import populate
from commonlore.db.isolation.report import Check
from commonlore.db.isolation.statements import statement_checks
from commonlore.db.migrate import upgrade
from commonlore.db.provision import PROVISION_LOCK, provision
from commonlore.domain.errors import OperatorError


def connect(conninfo: str) -> Connection[DictRow]:
    """An autocommit connection with dict rows."""
    return psycopg.connect(conninfo, autocommit=True, row_factory=dict_row)


@contextmanager
def scratch_database(admin_conninfo: str, passwords: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A new migrated database on the same server, dropped afterwards: conninfos of the administrator, app and worker.

    `passwords` are those the roles have: provisioning sets them again, so others would shut out the running service.

    Raises:
        OperatorError: the administrator is no superuser, a role has another password, or a migration fails.
    """
    name = f"commonlore_scratch_{os.getpid()}_{secrets.token_hex(4)}"
    with stating(), connect(admin_conninfo) as server:
        row = server.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
        if not (row and row["rolsuper"]):
            raise OperatorError("role_unsafe", "a scratch proof sets policies aside and needs a superuser; without one, only the live checks can run")
        _require_present_passwords(server, admin_conninfo, passwords)
        server.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            admin = make_conninfo(admin_conninfo, dbname=name)
            # An advisory lock belongs to one database, roles to the server: take the lock of the database that stays.
            server.execute("select pg_advisory_lock(%(lock)s::bigint)", {"lock": PROVISION_LOCK})
            provision(admin, passwords)
            server.execute("select pg_advisory_unlock(%(lock)s::bigint)", {"lock": PROVISION_LOCK})
            migrator, app, worker = (
                make_conninfo(admin, user=role, password=passwords[role]) for role in ("commonlore_migrator", "commonlore_app", "commonlore_worker")
            )
            upgrade(migrator)
            yield admin, app, worker
        finally:
            server.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def _require_present_passwords(server: Connection[DictRow], admin_conninfo: str, passwords: Mapping[str, str]) -> None:
    for row in server.execute("select rolname from pg_roles where rolname = any(%(roles)s::text[])", {"roles": list(passwords)}).fetchall():
        try:
            psycopg.connect(make_conninfo(admin_conninfo, user=row["rolname"], password=passwords[row["rolname"]])).close()
        except psycopg.OperationalError as error:
            raise OperatorError("settings_invalid", f"roles.json of this home does not have the password of {row['rolname']}") from error


def verify_scratch(admin_conninfo: str, app_conninfo: str, worker_conninfo: str) -> list[Check]:
    """Every check there is, in a database that holds no team; it is filled and its CHECK constraints are dropped.

    Raises:
        OperatorError: the database holds a team.
        Unavailable: the database does not answer.
    """
    with stating(), connect(admin_conninfo) as admin:
        row = admin.execute("select exists (select from commonlore.team) as used").fetchone()
        if row and row["used"]:
            raise OperatorError("settings_invalid", "this database holds a team; a scratch proof fills and alters the database it runs in")
        checks = catalogue_checks(admin)
        population = populate(admin)
        admin.execute("analyze")
        for role, conninfo in (("commonlore_app", app_conninfo), ("commonlore_worker", worker_conninfo)):
            with connect(conninfo) as connection:
                checks += attempt_checks(admin, connection, role, population)
        checks += statement_checks(admin)
        checks += lock_checks(admin, population)
    return checks
