"""Entries of the audit log, written by the transaction helper: the one place where every change of a team's rows ends.

Whoever serves a request says once which act it is, with `acting`. A transaction of a key's holder then writes its entries in
front of its COMMIT, in the same round trip; so does every transaction of the operator. One of a worker writes entries
where it noted what it decided (`TeamTransaction.noted`): what it derives is no act. A transaction that wrote nothing logs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from commonlore.db.sql import statements
from commonlore.domain.audit.act import Act, AuditOutcome, Subject
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import Actor

_SQL = statements("audit")


@dataclass(frozen=True, slots=True)
class Record:
    """An act as it ended, at `now`. `actor` is None for the operator and for workers. Without a subject it is an act on the team itself."""

    act: Act
    subjects: Sequence[Subject]
    now: datetime
    actor: Actor | None = None
    outcome: AuditOutcome = "done"
    code: str | None = None
    is_certain: bool = False


async def add_entries(connection: AsyncConnection[DictRow], team_id: UUID, record: Record) -> None:
    """One entry a subject in the open transaction, in their order; none where the transaction wrote nothing so far, unless the record is certain."""
    subjects = record.subjects or (Subject("team", str(team_id)),)
    parameters: dict[str, Any] = {
        "team_id": team_id,
        "entry_ids": sorted(new_id() for _ in subjects),
        "act": record.act.name,
        "actor_kind": "credential" if record.actor else record.act.actor_kind,
        "profile_id": record.actor.profile_id if record.actor else None,
        "credential_id": record.actor.credential_id if record.actor else None,
        "kinds": [item.kind for item in subjects],
        "subjects": [item.subject for item in subjects],
        "outcome": record.outcome,
        "code": record.code,
        "reason": record.act.reason,
        "correlation": record.act.correlation,
        "now": record.now,
        "always": record.is_certain,
    }
    await connection.execute(_SQL["add_entries"], parameters)
