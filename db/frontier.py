"""The branches of a recall over PostgreSQL: ranked candidates of each space, pipelined, one space open at a time.

When a statement of a branch fails, the transaction is taken back to where the search began and every branch is tried
alone: a private space, a vector branch or the relationship lane may then be missing and is stated; the evidence of the
team's shared space may not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, LiteralString, cast
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from commonlore.db.errors import stated
from commonlore.db.pipeline import Asked
from commonlore.db.resident import BlockName, Nearest, ResidentVectors
from commonlore.db.resident_reading import Held, ask_held, without_notes
from commonlore.db.session import TeamTransaction
from commonlore.db.statements import (
    FILTERED_FRONTIER,
    FRONTIER,
    NEAR,
    OPEN_FRONTIER,
    OPEN_NEAR,
    OPEN_RESIDENT,
    PAST_FILTERED_FRONTIER,
    PAST_FRONTIER,
    RESIDENT,
)
from commonlore.db.vector_indexes import in_one_space
from commonlore.db.vectors import UuidArray, as_halfvec, of_contract
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.projection.vector_index import MOST_BY_INDEX, IndexUse
from commonlore.domain.recall.contract import SpaceScale
from commonlore.domain.recall.filters import NO_FILTER, RecallFilter
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.plan import LexicalPlan, QueryVector, RetrievalPlan, SpacePlan
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, RelationshipBranches
from commonlore.domain.recall.utterance import QUESTION_MARKS, Utterance
from commonlore.domain.time import TemporalView

# Parts a vector branch looks at for each evidence it returns: a long text may hold several of the nearest parts.
PARTS_PER_EVIDENCE = 2
# Documents it looks at for each relationship it returns: some are of relationships that no longer count.
DOCUMENTS_PER_RELATIONSHIP = 2
_ALL = 2_147_483_647
# Within the bound that the sample of a space sets, this many times the parts that are wanted are expected, and at least the
# parts nearer than its twelfth: then less than is wanted lies within once in hundreds of searches.
_EXPECTED, _LEAST_PLACE = 2.5, 12


Rows = Asked[TupleRow] | Sequence[TupleRow] | None


class Frontier:
    """Candidates inside one transaction that is at a savepoint named `branches`."""

    def __init__(self, transaction: TeamTransaction, resident: ResidentVectors | None = None) -> None:
        self._transaction = transaction
        self._resident = resident

    async def fetch(self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int) -> dict[UUID, Fetched]:
        if not plan.spaces:
            return {}
        try:
            async with self._transaction.pipeline() as pipeline:
                held, lexical = [], []
                for space_plan in plan.spaces:
                    await self._transaction.enter(space_plan.space.space_id)
                    held.append(self._ask_held(plan, space_plan, depth))
                    lexical.append(self._ask_lexical(plan, space_plan, depth))
                if not await _is_there(vector):
                    pipeline.send()
                embedded = (await vector).under(plan.contract_key)
                near = [await self._ask_vector(plan, space_plan, embedded, depth, kept) for space_plan, kept in zip(plan.spaces, held, strict=True)]
                found = {
                    space_plan.space.space_id: Fetched(
                        await _evidence(space_plan, lexical[place][0], near[place][0], depth, held[place][0]),
                        await _relationships(plan, space_plan, lexical[place][1], near[place][1], depth, held[place][1]),
                    )
                    for place, space_plan in enumerate(plan.spaces)
                }
            return await self._with_turns(plan, found)
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
        lexical = await self._alone(lambda: self._evidence_lexical(plan, space_plan, depth), required=not is_private)
        near = await self._alone(lambda: self._evidence_vector(plan, space_plan, embedded, depth), required=False)
        words = await self._alone(lambda: self._relationship_lexical(plan, space_plan, depth), required=False)
        meaning = await self._alone(lambda: self._relationship_vector(plan, space_plan, embedded, depth), required=False)
        evidence = None
        if lexical is not None:
            evidence = replace(await _evidence(space_plan, lexical, near or [], depth), vector_failed=near is None)
            if plan.looks_at_turns(space_plan):
                ranked = evidence
                evidence = _with_turns(plan, ranked, await self._alone(lambda: self._evidence_turns(plan, ranked), required=False) or [])
        relationships = RelationshipBranches(failed=True)
        if words is not None and meaning is not None:
            relationships = await _relationships(plan, space_plan, words, meaning, depth)
        return Fetched(evidence, relationships)

    async def _alone(self, ask: Callable[[], Asked[TupleRow] | None], *, required: bool) -> list[TupleRow] | None:
        connection = self._transaction.connection
        await connection.execute("savepoint branch")
        try:
            async with self._transaction.pipeline():
                asked = ask()
                return await asked.fetchall() if asked is not None else []
        except psycopg.Error as error:
            if required or connection.closed or error.sqlstate == "57014":
                raise stated(error) from error
            await connection.execute("rollback to savepoint branch")
            self._transaction.forget_space()
            return None

    def _ask_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> tuple[Rows, Rows]:
        return self._evidence_lexical(plan, space_plan, depth), self._relationship_lexical(plan, space_plan, depth)

    def _ask_held(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> tuple[Held | None, Held | None]:
        """Of the vectors of the open space that the process keeps, for searches of the present that nothing narrows and no index serves."""
        epoch, contract, asked = self._transaction.space_epoch, space_plan.contract_id, plan.intent
        if self._resident is None or epoch is None or depth > plan.policy.depth_rows or not asked.view.is_present:
            return None, None
        evidence = relationship = None
        if space_plan.evidence_index is None and not asked.filter.narrows_evidence:
            name = BlockName(self._transaction.team_id, epoch, "evidence", contract)
            evidence = ask_held(self._transaction, self._resident, name, space_plan.parts)
        narrowed = asked.expand_from_entity_ids or asked.filter.narrows_relationships
        if space_plan.relationship_index is None and space_plan.relationship_vector and not narrowed:
            name = BlockName(self._transaction.team_id, epoch, "relationship", contract, space_plan.generation)
            relationship = ask_held(self._transaction, self._resident, name, space_plan.documents)
        return evidence, relationship

    async def _ask_vector(
        self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int, held: tuple[Held | None, Held | None]
    ) -> tuple[Rows, Rows]:
        if embedded.vector is None:
            return None, None
        if self._resident is not None:
            self._resident.note_dimensions(space_plan.contract_id, len(embedded.vector))
        await self._transaction.enter(space_plan.space.space_id)
        evidence, relationship = held
        nearest = await evidence.nearest(embedded.vector, _part_depth(space_plan, depth)) if evidence is not None else None
        near = self._evidence_vector(plan, space_plan, embedded, depth, nearest)
        nearest = await relationship.nearest(embedded.vector, _near(plan, depth)) if relationship is not None else None
        return near, self._relationship_vector(plan, space_plan, embedded, depth, nearest)

    async def _with_turns(self, plan: RetrievalPlan, found: dict[UUID, Fetched]) -> dict[UUID, Fetched]:
        """The candidates' places in their sessions, where the contract looks at them and the space or the query has any."""
        spaces = [space_plan.space.space_id for space_plan in plan.spaces if plan.looks_at_turns(space_plan)]
        if not spaces:
            return found
        async with self._transaction.pipeline():
            asked = {}
            for space_id in spaces:
                await self._transaction.enter(space_id)
                asked[space_id] = self._evidence_turns(plan, found[space_id].evidence or EvidenceBranches())
            for space_id, turns in asked.items():
                evidence = found[space_id].evidence
                if evidence is not None:
                    found[space_id] = replace(found[space_id], evidence=_with_turns(plan, evidence, await turns.fetchall()))
        return found

    def _evidence_turns(self, plan: RetrievalPlan, evidence: EvidenceBranches) -> Asked[TupleRow]:
        ids = UuidArray.of_ids({key.int: key for branch in (evidence.lexical, evidence.vector) for key, _, _ in branch}.values())
        if plan.reads_hints:
            return self._ask(FRONTIER["evidence_said"], evidence_ids=ids, question_marks=list(QUESTION_MARKS))
        return self._ask(FRONTIER["evidence_turns"], evidence_ids=ids)

    def _evidence_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> Asked[TupleRow] | None:
        lexical = space_plan.evidence_lexical
        if not lexical.weights.terms:
            return None
        return self._ask(
            _frontier(plan, space_plan)["evidence_lexical"],
            **_bm25(lexical, plan.policy),
            known_evidence_ids=list(plan.intent.known_evidence_ids),
            present=plan.intent.view.is_present,
            **filter_parameters(plan.intent.filter),
            depth=depth,
        )

    def _evidence_vector(
        self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int, nearest: Nearest | None = None
    ) -> Asked[TupleRow] | None:
        if embedded.vector is None:
            return None
        part_depth = _part_depth(space_plan, depth)
        statement = _frontier(plan, space_plan)["evidence_vector"]
        if (index := space_plan.evidence_index) is not None and not plan.intent.filter.narrows_evidence:
            near = NEAR if _is_gated(plan, space_plan) else OPEN_NEAR
            statement = self._by_index(index, near["evidence_vector"], part_depth) or statement
        if nearest is not None:
            statement = (RESIDENT if _is_gated(plan, space_plan) else OPEN_RESIDENT)["evidence_vector"]
        return self._ask(
            of_contract(statement, space_plan.contract_id),
            **candidates_of(nearest),
            vector=as_halfvec(embedded.vector),
            known_evidence_ids=list(plan.intent.known_evidence_ids),
            present=plan.intent.view.is_present,
            **filter_parameters(plan.intent.filter),
            sample=plan.policy.sample_parts,
            bound_place=_bound_place(space_plan.parts, part_depth, plan.policy.sample_parts),
            part_depth=part_depth,
            depth=depth,
        )

    def _by_index(self, index: IndexUse, statement: LiteralString, rows: int, generation: int = 0) -> LiteralString | None:
        """The statement that searches the open space by its index for that many rows; None where those are too many."""
        epoch = self._transaction.space_epoch
        if rows > MOST_BY_INDEX or epoch is None:
            return None
        self._transaction.search_by_index(max(index.ef_search, rows))
        return in_one_space(statement, self._transaction.team_id, epoch, generation)

    def _ask(self, statement: LiteralString, **parameters: object) -> Asked[TupleRow]:
        """Plain tuples: a branch has hundreds of rows, and each is read once."""
        return self._transaction.ask_tuples(statement, **parameters)

    def _relationship_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> Asked[TupleRow] | None:
        lexical = space_plan.relationship_lexical
        if lexical is None or not lexical.weights.terms:
            return None
        return self._ask(
            _frontier(plan, space_plan)["relationship_lexical"],
            **_bm25(lexical, plan.policy),
            **view_parameters(plan.intent.view),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            **filter_parameters(plan.intent.filter),
            generation=space_plan.generation,
            depth=depth,
        )

    def _relationship_vector(
        self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int, nearest: Nearest | None = None
    ) -> Asked[TupleRow] | None:
        if embedded.vector is None or not space_plan.relationship_vector:
            return None
        statement = _frontier(plan, space_plan)["relationship_vector"]
        if (index := space_plan.relationship_index) is not None:
            statement = self._by_index(index, OPEN_NEAR["relationship_vector"], _near(plan, depth), space_plan.generation) or statement
        if nearest is not None:
            statement = OPEN_RESIDENT["relationship_vector"]
        return self._ask(
            of_contract(statement, space_plan.contract_id),
            **candidates_of(nearest),
            **view_parameters(plan.intent.view),
            vector=as_halfvec(embedded.vector),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            **filter_parameters(plan.intent.filter),
            generation=space_plan.generation,
            near=_near(plan, depth),
            depth=depth,
        )


