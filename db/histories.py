"""Relationships with everything that happened to them, for the reasons of a trace, read inside an open transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.domain.recall.eligibility import RelationshipHistory
from commonlore.domain.recall.plan import QueryVector, RecallIntent, SpacePlan
from commonlore.domain.tenancy.actor import Space

_SQL = statements("explain")


async def matching_histories(
    transaction: TeamTransaction, intent: RecallIntent, space_plan: SpacePlan, embedded: QueryVector, *, known: Collection[UUID], most: int
) -> list[RelationshipHistory]:
    """Of a space, what matches the words or the meaning of a query and is not among `known`; at most twice `most`, by id."""
    await transaction.enter(space_plan.space.space_id)
    weights = space_plan.relationship_lexical.weights.terms if space_plan.relationship_lexical else ()
    vector = as_halfvec(embedded.vector) if embedded.vector is not None and space_plan.relationship_vector else None
    parameters = {"terms": list(weights), "generation": space_plan.generation, "vector": vector, "most": most}
    cursor = await transaction.execute(of_contract(_SQL["matching"], space_plan.contract_id), **parameters)
    ids = sorted({row["relationship_id"] for row in await cursor.fetchall()} - set(known))
    return await read_histories(transaction, space_plan.space, ids, entity_ids=intent.expand_from_entity_ids)


async def read_histories(
    transaction: TeamTransaction, space: Space, relationship_ids: Sequence[UUID], *, entity_ids: Sequence[UUID] = ()
) -> list[RelationshipHistory]:
    """By id; with `entity_ids` only those that touch one of the entities."""
    await transaction.enter(space.space_id)
    cursor = await transaction.execute(_SQL["histories"], relationship_ids=list(relationship_ids), entity_ids=list(entity_ids))
    return [msgspec.convert(row, RelationshipHistory, strict=False) for row in await cursor.fetchall()]
