"""The registry of predicates in an open space."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledger
from commonlore.domain.correct.vocabulary import DefinePredicateRequest, next_definition
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.predicate import Predicate

_SQL = statements("vocabulary")
_MOST = 10_000
_MOST_SHOWN = 100


async def list_predicates(transaction: TeamTransaction, *, after_key: str, limit: int) -> tuple[list[Predicate], str | None]:
    """Newest definitions by key, and the key to go on after where more follow."""
    rows = await (await transaction.execute(_SQL["definitions"], after_key=after_key, most=limit + 1)).fetchall()
    found = [_predicate(row) for row in rows[:limit]]
    return found, found[-1].key if len(rows) > limit else None


async def define_predicate(
    transaction: TeamTransaction, request: DefinePredicateRequest, *, actor_profile_id: UUID | None, now: datetime
) -> tuple[Predicate, list[dict[str, Any]]]:
    """Store the next version; also the scopes that hold several current statements where the cardinality is one now, at most 100.

    No relationship is changed by it: those are candidates for a person.

    Raises:
        Incorrect, Conflict: as `next_definition`.
    """
    now = await lock_ledger(transaction, now)
    registered, _ = await list_predicates(transaction, after_key="", limit=_MOST)
    made = next_definition(request, {item.key: item for item in registered})
    await transaction.execute(
        _SQL["define"],
        key=made.key,
        version=made.version,
        aliases=list(made.aliases),
        subject_kinds=list(made.subject_kinds),
        object_kinds=list(made.object_kinds),
        relationship_kind=made.relationship_kind,
        current_cardinality=made.current_cardinality,
        lifecycle_state=made.lifecycle_state,
        event_id=new_id(),
        actor_profile_id=actor_profile_id,
        reason=request.reason,
        now=now,
    )
    if made.current_cardinality != "one":
        return made, []
    return made, await (await transaction.execute(_SQL["several_current"], key=made.key, most=_MOST_SHOWN)).fetchall()


def _predicate(row: dict[str, Any]) -> Predicate:
    return Predicate(
        key=row["predicate_key"],
        version=row["version"],
        aliases=tuple(row["aliases"]),
        subject_kinds=tuple(row["subject_kinds"]),
        object_kinds=tuple(row["object_kinds"]),
        relationship_kind=row["relationship_kind"],
        current_cardinality=row["current_cardinality"],
        lifecycle_state=row["lifecycle_state"],
    )
