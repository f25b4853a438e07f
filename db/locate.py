"""Where the database is, and with which address each role reaches it.

    with open_database(settings, prepare=True) as database:
        make_pool(database.serving_conninfo, ...)

Embedded: the server is held for as long as the block lasts, and its database is `commonlore`. External:
`COMMONLORE_DATABASE_URL` is the administrator's address, and the roles' passwords stand in `roles.json` below the home
that prepared the database; `COMMONLORE_SERVING_URL` and `COMMONLORE_WORKER_URL` win over both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.errors import stating
from commonlore.db.migrate import current_revision, head_revision, upgrade
from commonlore.db.provision import provision, role_passwords
from commonlore.db.settings import Settings
from commonlore.domain.errors import OperatorError

DATABASE = "commonlore"


@dataclass(frozen=True, slots=True)
class Database:
    """The addresses of one database. They hold passwords: `repr` shows none, and none is ever logged.

    An address that this process does not know raises `OperatorError` `settings_invalid`, naming the setting to give.
    """

    embedded: bool
    admin: str | None = field(default=None, repr=False)
    migrator: str | None = field(default=None, repr=False)
    serving: str | None = field(default=None, repr=False)
    worker: str | None = field(default=None, repr=False)

    @property
    def admin_conninfo(self) -> str:
        """May create roles, databases and extensions."""
        return _known(self.admin, "COMMONLORE_DATABASE_URL")

    @property
    def owner_conninfo(self) -> str:
        """May become `commonlore_owner`: the migrator, or outside the administrator, whose password is given and never stale."""
        return _known(self.migrator if self.embedded else self.admin, "COMMONLORE_DATABASE_URL")

    @property
    def migrator_conninfo(self) -> str:
        return _known(self.migrator, "COMMONLORE_DATABASE_URL")

    @property
    def maintenance_conninfo(self) -> str | None:
        """May become the owner, for a worker that builds indexes; None where only the worker role's own address is known."""
        return self.migrator or self.admin

    @property
    def serving_conninfo(self) -> str:
        return _known(self.serving, "COMMONLORE_SERVING_URL")

    @property
    def worker_conninfo(self) -> str:
        return _known(self.worker, "COMMONLORE_WORKER_URL")


def _known(conninfo: str | None, setting: str) -> str:
    if conninfo is None:
        raise OperatorError("settings_invalid", f"{setting} is not set, and this home has not prepared the database with `commonlore migrate`")
    return conninfo


@contextmanager
def open_database(settings: Settings, *, prepare: bool = False) -> Iterator[Database]:
    """The database of `settings` for the length of the block.

    `prepare` makes roles, schemas and extension and migrates to this program's revision where the database is behind;
    against an external database it also sets the roles' passwords to those of this home.

    Raises:
        OperatorError: the embedded server cannot start, a migration fails, the server is too old.
        Unavailable: the database does not answer.
    """
    if settings.embedded:
        server = EmbeddedPostgres(settings.home, binaries=settings.pg_bin)
        server.start()
        try:
            with stating():
                _make_database(server.superuser_conninfo())
            passwords = role_passwords(settings.home)
            database = _with_roles(server.superuser_conninfo(DATABASE), passwords, embedded=True)
            if prepare:
                prepare_database(database, passwords)
            yield database
        finally:
            server.release()
    else:
        yield _external(settings, prepare=prepare)


def _external(settings: Settings, *, prepare: bool) -> Database:
    database = Database(embedded=False, admin=settings.database_url, serving=settings.serving_url, worker=settings.worker_url)
    if settings.database_url is None:
        if prepare:
            raise OperatorError("settings_invalid", "COMMONLORE_DATABASE_URL is needed to prepare the database")
        return database
    if prepare or (settings.home / "roles.json").exists():
        passwords = role_passwords(settings.home)
        database = _with_roles(settings.database_url, passwords, embedded=False, serving=settings.serving_url, worker=settings.worker_url)
        if prepare:
            prepare_database(database, passwords)
    return database


def _with_roles(admin: str, passwords: dict[str, str], *, embedded: bool, serving: str | None = None, worker: str | None = None) -> Database:
    def of(role: str) -> str:
        return make_conninfo(admin, user=role, password=passwords[role])

    return Database(
        embedded=embedded,
        admin=admin,
        migrator=of("commonlore_migrator"),
        serving=serving or of("commonlore_app"),
        worker=worker or of("commonlore_worker"),
    )


def prepare_database(database: Database, passwords: dict[str, str]) -> None:
    """Roles, schemas and extension, then the migrations that are missing. Alembic is imported only if there are any."""
    with stating():
        provision(database.admin_conninfo, passwords)
        if revision(database.admin_conninfo) != head_revision():
            upgrade(database.migrator_conninfo)


def revision(conninfo: str) -> str | None:
    """The revision of the database, or None before the first migration.

    Raises:
        Unavailable: the database does not answer.
    """
    with stating(), psycopg.connect(conninfo, autocommit=True) as connection:
        return current_revision(connection)


def require_migrated(conninfo: str) -> None:
    """
    Raises:
        OperatorError: `migration_needed`.
    """
    found, wanted = revision(conninfo), head_revision()
    if found != wanted:
        raise OperatorError("migration_needed", f"the database is at revision {found or 'none'}, this program needs {wanted}")


def _make_database(superuser_conninfo: str) -> None:
    with psycopg.connect(superuser_conninfo, autocommit=True) as connection:
        if connection.execute("select from pg_database where datname = %s::text", (DATABASE,)).fetchone() is None:
            try:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))
            except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                return  # another process was first
