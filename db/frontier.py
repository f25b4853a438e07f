"""The branches of a recall over PostgreSQL: ranked candidates of each space, pipelined, one space open at a time.

When a statement of a branch fails, the transaction is taken back to where the search began and every branch is tried
alone: a private space, a vector branch or the relationship lane may then be missing and is stated; the evidence of the
team's shared space may not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import LiteralString, Protocol
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from commonlore.db.errors import stated
from commonlore.db.frontier_rows import (
    Near,
    Rows,
    documents_looked_at,
    evidence_branches,
    parts_looked_at,
    relationship_branches,
    with_turns,
)
from commonlore.db.pipeline import Asked, Pipeline
from commonlore.db.residence import Residence
from commonlore.db.resident_branches import SpaceAhead, ask_ahead, ask_held
from commonlore.db.resident_reading import HeldEvidence, HeldRelationships, WordCounts
from commonlore.db.search_parameters import bm25_parameters, filter_parameters, view_parameters
from commonlore.db.session import TeamTransaction
from commonlore.db.statements import (
    FILTERED_FRONTIER,
    FRONTIER,
    NEAR,
    OPEN_FRONTIER,
    OPEN_NEAR,
    PAST_FILTERED_FRONTIER,
    PAST_FRONTIER,
)
from commonlore.db.vector_indexes import in_one_space
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.domain.projection.vector_index import MOST_BY_INDEX, IndexUse
from commonlore.domain.recall.plan import QueryVector, RetrievalPlan, SpacePlan
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, RelationshipBranches
from commonlore.domain.recall.utterance import QUESTION_MARKS

# Within the bound that the sample of a space sets, this many times the parts that are wanted are expected, and at least the
# parts nearer than its twelfth: then less than is wanted lies within once in hundreds of searches.
_EXPECTED, _LEAST_PLACE = 2.5, 12


@dataclass(slots=True)
class _Asked:
    """One space of a search: what was asked of each branch, the database or what the process keeps."""

    plan: SpacePlan
    evidence: HeldEvidence | None = None
    relationships: HeldRelationships | None = None
    lexical: Rows = None
    near: Rows | Near = None
    words: Rows = None
    meaning: Rows = None
    branches: EvidenceBranches | None = None

    @property
    def has_evidence(self) -> bool:
        """Whether the process kept all that the space's evidence is ranked by: no row of it is on its way."""
        return self.evidence is not None and not isinstance(self.lexical, Asked) and not isinstance(self.near, Asked)


class RowsAhead(Protocol):
    """Asks, in the pipeline of a search, for what will be wanted of its result."""

    async def ask_evidence(self, found: Mapping[UUID, EvidenceBranches]) -> None: ...

    async def ask_groups(self, found: Mapping[UUID, Fetched]) -> None: ...


