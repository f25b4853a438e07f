"""SQLSTATE to a stated failure, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from commonlore.domain.errors import CommonloreError, Conflict, DeadlineExceeded, Fault, Unavailable

# A unique key that a caller can meet, by constraint name.
_CONFLICTS = {
    "profile_team_id_name_key": ("name_taken", "a member of this name exists already"),
    "promotion_once": ("commit_conflict", "another promotion of the same text came first; the request changed nothing"),
    "space_named_once": ("name_taken", "a space of this name exists already"),
    "submission_team_id_credential_id_idempotency_key_key": ("idempotency_conflict", "the idempotency key was used for another request"),
}
RETRYABLE = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)


def stated(error: psycopg.Error) -> CommonloreError:
    """The failure that a database error means to a caller. Nothing of the statement or of a row is in its message."""
    state = error.sqlstate or ""
    if state in ("57014", "55P03"):
        return DeadlineExceeded("request_timeout", "the database took longer than the request may") if state == "57014" else _busy()
    if state[:2] == "28":
        return Fault("internal_failure", "the database refuses this service's role or password; see `commonlore doctor`", details={"sqlstate": state})
    if state[:2] in ("08", "53", "57") or isinstance(error, (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed, psycopg.InterfaceError)):
        return _unreachable()
    if isinstance(error, psycopg.OperationalError) and not state:
        return _unreachable()
    if isinstance(error, RETRYABLE):
        return Conflict("commit_conflict", "another write came first; the request changed nothing", retry_after_s=1)
    if state == "23505" and (known := _CONFLICTS.get(error.diag.constraint_name or "")):
        return Conflict(known[0], known[1])
    return Fault("internal_failure", "the database refused a statement of this service", details={"sqlstate": state or "none"})


def _unreachable() -> CommonloreError:
    return Unavailable("database_unavailable", "the database does not answer", retry_after_s=2)


def _busy() -> CommonloreError:
    return Unavailable("overloaded", "the database is busy", retry_after_s=1)


@contextmanager
def stating() -> Iterator[None]:
    """Turns database errors inside the block into stated failures; the cause stays chained for the log."""
    try:
        yield
    except psycopg.Error as error:
        raise stated(error) from error
