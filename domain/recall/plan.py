"""What to fetch from each space: terms, vector, depth and filters. A caller's limits have no place here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.domain.community.gate import CommunityGate
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.vector_index import IndexUse
from commonlore.domain.recall.contract import READS_HINTS
from commonlore.domain.recall.filters import NO_FILTER, RecallFilter
from commonlore.domain.recall.hints import NO_HINTS, QueryHints, parse_hints
from commonlore.domain.recall.lexical import LexicalStatistics, TermWeights, weigh
from commonlore.domain.recall.request import RecallRequest, distinct
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.text.analyse import query_terms
from commonlore.domain.time import TemporalView

GenerationState = Literal["current", "pending", "failed"]


@dataclass(frozen=True, slots=True)
class RecallIntent:
    """The request as the steps read it."""

    query: str
    terms: tuple[str, ...]
    view: TemporalView
    known_evidence_ids: tuple[UUID, ...]
    known_relationship_ids: tuple[UUID, ...]
    expand_from_entity_ids: tuple[UUID, ...]
    relationships_wanted: bool
    hints: QueryHints = NO_HINTS
    filter: RecallFilter = NO_FILTER


def parse_intent(request: RecallRequest, *, now: datetime | None = None) -> RecallIntent:
    """Words such as "yesterday" count from when the query is asked, as the request says it, else `now`; without one they say nothing.

    Raises:
        Incorrect: the request is not valid.
    """
    request.validate()
    view, asked = request.view(), request.asked(now)
    return RecallIntent(
        query=request.query,
        terms=tuple(query_terms(request.query)),
        view=view,
        known_evidence_ids=distinct(request.known_evidence_ids),
        known_relationship_ids=distinct(request.known_relationship_ids),
        expand_from_entity_ids=distinct(request.expand_from_entity_ids),
        relationships_wanted=request.relationship_limit > 0,
        hints=parse_hints(request.query, asked.moment, zone=asked.zone, stated=asked.stated),
        filter=request.filter or NO_FILTER,
    )


@dataclass(frozen=True, slots=True)
class SpaceStatistics:
    """What one space says of itself before the search: counts, the state of its vectors, the generation that serves.

    `relationships_failed`: the words of its relationships could not be counted, so that lane is not searched.
    """

    evidence: LexicalStatistics
    relationships: LexicalStatistics
    evidence_state: Literal["current", "pending", "failed"]
    generation: int
    generation_state: GenerationState
    contract_key: str | None
    has_exclusions: bool = False
    has_conflicts: bool = False
    has_hypotheses: bool = False
    communities: CommunityGate | None = None
    has_sessions: bool = False
    texts: int = 0
    contract_id: int = 1
    evidence_index: IndexUse | None = None
    relationship_index: IndexUse | None = None
    relationships_failed: bool = False

    @property
    def is_empty(self) -> bool:
        """Nothing was ever written here, so there is nothing to search."""
        return self.evidence.documents == 0 and self.relationships.documents == 0


@dataclass(frozen=True, slots=True)
class LexicalPlan:
    weights: TermWeights
    average_length: float


@dataclass(frozen=True, slots=True)
class SpacePlan:
    """One space, both frontiers. A vector branch that is None is off.

    `evidence_index` and `relationship_index`: how its vectors are searched by an index of their own; None, exactly.
    """

    space: Space
    evidence_lexical: LexicalPlan
    relationship_lexical: LexicalPlan | None
    relationship_vector: bool
    generation: int
    parts: int
    texts: int
    documents: int
    has_exclusions: bool
    has_conflicts: bool
    communities: CommunityGate | None
    has_sessions: bool
    contract_id: int = 1
    evidence_index: IndexUse | None = None
    relationship_index: IndexUse | None = None
    has_hypotheses: bool = False
    relationships_failed: bool = False
    has_all_vectors: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalPlan:
    """`contract_key` is the contract whose vectors are stored; a query vector of another one is not used."""

    intent: RecallIntent
    policy: RankingPolicy
    spaces: tuple[SpacePlan, ...]
    contract_key: str | None

    @property
    def wants_scale(self) -> bool:
        """Whether the evidence contract asks what scores mean in each space."""
        return self.policy.evidence_contract != "rrf-1"

    @property
    def reads_hints(self) -> bool:
        """Whether the evidence contract asks who said a candidate and when, and reads the hints of the query."""
        return self.policy.evidence_contract in READS_HINTS

    def looks_at_turns(self, space_plan: SpacePlan) -> bool:
        """Whether the candidates of a space are looked up once more, for their places in a talk or the times they were said at."""
        return (self.wants_scale and space_plan.has_sessions) or (self.reads_hints and bool(self.intent.hints.periods))


def make_plan(intent: RecallIntent, statistics: Sequence[tuple[Space, SpaceStatistics]], policy: RankingPolicy) -> RetrievalPlan:
    """One plan a space that holds anything, in the order of the spaces.

    The relationship vector branch is on only for a current generation.
    """
    contract_key = statistics[0][1].contract_key if statistics else None
    return RetrievalPlan(
        intent, policy, tuple(_space_plan(intent, space, found, policy) for space, found in statistics if not found.is_empty), contract_key
    )


def _space_plan(intent: RecallIntent, space: Space, found: SpaceStatistics, policy: RankingPolicy) -> SpacePlan:
    def lexical(statistics: LexicalStatistics) -> LexicalPlan:
        return LexicalPlan(weigh(intent.terms, statistics, postings_budget=policy.postings_budget), statistics.average_length)

    wanted = intent.relationships_wanted and not found.relationships_failed
    return SpacePlan(
        space=space,
        evidence_lexical=lexical(found.evidence),
        relationship_lexical=lexical(found.relationships) if wanted else None,
        relationship_vector=wanted and found.generation_state == "current",
        generation=found.generation,
        parts=found.evidence.documents,
        texts=found.texts,
        documents=found.relationships.documents,
        has_exclusions=found.has_exclusions,
        has_conflicts=found.has_conflicts,
        has_hypotheses=found.has_hypotheses,
        communities=found.communities,
        has_sessions=found.has_sessions,
        contract_id=found.contract_id,
        evidence_index=found.evidence_index,
        relationship_index=found.relationship_index,
        relationships_failed=found.relationships_failed,
        has_all_vectors=found.evidence_state == "current",
    )


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The embedded query with the contract it was made under, or why there is none."""

    vector: Vectors | None
    contract_key: str | None = None
    failure: Literal["provider_unavailable", "provider_malformed", "embedding_contract_mismatch"] | None = None

    def under(self, contract_key: str | None) -> QueryVector:
        """Itself when it was made under the contract, else no vector."""
        if self.vector is None or self.contract_key == contract_key:
            return self
        return QueryVector(None, self.contract_key, "embedding_contract_mismatch")
