"""The rows of a merge, a split and their reversal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.backlog import enqueue_embedding
from commonlore.db.changes import kept_generations, write_documents
from commonlore.db.conflicts import review_conflicts
from commonlore.db.rendering import rewrite
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.correct.identity import Held, Move, Plan, Standing
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.projection.posting import count_terms
from commonlore.domain.remember.changes import DocumentRow

_SQL = statements("identity")
_ROWS = statements("ledger_rows")


async def related_ids(transaction: TeamTransaction, entity_id: UUID) -> list[UUID]:
    """Canonical relationships that name the entity, by id."""
    rows = await (await transaction.execute(_SQL["related_ids"], entity_id=entity_id)).fetchall()
    return [row["relationship_id"] for row in rows]


async def meeting_ids(transaction: TeamTransaction, entity_id: UUID, relationship_ids: Sequence[UUID]) -> list[UUID]:
    """Canonical relationships of the entity that may meet one of the others when it comes to name the entity, by id."""
    cursor = await transaction.execute(_SQL["meeting_ids"], entity_id=entity_id, relationship_ids=list(relationship_ids))
    return [row["relationship_id"] for row in await cursor.fetchall()]


async def read_held(transaction: TeamTransaction, relationship_ids: Collection[UUID]) -> dict[UUID, Held]:
    """The relationships as they stand, locked."""
    if not relationship_ids:
        return {}
    rows = await (await transaction.execute(_SQL["read_held"], relationship_ids=sorted(set(relationship_ids)))).fetchall()
    return {row["relationship_id"]: _held(row) for row in rows}


def _held(row: dict[str, Any]) -> Held:
    shown = row["object_name"] or row["display"]
    if row["object_name"] is None and row["unit"] and row["unit"] not in row["display"]:
        shown = f"{row['display']} {row['unit']}"
    held = Held(
        relationship_id=row["relationship_id"],
        owner_profile_id=row["owner_profile_id"],
        statement=Statement(
            row["subject_entity_id"],
            row["predicate_key"],
            row["object_entity_id"],
            row["object_value_id"],
            row["polarity"],
            row["scope_key"],
            row["valid_from"],
        ),
        status=row["status"],
        version=row["version"],
        valid_to=row["valid_to"],
        known_from=row["known_from"],
        known_to=row["known_to"],
        relationship_kind=row["relationship_kind"],
        current_cardinality=row["current_cardinality"],
        predicate_version=row["predicate_version"],
        subject_name=row["subject_name"],
        object_name=shown,
        alias_of=row["identity_alias_of"],
    )
    for support_id, evidence_id, start, end, copied_from, decision, withdrawn, decided_at in row["supports"]:
        place, key = (UUID(evidence_id), start, end), UUID(support_id)
        held.decided_at[key] = datetime.fromisoformat(decided_at)
        held.all_supports.add(key)
        if copied_from is not None:
            held.copied_from[key] = UUID(copied_from)
        if decision == "revoke":
            held.revoked[place] = key
        elif withdrawn:
            held.withheld[place] = key
        else:
            held.supports[place] = key
    return held


async def write_plan(
    transaction: TeamTransaction, plan: Plan, correction_id: UUID, actor_profile_id: UUID | None, space_id: UUID, now: datetime
) -> None:
    """Sources first, so that no two rows hold one current place; then targets, supports, documents and what follows of them."""
    targets = {move.target.relationship_id: move.target for move in plan.moves}
    made = {move.target.relationship_id for move in plan.moves if move.created}
    before = {move.target.relationship_id: move.target_before[2] for move in plan.moves}
    sources = [_moved(move, now) for move in plan.moves]
    # A displaced row may be the target of a move as well; it is written once, as it stands in the end.
    ending = [_standing(held, status) for held, status, _ in plan.displaced if held.relationship_id not in targets]
    joined = [
        _standing(target, move.target_before[0])
        for key, target in targets.items()
        if key not in made
        for move in [next(item for item in plan.moves if item.target is target)]
    ]
    created = [target for key, target in targets.items() if key in made]
    await stand(transaction, [*sources, *ending, *(row for row in joined if row.status != "active")])
    await stand(transaction, [row for row in joined if row.status == "active"])
    if created:
        await transaction.execute(_SQL["add_relationships"], rows=_encoded([_row(item) for item in created]), now=now)
    await _point(transaction, plan.moves)
    transitions = [*(_transition(row, "identity_moved") for row in [*sources, *joined]), *(_transition(row, "replaced") for row in ending)]
    transitions += [{**_transition_fields(item.relationship_id, None, item.status, 1, "identity_moved")} for item in created]
    if transitions:
        await transaction.execute(_ROWS["transitions"], rows=_encoded(transitions), now=now)
    await _supports(transaction, plan.moves, now)
    await transaction.execute(_SQL["add_items"], correction_id=correction_id, rows=_encoded(_items(plan)))
    touched = [*targets, *(held.relationship_id for held, _, _ in plan.displaced), *(row.relationship_id for row in sources)]
    await settle_counts(transaction, touched, actor_profile_id, now)
    documents = [_document(item) for item in created]
    count = cache(count_terms)
    for generation in await kept_generations(transaction):
        await write_documents(transaction, generation, documents, {}, count)
    if documents:
        await enqueue_embedding(transaction, space_id)
    await rewrite(transaction, space_id, [key for key, target in targets.items() if key not in made and target.valid_to != before[key]])


async def write_standings(
    transaction: TeamTransaction, standings: Sequence[Standing], revoked: Sequence[tuple[UUID, UUID]], actor_profile_id: UUID | None, now: datetime
) -> None:
    """The rows of a reversal: copied supports revoked, then rows that end or become aliases, then those that begin again."""
    if revoked:
        rows = [_decision(support_id, owner, "revoke", "correction_reversed") for support_id, owner in revoked]
        await transaction.execute(_SQL["decide_supports"], rows=_encoded(rows), now=now)
    # A source has its place again only when its target has given it up, also where both stay as they are otherwise.
    await stand(transaction, [row for row in standings if row.alias_of is not None])
    await stand(transaction, [row for row in standings if row.alias_of is None and row.status != "active"])
    await stand(transaction, [row for row in standings if row.alias_of is None and row.status == "active"])
    transitions = [_transition(row, "correction_reversed") for row in standings]
    if transitions:
        await transaction.execute(_ROWS["transitions"], rows=_encoded(transitions), now=now)
    await settle_counts(transaction, [row.relationship_id for row in standings], actor_profile_id, now)


async def settle_counts(transaction: TeamTransaction, relationship_ids: Sequence[UUID], actor_profile_id: UUID | None, now: datetime) -> None:
    """Counts from the events, the eligibility of the texts, and the conflict cases that follow."""
    if not relationship_ids:
        return
    ids = sorted(set(relationship_ids))
    await transaction.execute(_ROWS["recount"], relationship_ids=ids)
    await transaction.execute(_ROWS["settle_eligibility"], relationship_ids=ids, now=now)
    await review_conflicts(transaction, ids, profile_id=actor_profile_id, now=now)


async def stand(transaction: TeamTransaction, rows: Sequence[Standing]) -> None:
    if rows:
        await transaction.execute(_SQL["stand"], rows=_encoded(rows))


async def _point(transaction: TeamTransaction, moves: Sequence[Move]) -> None:
    """The sources stand for their targets, which are there by now."""
    rows = [msgspec.to_builtins(_pointed(move)) for move in moves]
    if rows:
        await transaction.execute(_SQL["stand"], rows=_encoded(rows))


def _pointed(move: Move) -> Standing:
    source = move.source
    return Standing(
        source.relationship_id, source.status, source.status, source.version, source.valid_to, source.known_to, move.target.relationship_id
    )


def _moved(move: Move, now: datetime) -> Standing:
    """An active source ends, since another row says it now; whatever else it is it stays. It gives its identity up to no one yet."""
    source = move.source
    before = source.status
    if source.status == "active":
        source.status, source.known_to = "superseded", now
    source.version += 1
    return Standing(source.relationship_id, before, source.status, source.version, source.valid_to, source.known_to, None)


def _standing(held: Held, before: str) -> Standing:
    held.version += 1
    return Standing(held.relationship_id, before, held.status, held.version, held.valid_to, held.known_to, None)


def _transition(row: Standing, reason: str) -> dict[str, Any]:
    return _transition_fields(row.relationship_id, row.from_status, row.status, row.version, reason)


def _transition_fields(relationship_id: UUID, before: str | None, after: str, version: int, reason: str) -> dict[str, Any]:
    return {
        "event_id": new_id(),
        "relationship_id": relationship_id,
        "from_status": before,
        "to_status": after,
        "version": version,
        "reason": reason,
        "verification_event_id": None,
    }


def _row(item: Held) -> dict[str, Any]:
    statement = item.statement
    return {
        "relationship_id": item.relationship_id,
        "owner_profile_id": item.owner_profile_id,
        "semantic_group_key": statement.semantic_group_key,
        "subject_entity_id": statement.subject_entity_id,
        "predicate_key": statement.predicate_key,
        "predicate_version": item.predicate_version,
        "object_entity_id": statement.object_entity_id,
        "object_value_id": statement.object_value_id,
        "relationship_kind": item.relationship_kind,
        "current_cardinality": item.current_cardinality,
        "status": item.status,
        "polarity": statement.polarity,
        "scope_key": statement.scope_key,
        "valid_from": statement.valid_from,
        "valid_to": item.valid_to,
        "support_count": len(item.supports),
        "known_to": item.known_to,
    }


async def _supports(transaction: TeamTransaction, moves: Sequence[Move], now: datetime) -> None:
    copied = [
        {
            "support_id": support_id,
            "event_id": new_id(),
            "relationship_id": move.target.relationship_id,
            "copied_from": source_id,
            "owner_profile_id": move.target.owner_profile_id,
        }
        for move in moves
        for support_id, source_id in move.copied
    ]
    if copied:
        await transaction.execute(_SQL["copy_supports"], rows=_encoded(copied), now=now)
    reinstated = [
        _decision(support_id, move.target.owner_profile_id, "reinstate", "identity_moved") for move in moves for support_id in move.reinstated
    ]
    if reinstated:
        await transaction.execute(_SQL["decide_supports"], rows=_encoded(reinstated), now=now)


def _decision(support_id: UUID, owner_profile_id: UUID, decision: str, reason: str) -> dict[str, Any]:
    return {"event_id": new_id(), "support_id": support_id, "decision": decision, "reason": reason, "owner_profile_id": owner_profile_id}


def _items(plan: Plan) -> list[dict[str, Any]]:
    moved = [
        {
            "relationship_id": move.source.relationship_id,
            "effect": "repointed" if move.created else "joined",
            "target_id": move.target.relationship_id,
            "status_before": move.status_before,
            "known_to_before": move.known_to_before,
            "target_status_before": move.target_before[0],
            "target_known_to_before": move.target_before[1],
            "target_valid_to_before": move.target_before[2],
            "target_status_after": move.target.status,
        }
        for move in plan.moves
    ]
    displaced = [
        {"relationship_id": held.relationship_id, "effect": "displaced", "status_before": status, "known_to_before": known_to}
        for held, status, known_to in plan.displaced
        if not any(held is move.target for move in plan.moves)
    ]
    return [*moved, *displaced]


def _document(item: Held) -> DocumentRow:
    statement = item.statement
    text = render(
        RelationshipWording(
            subject=item.subject_name,
            predicate=statement.predicate_key.replace("_", " "),
            object=item.object_name,
            polarity=statement.polarity,
            scope=statement.scope_key,
            valid_from=statement.valid_from,
            valid_to=item.valid_to,
        )
    )
    return DocumentRow(relationship_id=item.relationship_id, source_version=1, document_text=text, replaces=None)


def _encoded(rows: Sequence[Any]) -> str:
    return msgspec.json.encode(rows).decode()
