"""Settling relationships inside an open write: lock, read what the events say, write the changes.

The evidence's exclusions and the supports' decisions are written before; `settle` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.conflicts import review_conflicts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.settlement import Cause, Settled, Touched, settle_all
from commonlore.domain.remember.changes import RelationshipChange, TransitionRow

_SQL = statements("settlement")
_ROWS = statements("ledger_rows")


async def settle(
    transaction: TeamTransaction,
    *,
    cause: Cause,
    now: datetime,
    actor_profile_id: UUID | None,
    relationship_ids: Collection[UUID] = (),
    evidence_ids: Collection[UUID] = (),
) -> list[Settled]:
    """Bring relationships in step with their events: those named and those that the evidence supports; the changes, by id.

    The caller holds the ledger lock of the open space, which gave it `now`. Locks the rows by id; conflict cases follow. A second call with
    nothing in between changes nothing.
    Their documents keep text, postings and vectors, so that views of the past can search them (decisions.md 11).
    """
    touched = set(relationship_ids)
    if evidence_ids:
        cursor = await transaction.execute(_SQL["relationships_of"], evidence_ids=sorted(evidence_ids))
        touched |= {row["relationship_id"] for row in await cursor.fetchall()}
    if not touched:
        return []
    ids = sorted(touched)
    await transaction.execute(_SQL["lock_touched"], relationship_ids=ids)
    rows = await (await transaction.execute(_SQL["read_touched"], relationship_ids=ids)).fetchall()
    changes = settle_all([_touched(row) for row in rows], cause=cause, actor_profile_id=actor_profile_id, now=now)
    await _write(transaction, changes, ids, now)
    await review_conflicts(transaction, ids, profile_id=actor_profile_id, now=now)
    return changes


async def _write(transaction: TeamTransaction, changes: Sequence[Settled], ids: Sequence[UUID], now: datetime) -> None:
    """Rows that end before rows that begin, so that the one-current rule holds at each step."""
    async with transaction.connection.pipeline():
        for ending in (True, False):
            rows = [_row(change) for change in changes if (change.status != "active") == ending]
            if rows:
                await transaction.execute(_ROWS["changed"], rows=_encoded(rows))
                await transaction.execute(_ROWS["recount"], relationship_ids=[row.relationship_id for row in rows])
        if changes:
            await transaction.execute(_ROWS["transitions"], rows=_encoded([_transition(change) for change in changes]), now=now)
        await transaction.execute(_ROWS["settle_eligibility"], relationship_ids=ids, now=now)


async def relationships_by_evidence(
    transaction: TeamTransaction, evidence_ids: Collection[UUID], relationship_ids: Collection[UUID]
) -> dict[UUID, set[UUID]]:
    """Which of the relationships each of the evidence has a support path to."""
    found: dict[UUID, set[UUID]] = {key: set() for key in evidence_ids}
    cursor = await transaction.execute(_SQL["evidence_of"], evidence_ids=sorted(evidence_ids), relationship_ids=sorted(relationship_ids))
    for row in await cursor.fetchall():
        found[row["evidence_id"]].add(row["relationship_id"])
    return found


async def revoke_supports(
    transaction: TeamTransaction, evidence_ids: Collection[UUID], *, reason: str, actor_profile_id: UUID, now: datetime
) -> None:
    """Decide against every granted support of the evidence, whoever the author of its relationship. The ledger lock is held."""
    ids = sorted(evidence_ids)
    row = await (await transaction.execute(_SQL["count_supports"], evidence_ids=ids)).fetchone()
    assert row is not None
    event_ids = [new_id() for _ in range(row["supports"])]
    await transaction.execute(
        _SQL["revoke_supports"], evidence_ids=ids, event_ids=event_ids, reason=reason, actor_profile_id=actor_profile_id, now=now
    )


def _encoded(rows: Sequence[msgspec.Struct]) -> str:
    return msgspec.json.encode(rows).decode()


def _touched(row: dict[str, Any]) -> Touched:
    return Touched(
        relationship_id=row["relationship_id"],
        owner_profile_id=row["owner_profile_id"],
        scope=(row["owner_profile_id"], row["subject_entity_id"], row["predicate_key"], row["polarity"], row["valid_from"], row["scope_key"]),
        current_cardinality=row["current_cardinality"],
        status=row["status"],
        version=row["version"],
        valid_to=row["valid_to"],
        known_to=row["known_to"],
        support_count=row["support_count"],
        source_group_count=row["source_group_count"],
        effective=row["effective"],
        effective_groups=row["effective_groups"],
        stated_at=row["stated_at"],
        has_current_sibling=row["has_current_sibling"],
        is_alias=row["is_alias"],
    )


def _row(change: Settled) -> RelationshipChange:
    return RelationshipChange(
        relationship_id=change.relationship_id, status=change.status, valid_to=change.valid_to, version=change.version, known_to=change.known_to
    )


def _transition(change: Settled) -> TransitionRow:
    return TransitionRow(
        event_id=new_id(),
        relationship_id=change.relationship_id,
        from_status=change.from_status,
        to_status=change.status,
        version=change.version,
        reason=change.reason,
        verification_event_id=None,
    )