def _near(plan: RetrievalPlan, depth: int) -> int:
    """Documents whose relationships are looked up. A filter or another time may refuse most of them, so then it is all."""
    selective = plan.intent.expand_from_entity_ids or plan.intent.filter.narrows_relationships or not plan.intent.view.is_present
    return _ALL if selective else depth * DOCUMENTS_PER_RELATIONSHIP


def _bm25(lexical: LexicalPlan, policy: RankingPolicy) -> dict[str, Any]:
    return {
        "terms": list(lexical.weights.terms),
        "weights": [weight * (policy.bm25_k1 + 1) for weight in lexical.weights.weights],
        "average_length": lexical.average_length,
        "k1": policy.bm25_k1,
        "b": policy.bm25_b,
    }


def candidates_of(nearest: Nearest | None) -> dict[str, Any]:
    return {"ids": nearest.ids, "within": nearest.within} if nearest is not None else {}


def view_parameters(view: TemporalView) -> dict[str, Any]:
    return {"valid_at": view.valid_at, "known_at": view.known_at}


def filter_parameters(narrowed: RecallFilter) -> dict[str, Any]:
    ends = {"subject_ids": list(narrowed.subject_entity_ids), "object_ids": list(narrowed.object_entity_ids)}
    if narrowed is NO_FILTER:
        return ends
    occurred_from, occurred_to = narrowed.occurred
    return {
        **ends,
        "labels": narrowed.labels,
        "sources": narrowed.sources,
        "authorities": list(narrowed.authorities),
        "occurred_from": occurred_from,
        "occurred_to": occurred_to,
        "predicates": narrowed.predicate_keys(),
        "polarity": narrowed.polarity,
        "scopes": narrowed.scopes,
    }


