"""`RecallSnapshot` over PostgreSQL: one READ ONLY, REPEATABLE READ transaction, pipelined, one space open at a time.

When a statement of a branch fails, the transaction is taken back to where the search began and every branch is tried
alone: a private space, a vector branch or the relationship lane may then be missing and is stated; the evidence of the
team's shared space may not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
from psycopg import AsyncCursor
from psycopg.rows import DictRow, TupleRow

from commonlore.db.errors import stated
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.sql import statements
from commonlore.db.vectors import as_halfvec
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.context import part_numbers
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.lexical import LexicalStatistics
from commonlore.domain.recall.plan import GenerationState, LexicalPlan, QueryVector, RecallIntent, RetrievalPlan, SpacePlan, SpaceStatistics
from commonlore.domain.recall.result import EntityRef, EvidenceRow, PartText, RelationshipRow, SupportPath, ValueRef
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, KnownCoverage, RelationshipBranches
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock, TemporalView

# Parts a vector branch looks at for each evidence it returns: a long text may hold several of the nearest parts.
PARTS_PER_EVIDENCE = 2


def _complete(subject: str, **fragments: str) -> dict[str, LiteralString]:
    """The statements of a subject with the one condition of eligibility, and other fragments, put in place."""
    pieces = {"{eligible}": statements("hydrate")["relationship_eligible"], **{"{" + name + "}": text for name, text in fragments.items()}}
    complete: dict[str, LiteralString] = {}
    for name, text in statements(subject).items():
        for place, piece in pieces.items():
            text = text.replace(place, piece)
        complete[name] = text
    return complete


FRONTIER = _complete("frontier", gate=statements("frontier")["evidence_gate"])
# The same without a gate that could refuse nothing: it would cost a tenth of the search.
OPEN_FRONTIER = _complete("frontier", gate="true")
HYDRATE = _complete("hydrate")


@asynccontextmanager
async def recall_snapshot(pool: Pool, key: PresentedKey, *, clock: Clock, timeout_ms: int) -> AsyncIterator[PostgresRecallSnapshot]:
    """One state of the database for the holder of a key.

    Raises:
        Unauthenticated: the key is not valid.
    """
    async with actor_transaction(pool, key, clock=clock, timeout_ms=timeout_ms, snapshot=True) as (actor, transaction):
        yield PostgresRecallSnapshot(actor, transaction)


class PostgresRecallSnapshot:
    """`RecallSnapshot` inside one transaction."""

    def __init__(self, actor: Actor, transaction: TeamTransaction) -> None:
        self.actor = actor
        self._transaction = transaction
        self._generation = 1

    async def read_statistics(self, intent: RecallIntent) -> list[tuple[Space, SpaceStatistics]]:
        async with self._transaction.connection.pipeline():
            cursors = []
            for space in self.actor.spaces_to_read:
                await self._transaction.enter(space.space_id)
                cursors.append((space, await self._transaction.execute(FRONTIER["read_statistics"], terms=list(intent.terms))))
            await self._transaction.connection.execute("savepoint branches")
            found = [(space, _statistics(await _one(cursor))) for space, cursor in cursors]
        self._generation = found[0][1].generation if found else 1
        return found

    async def fetch(self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int) -> dict[UUID, Fetched]:
        if not plan.spaces:
            return {}
        try:
            async with self._transaction.connection.pipeline():
                lexical = [await self._ask_lexical(plan, space_plan, depth) for space_plan in plan.spaces]
                embedded = (await vector).under(plan.contract_key)
                near = [await self._ask_vector(plan, space_plan, embedded, depth) for space_plan in plan.spaces]
                return {
                    space_plan.space.space_id: Fetched(
                        await _evidence(space_plan, lexical[place][0], near[place][0], depth),
                        await _relationships(lexical[place][1], near[place][1], depth),
                    )
                    for place, space_plan in enumerate(plan.spaces)
                }
        except psycopg.Error as error:
            if self._transaction.connection.closed or error.sqlstate == "57014":
                raise
            await self._transaction.connection.execute("rollback to savepoint branches")
            self._transaction.forget_space()
        embedded = (await vector).under(plan.contract_key)
        return {space_plan.space.space_id: await self._fetch_alone(plan, space_plan, embedded, depth) for space_plan in plan.spaces}

    async def _fetch_alone(self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int) -> Fetched:
        """Each branch under its own savepoint; see the module for what may be missing."""
        is_private = space_plan.space.public_kind == "private"
        await self._transaction.enter(space_plan.space.space_id)
        lexical = await self._alone(self._evidence_lexical(plan, space_plan, depth), required=not is_private)
        near = await self._alone(self._evidence_vector(plan, space_plan, embedded, depth), required=False)
        words = await self._alone(self._relationship_lexical(plan, space_plan, depth), required=False)
        meaning = await self._alone(self._relationship_vector(plan, space_plan, embedded, depth), required=False)
        evidence = None
        if lexical is not None:
            hits = await _evidence(space_plan, lexical, near or [], depth)
            evidence = EvidenceBranches(hits.lexical, hits.vector, hits.full, vector_failed=near is None)
        relationships = RelationshipBranches(failed=True)
        if words is not None and meaning is not None:
            relationships = await _relationships(words, meaning, depth)
        return Fetched(evidence, relationships)

    async def _alone(self, asking: Awaitable[AsyncCursor[TupleRow] | None], *, required: bool) -> list[TupleRow] | None:
        connection = self._transaction.connection
        await connection.execute("savepoint branch")
        try:
            cursor = await asking
            return await cursor.fetchall() if cursor is not None else []
        except psycopg.Error as error:
            if required or connection.closed or error.sqlstate == "57014":
                raise stated(error) from error
            await connection.execute("rollback to savepoint branch")
            self._transaction.forget_space()
            return None

    async def _ask_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> tuple[Rows, Rows]:
        await self._transaction.enter(space_plan.space.space_id)
        return await self._evidence_lexical(plan, space_plan, depth), await self._relationship_lexical(plan, space_plan, depth)

    async def _ask_vector(self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int) -> tuple[Rows, Rows]:
        if embedded.vector is None:
            return None, None
        await self._transaction.enter(space_plan.space.space_id)
        return await self._evidence_vector(plan, space_plan, embedded, depth), await self._relationship_vector(plan, space_plan, embedded, depth)

    async def _evidence_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> AsyncCursor[TupleRow] | None:
        lexical = space_plan.evidence_lexical
        if not lexical.weights.terms:
            return None
        return await self._ask(
            _frontier(plan, space_plan)["evidence_lexical"],
            **_bm25(lexical, plan.policy),
            known_evidence_ids=list(plan.intent.known_evidence_ids),
            present=plan.intent.view.is_present,
            depth=depth,
        )

    async def _evidence_vector(self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int) -> AsyncCursor[TupleRow] | None:
        if embedded.vector is None:
            return None
        return await self._ask(
            _frontier(plan, space_plan)["evidence_vector"],
            vector=as_halfvec(embedded.vector),
            known_evidence_ids=list(plan.intent.known_evidence_ids),
            present=plan.intent.view.is_present,
            part_depth=depth * PARTS_PER_EVIDENCE,
            depth=depth,
        )

    async def _ask(self, statement: LiteralString, **parameters: object) -> AsyncCursor[TupleRow]:
        """Plain tuples: a branch has hundreds of rows, and each is read once."""
        return await self._transaction.execute_tuples(statement, **parameters)

    async def _relationship_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> AsyncCursor[TupleRow] | None:
        lexical = space_plan.relationship_lexical
        if lexical is None or not lexical.weights.terms:
            return None
        return await self._ask(
            FRONTIER["relationship_lexical"],
            **_bm25(lexical, plan.policy),
            **_view(plan.intent.view),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            generation=space_plan.generation,
            depth=depth,
        )

    async def _relationship_vector(
        self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int
    ) -> AsyncCursor[TupleRow] | None:
        if embedded.vector is None or not space_plan.relationship_vector:
            return None
        return await self._ask(
            FRONTIER["relationship_vector"],
            **_view(plan.intent.view),
            vector=as_halfvec(embedded.vector),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            generation=space_plan.generation,
            depth=depth,
        )

    async def hydrate_evidence(self, intent: RecallIntent, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]]) -> dict[UUID, EvidenceRow]:
        rows: dict[UUID, EvidenceRow] = {}
        async with self._transaction.connection.pipeline():
            cursors = []
            for space, hits in wanted.items():
                pairs = [(key, number) for key, numbers in hits.items() for number in part_numbers(numbers, _MANY)]
                await self._transaction.enter(space.space_id)
                cursors.append(
                    await self._transaction.execute(
                        HYDRATE["hydrate_evidence"],
                        **_view(intent.view),
                        event_time=intent.view.event_time,
                        present=intent.view.is_present,
                        equivalents=_EQUIVALENTS + 1,
                        evidence_ids=list(hits),
                        wanted_ids=[key for key, _ in pairs],
                        wanted_parts=[number for _, number in pairs],
                    )
                )
            for cursor in cursors:
                rows.update({row["evidence_id"]: _evidence_row(row) for row in await cursor.fetchall()})
        return rows

    async def read_known(self, intent: RecallIntent, spaces: Sequence[Space]) -> KnownCoverage:
        if not (intent.known_evidence_ids or intent.known_relationship_ids):
            return KnownCoverage(frozenset())
        async with self._transaction.connection.pipeline():
            cursors = []
            for space in spaces:
                await self._transaction.enter(space.space_id)
                cursors.append(
                    await self._transaction.execute(
                        HYDRATE["read_known"],
                        **_view(intent.view),
                        evidence_ids=list(intent.known_evidence_ids),
                        relationship_ids=list(intent.known_relationship_ids),
                    )
                )
            return KnownCoverage(frozenset([row["semantic_group_key"] for cursor in cursors for row in await cursor.fetchall()]))

    async def hydrate_groups(self, intent: RecallIntent, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        groups: dict[str, list[RelationshipRow]] = {}
        async with self._transaction.connection.pipeline():
            cursors = []
            for space, keys in wanted.items():
                await self._transaction.enter(space.space_id)
                parameters = {**_view(intent.view), "groups": list(keys), "generation": self._generation, "present": intent.view.is_present}
                cursors.append(await self._transaction.execute(HYDRATE["hydrate_groups"], **parameters))
            for cursor in cursors:
                for row in await cursor.fetchall():
                    groups.setdefault(row["semantic_group_key"], []).append(_relationship_row(row))
        return groups


Rows = AsyncCursor[TupleRow] | Sequence[TupleRow] | None
_EQUIVALENTS = RankingPolicy().equivalents_limit
# More parts than any text has: the database has the last word on which neighbours exist.
_MANY = 1 << 30


def _bm25(lexical: LexicalPlan, policy: RankingPolicy) -> dict[str, Any]:
    return {
        "terms": list(lexical.weights.terms),
        "weights": [weight * (policy.bm25_k1 + 1) for weight in lexical.weights.weights],
        "average_length": lexical.average_length,
        "k1": policy.bm25_k1,
        "b": policy.bm25_b,
    }


def _view(view: TemporalView) -> dict[str, Any]:
    return {"valid_at": view.valid_at, "known_at": view.known_at}


async def _one(cursor: AsyncCursor[DictRow]) -> DictRow:
    row = await cursor.fetchone()
    assert row is not None
    return row


def _frontier(plan: RetrievalPlan, space_plan: SpacePlan) -> dict[str, LiteralString]:
    gated = plan.intent.known_evidence_ids or (space_plan.has_exclusions and plan.intent.view.is_present)
    return FRONTIER if gated else OPEN_FRONTIER


async def _rows(source: Rows) -> Sequence[TupleRow]:
    if source is None:
        return []
    return await source.fetchall() if isinstance(source, AsyncCursor) else source


async def _evidence(space_plan: SpacePlan, lexical: Rows, near: Rows, depth: int) -> EvidenceBranches:
    """A vector branch is also cut when the parts it looked at were not all there are."""
    first, second = await _rows(lexical), await _rows(near)
    cut = max(len(first), len(second)) >= depth or (near is not None and space_plan.parts > depth * PARTS_PER_EVIDENCE)
    return EvidenceBranches(cast(Sequence[BranchHit], first), cast(Sequence[BranchHit], second), full=cut)


async def _relationships(lexical: Rows, near: Rows, depth: int) -> RelationshipBranches:
    first, second = await _rows(lexical), await _rows(near)
    cut = max(len(first), len(second)) >= depth
    return RelationshipBranches(cast(Sequence[RelationshipHit], first), cast(Sequence[RelationshipHit], second), full=cut)


def _statistics(row: DictRow) -> SpaceStatistics:
    waiting = row["waiting"] or ()
    state: GenerationState = row["generation_state"] if row["generation_state"] in ("current", "failed") else "pending"
    return SpaceStatistics(
        evidence=LexicalStatistics(row["parts"], row["parts_length"], row["part_frequencies"] or {}),
        relationships=LexicalStatistics(row["documents"], row["documents_length"], row["document_frequencies"] or {}),
        evidence_state="failed" if "failed" in waiting else "pending" if "pending" in waiting else "current",
        generation=row["generation"] or 1,
        generation_state=state,
        contract_key=row["contract_key"],
        has_exclusions=row["has_exclusions"],
    )


def _evidence_row(row: DictRow) -> EvidenceRow:
    return EvidenceRow(
        evidence_id=row["evidence_id"],
        content_sha256=bytes(row["content_sha256"]),
        parts=tuple(PartText(number, text) for number, text in row["parts"] or ()),
        part_count=row["part_count"],
        source=row["source"],
        source_type=row["source_type"],
        authority=row["authority"],
        speaker=row["speaker"],
        session=row["session"],
        occurred_at=row["occurred_at"],
        known_from=row["known_from"],
        owner_active=row["owner_active"],
        known_in_view=row["known_in_view"],
        withdrawn=row["withdrawn"],
        paths=tuple(SupportPath(UUID(key), group, active) for key, group, active in row["paths"] or ()),
        equivalents=tuple(row["equivalents"]),
    )


def _relationship_row(row: DictRow) -> RelationshipRow:
    target: EntityRef | ValueRef
    if row["object_entity_id"] is not None:
        target = EntityRef(entity_id=row["object_entity_id"], name=row["object_name"])
    else:
        unit = {"unit": row["unit"]} if row["unit"] is not None else {}
        target = ValueRef(value_id=row["object_value_id"], type=row["value_type"], value=row["canonical_value"], display=row["display"], **unit)
    return RelationshipRow(
        relationship_id=row["relationship_id"],
        semantic_group_key=row["semantic_group_key"],
        known_from=row["known_from"],
        subject=EntityRef(entity_id=row["subject_entity_id"], name=row["subject_name"]),
        predicate=row["predicate_key"],
        object=target,
        polarity=row["polarity"],
        scope=row["scope_key"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        evidence_ids=tuple(row["evidence_ids"] or ()),
        search_state=row["search_state"],
    )
