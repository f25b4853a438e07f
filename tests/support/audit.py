"""The audit log of a memory or service under test, read past the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from tests.support.databases import TestDatabase


@dataclass(frozen=True)
class Entry:
    act: str
    actor_kind: str
    profile_id: UUID | None
    credential_id: UUID | None
    subject_kind: str
    subject: str
    outcome: str
    code: str | None
    reason: str | None
    correlation: str


def entries(database: TestDatabase, team_id: UUID | None = None, **equal: Any) -> list[Entry]:
    """Entries in the order of their making, of one team or all, whose fields equal what is given."""
    with psycopg.connect(database.admin_conninfo, row_factory=class_row(Entry)) as connection:
        found = connection.execute(
            "select act, actor_kind, profile_id, credential_id, subject_kind, subject, outcome, code, reason, correlation "
            "from commonlore.audit_entry where coalesce(team_id = %s, true) order by entry_id",
            (team_id,),
        ).fetchall()
    return [entry for entry in found if all(getattr(entry, name) == value for name, value in equal.items())]