def _frontier(plan: RetrievalPlan, space_plan: SpacePlan) -> dict[str, LiteralString]:
    if plan.intent.filter.narrows_evidence or plan.intent.filter.narrows_relationships:
        return FILTERED_FRONTIER if plan.intent.view.is_present else PAST_FILTERED_FRONTIER
    if not plan.intent.view.is_present:
        return PAST_FRONTIER
    return FRONTIER if _is_gated(plan, space_plan) else OPEN_FRONTIER


def _is_gated(plan: RetrievalPlan, space_plan: SpacePlan) -> bool:
    return bool(plan.intent.known_evidence_ids) or space_plan.has_exclusions


async def _is_there(vector: Awaitable[QueryVector]) -> bool:
    """Whether the query is embedded already: one whose vector is kept takes a turn of the loop."""
    await asyncio.sleep(0)
    return isinstance(vector, asyncio.Future) and vector.done()


async def _rows(source: Rows) -> Sequence[TupleRow]:
    if source is None:
        return []
    return await source.fetchall() if isinstance(source, Asked) else source


def _with_turns(plan: RetrievalPlan, evidence: EvidenceBranches, rows: Sequence[TupleRow]) -> EvidenceBranches:
    if plan.reads_hints:
        said = {key.int: Utterance(*of_it) for key, *of_it in rows}
        return replace(evidence, scale=replace(evidence.scale, said=said))
    turns = {key.int: (session, sequence) for key, session, sequence in rows}
    return replace(evidence, scale=replace(evidence.scale, turns=turns))


