"""What `commonlore doctor` reads of a running database: versions, roles, revision, contract, backlog and queue. Nothing is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.locate import DATABASE
from commonlore.db.migrate import current_revision
from commonlore.db.settings import Settings

_OPTIONS = "-c default_transaction_read_only=on -c statement_timeout=5000 -c lock_timeout=1000"
_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class Addresses:
    """How this process could reach a database that runs, without starting or holding anything. `repr` would show passwords."""

    admin: str | None
    serving: str | None
    worker: str | None

    def __repr__(self) -> str:
        return "Addresses()"


@dataclass(frozen=True, slots=True)
class Jobs:
    """The queue by state, and when the oldest job that waits was due to run; who reports, and why jobs are dead.

    `workers` is None where this role may not see them; `reasons` are the commonest first.
    """

    todo: int
    doing: int
    failed: int
    oldest_todo: datetime | None
    workers: int | None = None
    last_report: datetime | None = None
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """What one database says of itself. None: this role may not see it, or the database is not migrated."""

    server_version: int
    vector_version: str | None
    revision: str | None
    contract_key: str | None
    pending_vectors: int | None
    failed_vectors: int | None
    jobs: Jobs | None

    @property
    def vector_release(self) -> tuple[int, ...]:
        return tuple(int(part) for part in (self.vector_version or "").split(".") if part.isdigit())


def addresses(settings: Settings) -> Addresses:
    """From the settings and, for an embedded database that runs, from its files.

    Raises:
        OperatorError: `embedded_start_failed`, the superuser's password cannot be read.
    """
    passwords = _passwords(settings.home)
    admin = settings.database_url
    if settings.embedded:
        server = EmbeddedPostgres(settings.home, binaries=settings.pg_bin)
        admin = server.superuser_conninfo(DATABASE) if server.status().running else None

    def of(role: str) -> str | None:
        return make_conninfo(admin, user=role, password=passwords[role]) if admin is not None and role in passwords else None

    return Addresses(admin, settings.serving_url or of("commonlore_app"), settings.worker_url or of("commonlore_worker"))


def _passwords(home: Path) -> dict[str, str]:
    try:
        return {str(role): str(password) for role, password in json.loads((home / "roles.json").read_text("utf-8")).items()}
    except (OSError, ValueError):
        return {}


def _connect(conninfo: str) -> psycopg.Connection:
    return psycopg.connect(make_conninfo(conninfo, connect_timeout=_TIMEOUT_S, options=_OPTIONS), autocommit=True)


def is_unsafe(conninfo: str) -> bool:
    """Whether the role could pass row security: a superuser, BYPASSRLS, or a member of the owner.

    Raises:
        psycopg.Error: the database does not answer, or refuses the role.
    """
    with _connect(conninfo) as connection:
        row = connection.execute(
            "select r.rolsuper or r.rolbypassrls or coalesce(pg_has_role(r.oid, o.oid, 'member'), false)"
            " from pg_roles r left join pg_roles o on o.rolname = 'commonlore_owner' where r.rolname = current_user"
        ).fetchone()
    return row is None or bool(row[0])


def read_contents(conninfo: str) -> Contents:
    """
    Raises:
        psycopg.Error: the database does not answer, or does not exist.
    """
    with _connect(conninfo) as connection:
        vector = connection.execute("select extversion from pg_extension where extname = 'vector'").fetchone()
        try:
            revision = current_revision(connection)
        except psycopg.errors.InsufficientPrivilege:
            revision = None
        pending, failed = _backlog(connection) if revision else (None, None)
        return Contents(
            server_version=connection.info.server_version,
            vector_version=vector[0] if vector else None,
            revision=revision,
            contract_key=_contract(connection) if revision else None,
            pending_vectors=pending,
            failed_vectors=failed,
            jobs=_jobs(connection) if revision else None,
        )


def _contract(connection: psycopg.Connection) -> str | None:
    row = connection.execute("select contract_key from commonlore.embedding_contract where lifecycle_state = 'served'").fetchone()
    return str(row[0]) if row else None


def _backlog(connection: psycopg.Connection) -> tuple[int | None, int | None]:
    """Counted over all teams, so only by a role that no policy binds."""
    bound = connection.execute("select not (rolsuper or rolbypassrls) from pg_roles where rolname = current_user").fetchone()
    if bound is None or bound[0]:
        return None, None
    row = connection.execute(
        "select count(*) filter (where search_state = 'pending'), count(*) filter (where search_state = 'failed')"
        " from (select search_state from commonlore.evidence_embedding_backlog"
        "       union all select search_state from commonlore.relationship_document where search_state in ('pending', 'failed')) w"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _jobs(connection: psycopg.Connection) -> Jobs | None:
    try:
        row = connection.execute(
            "select count(*) filter (where j.status = 'todo'), count(*) filter (where j.status = 'doing'), count(*) filter (where j.status = 'failed'),"
            " (select min(coalesce(t.scheduled_at, e.at)) from procrastinate.procrastinate_jobs t"
            "  join procrastinate.procrastinate_events e on e.job_id = t.id"
            "  where t.status = 'todo' and e.type = 'deferred' and coalesce(t.scheduled_at <= now(), true)),"
            " (select count(*) from procrastinate.procrastinate_workers w where w.last_heartbeat > now() - interval '60 seconds'),"
            " (select max(w.last_heartbeat) from procrastinate.procrastinate_workers w)"
            " from procrastinate.procrastinate_jobs j"
        ).fetchone()
        reasons = connection.execute(
            "select r.reason, count(*) from commonlore.job r where r.state = 'dead' group by r.reason order by count(*) desc, r.reason limit 5"
        ).fetchall()
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable):
        return None
    assert row is not None
    todo, doing, failed, oldest, workers, reported = row
    return Jobs(todo, doing, failed, oldest, workers, reported, tuple((str(reason), int(number)) for reason, number in reasons))
