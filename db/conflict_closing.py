"""A decision about a case as rows: the event, the case, the statements that end, and what it leaves open.

Whoever decides, a person or the review by a team's rules, ends here. The caller holds the ledger lock of the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from commonlore.db.communities import note_stale
from commonlore.db.conflicts import Write, close_case, review_scopes, write_events
from commonlore.db.hypotheses import note_changed
from commonlore.db.sql import statements
from commonlore.domain.conflict.resolution import Resolution
from commonlore.domain.conflict.result import EndedRelationship
from commonlore.domain.conflict.scope import ConflictScope
from commonlore.domain.ids import new_id

_SQL = statements("conflict")
_ROWS = statements("ledger_rows")


async def close_by_decision(
    write: Write, row: Mapping[str, Any], decision: Resolution, *, reason: str, closed_by: Literal["person", "policy"]
) -> tuple[list[EndedRelationship], list[UUID]]:
    """Close the case that `lock_case` returned; the statements that ended, and the cases that the rest of the scope opened."""
    conflict_id, version = row["conflict_id"], row["version"] + 1
    time = {"effective_at": decision.effective_at, "effective_time_basis": decision.effective_time_basis}
    event = {"action": decision.status, "reason": reason, "position_id": decision.preferred_position_id, **time}
    await write_events(write, conflict_id, [event], version=version, after=row["last_ordinal"])
    await close_case(
        write,
        conflict_id,
        decision.status,
        closed_by=closed_by,
        version=version,
        last_ordinal=row["last_ordinal"] + 1,
        preferred_position_id=decision.preferred_position_id,
        effective_at=decision.effective_at,
        effective_time_basis=decision.effective_time_basis,
    )
    ended = await _suppress(write, decision) if decision.losing else []
    opened: Sequence[UUID] = []
    if row["kind"] == "cross_profile_current_state":
        opened = await review_scopes(write.transaction, [scope_of(row)], profile_id=write.profile_id, now=write.now)
    return ended, list(opened)


def scope_of(row: Mapping[str, Any]) -> ConflictScope:
    """What a case of statements is about."""
    return ConflictScope(row["subject_entity_id"], row["predicate_key"], row["polarity"], row["scope_key"])


async def _suppress(write: Write, decision: Resolution) -> list[EndedRelationship]:
    """End the losing statements, each with a version and a transition; texts that no other path carries stop counting with them."""
    transaction, losing = write.transaction, list(decision.losing)
    cursor = await transaction.execute(
        _SQL["suppress"], relationship_ids=losing, event_ids=[new_id() for _ in losing], effective_at=decision.effective_at, now=write.now
    )
    ended = [EndedRelationship(relationship_id=row["relationship_id"], relationship_version=row["version"]) for row in await cursor.fetchall()]
    await transaction.execute(_ROWS["settle_eligibility"], relationship_ids=losing, now=write.now)
    await note_stale(transaction, losing, now=write.now)
    await note_changed(transaction, losing, now=write.now)
    return ended