def _part_depth(space_plan: SpacePlan, depth: int) -> int:
    """Parts a vector branch looks at."""
    return depth if space_plan.parts <= space_plan.texts else depth * PARTS_PER_EVIDENCE


def _bound_place(parts: int, part_depth: int, sample: int) -> int:
    """Which of the sample, in order of nearness, bounds the search; 0 where a bound would save little."""
    place = max(_LEAST_PLACE, ceil(sample * _EXPECTED * part_depth / max(parts, 1)))
    return place if 2 * place <= sample <= parts else 0


async def _evidence(space_plan: SpacePlan, lexical: Rows, near: Rows, depth: int, held: Held | None = None) -> EvidenceBranches:
    """A vector branch is also cut when the parts it looked at were not all there are."""
    first, second = await _rows(lexical), without_notes(await _rows(near), 5, held)
    cut = max(len(first), len(second)) >= depth or (near is not None and space_plan.parts > _part_depth(space_plan, depth))
    mean, deviation = second[0][3:] if second else (None, None)
    hits = [(key, part_no, score) for key, part_no, score, _, _ in second]
    return EvidenceBranches(
        cast(Sequence[BranchHit], first), cast(Sequence[BranchHit], hits), full=cut, scale=SpaceScale(space_plan.texts, mean, deviation)
    )


async def _relationships(
    plan: RetrievalPlan, space_plan: SpacePlan, lexical: Rows, near: Rows, depth: int, held: Held | None = None
) -> RelationshipBranches:
    """A vector branch is also cut when the documents it looked at were not all there are."""
    first, second = await _rows(lexical), without_notes(await _rows(near), 3, held)
    if space_plan.relationships_failed:
        return RelationshipBranches(failed=True)
    unseen = near is not None and space_plan.relationship_vector and space_plan.documents > _near(plan, depth)
    cut = max(len(first), len(second)) >= depth or unseen
    return RelationshipBranches(cast(Sequence[RelationshipHit], first), cast(Sequence[RelationshipHit], second), full=cut)