class Frontier:
    """Candidates inside one transaction that is at a savepoint named `branches`."""

    def __init__(self, transaction: TeamTransaction, residence: Residence | None = None) -> None:
        self._transaction = transaction
        self._residence = residence
        self._words: dict[UUID, tuple[WordCounts, WordCounts]] = {}
        self._ahead: dict[int, SpaceAhead] = {}

    def ask_ahead(self, terms: Sequence[str]) -> None:
        """Ask what the process lacks of the open space, before it is known how it is to be searched."""
        if self._residence is not None:
            self._ahead |= ask_ahead(self._transaction, self._residence, terms)

    async def look_ahead(self, vector: Awaitable[QueryVector]) -> None:
        """Measure what the process keeps of the spaces that were asked ahead, where the query's vector is kept, while the database answers."""
        if self._ahead and await _is_there(vector):
            embedded = await vector
            self._transaction.send()
            for ahead in self._ahead.values():
                ahead.measure(embedded)

    def note_words(self, space_id: UUID, parts: WordCounts, documents: WordCounts) -> None:
        """What the statistics of a space say of the words of the query."""
        self._words[space_id] = parts, documents

    async def fetch(self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int, rows: RowsAhead | None = None) -> dict[UUID, Fetched]:
        """As `RecallSnapshot.fetch`; `rows` asks for what will be wanted of the result."""
        if not plan.spaces:
            return {}
        try:
            async with self._transaction.pipeline() as pipeline:
                found = await self._search(pipeline, plan, vector, depth, rows)
            return await self._with_turns(plan, found)
        except psycopg.Error as error:
            if self._transaction.connection.closed or error.sqlstate == "57014":
                raise
            await self._transaction.connection.execute("rollback to savepoint branches")
            self._transaction.forget_space()
        embedded = (await vector).under(plan.contract_key)
        return {space_plan.space.space_id: await self._fetch_alone(plan, space_plan, embedded, depth) for space_plan in plan.spaces}

    async def _search(
        self, pipeline: Pipeline, plan: RetrievalPlan, vector: Awaitable[QueryVector], depth: int, rows: RowsAhead | None
    ) -> dict[UUID, Fetched]:
        spaces = [_Asked(space_plan) for space_plan in plan.spaces]
        for asked in spaces:
            await self._transaction.enter(asked.plan.space.space_id)
            self._ask_held(plan, asked)
            self._ask_lexical(plan, asked, depth)
        # The database searches what it must while the process searches what it keeps.
        is_there = await _is_there(vector)
        if is_there:
            embedded = (await vector).under(plan.contract_key)
            searched = [await self._ask_near(plan, asked, embedded, depth) for asked in spaces]
        if not is_there or any(searched):
            pipeline.send()
        for asked in spaces:
            await self._find_words(asked, depth, of_relationships=not is_there)  # all of them while the query is embedded
        embedded = (await vector).under(plan.contract_key)
        for asked in spaces:
            await self._ask_vector(plan, asked, embedded, depth)
        is_ranked = all(asked.has_evidence and not plan.looks_at_turns(asked.plan) for asked in spaces)
        if rows is not None and is_ranked:
            # The database reads rows of evidence while the process ranks relationships.
            for asked in spaces:
                asked.branches = await evidence_branches(asked.plan, asked.lexical, asked.near, depth)
            await rows.ask_evidence({asked.plan.space.space_id: asked.branches for asked in spaces if asked.branches is not None})
            pipeline.send()
        for asked in spaces:
            await self._ask_relationships(plan, asked, embedded, depth, find_words=is_there)
        found = {asked.plan.space.space_id: await self._fetched(plan, asked, embedded, depth) for asked in spaces}
        if rows is not None and is_ranked:
            await rows.ask_groups(found)
        return found

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
            evidence = replace(await evidence_branches(space_plan, lexical, near or [], depth), vector_failed=near is None)
            if plan.looks_at_turns(space_plan):
                ranked = evidence
                evidence = with_turns(plan, ranked, await self._alone(lambda: self._evidence_turns(plan, ranked), required=False) or [])
        relationships = RelationshipBranches(failed=True)
        if words is not None and meaning is not None:
            relationships = await relationship_branches(plan, space_plan, words, meaning, depth)
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

    def _ask_held(self, plan: RetrievalPlan, asked: _Asked) -> None:
        """Of what the process keeps of the open space."""
        counts = self._words.get(asked.plan.space.space_id)
        if self._residence is not None and counts is not None:
            asked.evidence, asked.relationships = ask_held(self._transaction, self._residence, plan, asked.plan, counts, self._ahead)

    def _ask_lexical(self, plan: RetrievalPlan, asked: _Asked, depth: int) -> None:
        """Of the database, where the process keeps no words."""
        if asked.evidence is None:
            asked.lexical = self._evidence_lexical(plan, asked.plan, depth)
        if asked.relationships is None:
            asked.words = self._relationship_lexical(plan, asked.plan, depth)

    async def _find_words(self, asked: _Asked, depth: int, *, of_relationships: bool) -> None:
        """Among those that the process keeps."""
        if asked.evidence is not None:
            asked.lexical = await asked.evidence.lexical(depth)
        if asked.relationships is not None and of_relationships:
            await asked.relationships.find_words(depth)

    async def _ask_near(self, plan: RetrievalPlan, asked: _Asked, embedded: QueryVector, depth: int) -> bool:
        """Let the database begin with the vectors of a space's parts, where the process keeps something of the space but not those; whether it does."""
        keeps_vectors = asked.evidence is not None and asked.evidence.vectors is not None
        if keeps_vectors or (asked.evidence is None and asked.relationships is None):
            return False
        await self._transaction.enter(asked.plan.space.space_id)
        asked.near = self._evidence_vector(plan, asked.plan, embedded, depth)
        return asked.near is not None

    async def _ask_vector(self, plan: RetrievalPlan, asked: _Asked, embedded: QueryVector, depth: int) -> None:
        """The vector branch of evidence, of the process or of the database, and the words that the process could not answer."""
        space_plan, vector = asked.plan, embedded.vector
        await self._transaction.enter(space_plan.space.space_id)
        if self._residence is not None and vector is not None:
            self._residence.vectors.note_dimensions(space_plan.contract_id, len(vector))
        if asked.evidence is not None:
            if asked.lexical is None:
                asked.lexical = self._evidence_lexical(plan, space_plan, depth)
            if vector is not None and asked.near is None:
                part_depth, sample = parts_looked_at(space_plan, depth), plan.policy.sample_parts
                asked.near = await asked.evidence.near(vector, parts=space_plan.parts, part_depth=part_depth, depth=depth, sample=sample)
        if asked.near is None:
            asked.near = self._evidence_vector(plan, space_plan, embedded, depth)

    async def _ask_relationships(self, plan: RetrievalPlan, asked: _Asked, embedded: QueryVector, depth: int, *, find_words: bool) -> None:
        """The branches of relationships that the process keeps, and the vector branch of the database where it keeps none."""
        space_plan, held = asked.plan, asked.relationships
        await self._transaction.enter(space_plan.space.space_id)
        if held is not None:
            if held.vectors is not None and isinstance(asked.near, Asked):
                self._transaction.send()
            if find_words:
                await held.find_words(depth)
            await held.find(embedded.vector, documents=space_plan.documents, depth=depth)
        if held is None or not held.has_near:
            asked.meaning = self._relationship_vector(plan, space_plan, embedded, depth)

    async def _fetched(self, plan: RetrievalPlan, asked: _Asked, embedded: QueryVector, depth: int) -> Fetched:
        held, space_plan = asked.relationships, asked.plan
        if held is not None:
            words, meaning = await held.lexical(depth), await held.near(depth) if held.has_near else None
            if words is None or (held.has_near and meaning is None):
                await self._transaction.enter(space_plan.space.space_id)
            asked.words = words if words is not None else self._relationship_lexical(plan, space_plan, depth)
            if held.has_near:
                asked.meaning = meaning if meaning is not None else self._relationship_vector(plan, space_plan, embedded, depth)
        evidence = asked.branches or await evidence_branches(space_plan, asked.lexical, asked.near, depth)
        return Fetched(evidence, await relationship_branches(plan, space_plan, asked.words, asked.meaning, depth))

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
                    found[space_id] = replace(found[space_id], evidence=with_turns(plan, evidence, await turns.fetchall()))
        return found

    def _evidence_turns(self, plan: RetrievalPlan, evidence: EvidenceBranches) -> Asked[TupleRow]:
        ids = list({key.int: key for branch in (evidence.lexical, evidence.vector) for key, _, _ in branch}.values())
        if plan.reads_hints:
            return self._ask(FRONTIER["evidence_said"], evidence_ids=ids, question_marks=list(QUESTION_MARKS))
        return self._ask(FRONTIER["evidence_turns"], evidence_ids=ids)

    def _evidence_lexical(self, plan: RetrievalPlan, space_plan: SpacePlan, depth: int) -> Asked[TupleRow] | None:
        lexical = space_plan.evidence_lexical
        if not lexical.weights.terms:
            return None
        return self._ask(
            _frontier(plan, space_plan)["evidence_lexical"],
            **bm25_parameters(lexical, plan.policy),
            known_evidence_ids=list(plan.intent.known_evidence_ids),
            present=plan.intent.view.is_present,
            **filter_parameters(plan.intent.filter),
            depth=depth,
        )

    def _evidence_vector(self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int) -> Asked[TupleRow] | None:
        if embedded.vector is None:
            return None
        part_depth = parts_looked_at(space_plan, depth)
        statement = _frontier(plan, space_plan)["evidence_vector"]
        if (index := space_plan.evidence_index) is not None and not plan.intent.filter.narrows_evidence:
            near = NEAR if _is_gated(plan, space_plan) else OPEN_NEAR
            statement = self._by_index(index, near["evidence_vector"], part_depth) or statement
        return self._ask(
            of_contract(statement, space_plan.contract_id),
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
            **bm25_parameters(lexical, plan.policy),
            **view_parameters(plan.intent.view),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            **filter_parameters(plan.intent.filter),
            generation=space_plan.generation,
            depth=depth,
        )

    def _relationship_vector(self, plan: RetrievalPlan, space_plan: SpacePlan, embedded: QueryVector, depth: int) -> Asked[TupleRow] | None:
        if embedded.vector is None or not space_plan.relationship_vector:
            return None
        statement = _frontier(plan, space_plan)["relationship_vector"]
        if (index := space_plan.relationship_index) is not None:
            statement = self._by_index(index, OPEN_NEAR["relationship_vector"], documents_looked_at(plan, depth), space_plan.generation) or statement
        return self._ask(
            of_contract(statement, space_plan.contract_id),
            **view_parameters(plan.intent.view),
            vector=as_halfvec(embedded.vector),
            entity_ids=list(plan.intent.expand_from_entity_ids),
            **filter_parameters(plan.intent.filter),
            generation=space_plan.generation,
            near=documents_looked_at(plan, depth),
            depth=depth,
        )


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


def _bound_place(parts: int, part_depth: int, sample: int) -> int:
    """Which of the sample, in order of nearness, bounds the search; 0 where a bound would save little."""
    place = max(_LEAST_PLACE, ceil(sample * _EXPECTED * part_depth / max(parts, 1)))
    return place if 2 * place <= sample <= parts else 0
