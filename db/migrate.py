"""Run the shipped Alembic scripts from wherever the package is installed. Forward only."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg

from commonlore.domain.errors import OperatorError

MIGRATION_LOCK = 0x636F6D6D6F6E6C6D  # "commonlm"; one migration of a database at a time


def scripts() -> Path:
    """Folder that holds env.py: `alembic/` beside `db/`, both in a checkout and in a wheel."""
    return Path(__file__).resolve().parent.parent / "alembic"


def shipped_revisions() -> list[str]:
    """Every shipped revision in order, read from the file names, so that a start need not import Alembic (1.2 s)."""
    return sorted(path.name[:4] for path in (scripts() / "versions").iterdir() if re.fullmatch(r"\d{4}_[a-z0-9_]+\.py", path.name))


def head_revision() -> str:
    """The newest shipped revision."""
    return shipped_revisions()[-1]


def current_revision(connection: psycopg.Connection) -> str | None:
    """The revision that the database is at, or None before the first migration."""
    row = connection.execute("select to_regclass('commonlore.alembic_version') is not null").fetchone()
    if not (row and row[0]):
        return None
    found = connection.execute("select version_num from commonlore.alembic_version").fetchone()
    return str(found[0]) if found else None


def upgrade(migrator_conninfo: str, *, to: str | None = None) -> tuple[str | None, str]:
    """Bring the database to `head_revision()`, or to an earlier one; returns the revisions before and after.

    Acts as `commonlore_owner`. Each migration is one transaction with a lock timeout of 5 s; a second runner waits for
    the first and then finds nothing to do. The lock ends with its connection, so a killed runner leaves none.

    Raises:
        OperatorError: `migration_failed`, with the database's own message.
    """
    head = to or head_revision()
    with psycopg.connect(migrator_conninfo, autocommit=True) as lock:
        lock.execute("select pg_advisory_lock(%s::bigint)", (MIGRATION_LOCK,))
        before = current_revision(lock)
        if before is not None and before > head:
            raise OperatorError("migration_failed", f"the database is at revision {before}, newer than this program ({head}); update the program")
        if before != head:
            _run_alembic(migrator_conninfo, head)
    return before, head


def _run_alembic(migrator_conninfo: str, revision: str) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, pool
    from sqlalchemy.exc import SQLAlchemyError

    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(migrator_conninfo), poolclass=pool.NullPool)
    config = Config()
    config.set_main_option("script_location", str(scripts()))
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("set role commonlore_owner")
            connection.commit()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    except SQLAlchemyError as error:
        raise OperatorError("migration_failed", str(error.__cause__ or error).splitlines()[0]) from error
