"""`TraceSnapshot` over PostgreSQL: one READ ONLY, REPEATABLE READ transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from commonlore.db.conflict_views import cases_of_relationship
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.sql import statements
from commonlore.domain.conflict.view import CaseRow
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock
from commonlore.domain.trace.cursor import Place
from commonlore.domain.trace.graph import Edge, Node

_SQL = statements("trace")
_BEGINNING = Place(datetime.min.replace(tzinfo=UTC), UUID(int=0))


@asynccontextmanager
async def trace_snapshot(pool: Pool, key: PresentedKey, *, clock: Clock, timeout_ms: int) -> AsyncIterator[PostgresTraceSnapshot]:
    """One state of the database for the holder of a key.

    Raises:
        Unauthenticated: the key is not valid.
    """
    async with actor_transaction(pool, key, clock=clock, timeout_ms=timeout_ms, snapshot=True) as (actor, transaction):
        yield PostgresTraceSnapshot(actor, transaction)


class PostgresTraceSnapshot:
    """`TraceSnapshot` inside one transaction."""

    def __init__(self, actor: Actor, transaction: TeamTransaction) -> None:
        self.actor = actor
        self._transaction = transaction

    async def find(self, relationship_id: UUID) -> tuple[Space, dict[str, Any]] | None:
        for space in self.actor.spaces:
            async with self._transaction.connection.pipeline():
                await self._transaction.enter(space.space_id)
                cursor = await self._transaction.execute(_SQL["relationship"], relationship_id=relationship_id)
                row = await cursor.fetchone()
            if row is not None:
                return space, row
        return None

    async def read_sections(self, relationship: dict[str, Any], after: dict[str, Place | None], *, page: int) -> dict[str, list[dict[str, Any]]]:
        common = {
            "relationship_id": relationship["relationship_id"],
            "semantic_group_key": relationship["semantic_group_key"],
            "page": page,
        }
        async with self._transaction.connection.pipeline():
            cursors = {}
            for name, place in after.items():
                start = place or _BEGINNING
                cursors[name] = await self._transaction.execute(_SQL[name], **common, after_time=start.known_from, after_id=start.id)
            return {name: await cursor.fetchall() for name, cursor in cursors.items()}

    async def read_evidence(self, evidence_ids: Sequence[UUID]) -> list[dict[str, Any]]:
        if not evidence_ids:
            return []
        return await (await self._transaction.execute(_SQL["evidence"], evidence_ids=list(evidence_ids))).fetchall()

    async def read_documents(self, relationship_id: UUID) -> list[dict[str, Any]]:
        return await (await self._transaction.execute(_SQL["search_documents"], relationship_id=relationship_id)).fetchall()

    async def read_conflicts(self, space: Space, relationship_id: UUID, *, most: int) -> list[CaseRow]:
        return await cases_of_relationship(self._transaction, space, relationship_id, most=most)

    async def read_neighbours(
        self, entity_ids: Sequence[UUID], *, seen: Sequence[UUID], predicate_keys: Sequence[str], depth: int, limit: int
    ) -> list[Edge]:
        cursor = await self._transaction.execute(
            _SQL["neighbours"], entity_ids=list(entity_ids), seen_ids=list(seen), predicate_keys=list(predicate_keys), depth=limit
        )
        return [_edge(row, depth) for row in await cursor.fetchall()]


def _edge(row: dict[str, Any], depth: int) -> Edge:
    subject = Node(row["subject_entity_id"], row["subject_name"], row["subject_kind"])
    if row["object_entity_id"] is not None:
        target = Node(row["object_entity_id"], row["object_name"], row["object_kind"])
    else:
        target = Node(row["object_value_id"], row["value_display"], "value")
    return Edge(row["relationship_id"], subject, row["predicate_key"], target, row["polarity"], depth)
