"""The findings of `commonlore doctor` about the inside of a database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg

from commonlore.api.cli.contract import configured
from commonlore.api.cli.finding import Finding
from commonlore.db.inspection import Addresses, Contents, Jobs, is_unsafe
from commonlore.db.migrate import head_revision
from commonlore.domain.errors import CommonloreError

_OLD_JOB = timedelta(minutes=5)
_MIGRATE = "Run `commonlore migrate`."


def contents_findings(contents: Contents) -> Iterator[Finding]:
    yield from _versions(contents)
    yield _revision(contents.revision)
    if contents.revision is None:
        return
    yield _contract(contents.contract_key)
    yield from _backlog(contents)
    if contents.jobs is not None:
        yield _queue(contents.jobs)
        if contents.jobs.workers is not None:
            yield _workers(contents.jobs.workers, contents.jobs.last_report)


def _contract(served: str | None) -> Finding:
    """Whether this environment has an embedder of the contract whose vectors are searched."""
    try:
        known = configured()
    except CommonloreError as error:
        return Finding("embedding contract", "fail", error.message, "Correct the file of embedders.")
    if served in known:
        return Finding("embedding contract", "ok", served or "")
    found = f"the vectors are of {served or 'no contract'}, this program makes {', '.join(known)}"
    return Finding("embedding contract", "fail", found, "Start with the model that the database's vectors were made with.")


def _versions(contents: Contents) -> Iterator[Finding]:
    major = contents.server_version // 10000
    text = f"PostgreSQL {major}.{contents.server_version % 10000}, pgvector {contents.vector_version or 'not installed'}"
    if major < 16:
        yield Finding("database", "fail", text, "Use PostgreSQL 16 or newer.")
    elif contents.vector_version is None:
        yield Finding("database", "fail", text, f"{_MIGRATE} It needs the pgvector package on the database's machine.")
    elif contents.vector_release < (0, 8):
        yield Finding("database", "fail", text, "Update pgvector to 0.8 or newer: alter extension vector update.")
    else:
        yield Finding("database", "ok", text)


def _revision(found: str | None) -> Finding:
    head = head_revision()
    if found == head:
        return Finding("migrations", "ok", f"revision {found}")
    if found is not None and found > head:
        return Finding("migrations", "fail", f"the database is at {found}, newer than this program ({head})", "Update the program.")
    return Finding("migrations", "fail", f"the database is at revision {found or 'none'}, this program needs {head}", _MIGRATE)


def _backlog(contents: Contents) -> Iterator[Finding]:
    if contents.pending_vectors is None:
        yield Finding("vectors", "ok", "the backlog is not counted: this role sees no team's rows, as it should")
    elif contents.failed_vectors:
        found = f"{contents.failed_vectors} texts failed for good, {contents.pending_vectors} wait"
        yield Finding("vectors", "warn", found, "They are found by their words alone; the worker's log says why they failed.")
    else:
        yield Finding("vectors", "ok", f"{contents.pending_vectors} texts wait for a worker")


def _queue(jobs: Jobs) -> Finding:
    text = f"{jobs.todo} to do, {jobs.doing} running, {jobs.failed} dead"
    waits = datetime.now(UTC) - jobs.oldest_todo if jobs.oldest_todo else timedelta()
    if waits > _OLD_JOB:
        return Finding(
            "jobs", "warn", f"{text}; the oldest waits for {int(waits.total_seconds() // 60)} minutes", "Start a worker: `commonlore worker`."
        )
    if jobs.failed:
        why = ", ".join(f"{number} {reason}" for reason, number in jobs.reasons)
        advice = (
            "`commonlore jobs list --state dead` shows them, `commonlore jobs retry` queues one anew; docs/reference/jobs.md explains the reasons."
        )
        return Finding("jobs", "warn", f"{text} ({why})" if why else text, advice)
    return Finding("jobs", "ok", text)


def _workers(workers: int, last_report: datetime | None) -> Finding:
    if workers:
        return Finding("workers", "ok", f"{workers} report")
    if last_report is None:
        found = "no worker reports"
    else:
        found = f"no worker has reported for {int((datetime.now(UTC) - last_report).total_seconds() // 60)} minutes"
    return Finding(
        "workers", "warn", found, "Start one: `commonlore up` has one, `commonlore worker` is one. Until then nothing that can wait is done."
    )


def role_findings(addresses: Addresses) -> Iterator[Finding]:
    """The serving and the worker role must be bound by every policy."""
    for name, conninfo, setting in (("serving role", addresses.serving, "SERVING"), ("worker role", addresses.worker, "WORKER")):
        if conninfo is None:
            yield Finding(name, "warn", "its address is not known here", f"Set COMMONLORE_{setting}_URL, or run `commonlore migrate` with this home.")
            continue
        try:
            unsafe = is_unsafe(conninfo)
        except psycopg.OperationalError:
            yield Finding(name, "fail", "the database refuses it", "Run `commonlore migrate`; it sets the roles' passwords to those of this home.")
            continue
        if unsafe:
            advice = f"Let COMMONLORE_{setting}_URL name the role that `commonlore migrate` makes."
            yield Finding(name, "fail", "it could pass row security: a superuser, BYPASSRLS or a member of the owner", advice)
        else:
            yield Finding(name, "ok", "bound by every policy")
