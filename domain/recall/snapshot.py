"""What a recall asks of the database: one state, for one actor. Ids and rows of other spaces or teams never leave it."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from commonlore.domain.conflict.view import CaseRow
from commonlore.domain.recall.community import CommunityRow, CommunitySeeds, SeededGroup
from commonlore.domain.recall.contract import SpaceScale
from commonlore.domain.recall.eligibility import RelationshipHistory
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.hypothesis import HypothesisRow, Touched
from commonlore.domain.recall.plan import QueryVector, RecallIntent, RetrievalPlan, SpacePlan, SpaceStatistics
from commonlore.domain.recall.result import EvidenceRow, RelationshipRow
from commonlore.domain.tenancy.actor import Actor, Space


@dataclass(frozen=True, slots=True)
class EvidenceBranches:
    """Best first, gated in the search itself. `full` tells whether a branch gave as much as was asked for."""

    lexical: Sequence[BranchHit] = ()
    vector: Sequence[BranchHit] = ()
    full: bool = False
    vector_failed: bool = False
    scale: SpaceScale = field(default_factory=lambda: SpaceScale(0))


@dataclass(frozen=True, slots=True)
class RelationshipBranches:
    lexical: Sequence[RelationshipHit] = ()
    vector: Sequence[RelationshipHit] = ()
    full: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The branches of one space; None where the space's evidence could not be read."""

    evidence: EvidenceBranches | None
    relationships: RelationshipBranches


@dataclass(frozen=True, slots=True)
class KnownCoverage:
    """Semantic groups that the caller has already: of visible known evidence and of visible known relationships."""

    groups: frozenset[str]


class Foresight(Protocol):
    """What will be wanted first of a search that is not over. It changes no answer."""

    def evidence(self, found: Mapping[UUID, EvidenceBranches]) -> Mapping[Space, Mapping[UUID, Sequence[int]]]:
        """What `hydrate_evidence` will be asked for, once the evidence of every space is found; by space id."""
        ...

    def groups(self, found: Mapping[UUID, Fetched]) -> Mapping[Space, Sequence[str]]:
        """What `hydrate_groups` will likely be asked for, of the same evidence and the relationships; the mapping that `fetch` returns."""
        ...


class RecallSnapshot(Protocol):
    """One state of the database, for one actor. Ids and rows of other spaces or teams never leave it.

    `lost_spaces` are the private spaces of which something could not be read. The rows of the shared space are read or the recall fails.
    """

    actor: Actor
    lost_spaces: set[UUID]

    async def read_statistics(self, intent: RecallIntent) -> list[tuple[Space, SpaceStatistics]]: ...

    async def fetch(
        self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int, foresight: Foresight | None = None
    ) -> dict[UUID, Fetched]:
        """By space id. `vector` is awaited only after the lexical branches were asked. With `foresight` what will be wanted may be read in the same round trip, or groups in that of the rows."""
        ...

    async def hydrate_evidence(self, intent: RecallIntent, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]]) -> dict[UUID, EvidenceRow]:
        """Authoritative rows with the parts around the hits that `wanted` names, and up to one more equivalent than is shown."""
        ...

    async def read_known(self, intent: RecallIntent, spaces: Sequence[Space]) -> KnownCoverage: ...

    async def read_conflicts(
        self, intent: RecallIntent, spaces: Sequence[Space], evidence_ids: Sequence[UUID], *, most: int
    ) -> list[tuple[Space, CaseRow]]:
        """Cases that the texts are part of, as they were known in the view; at most `most` a space."""
        ...

    async def read_seeded(self, space: Space, snapshot_id: UUID, seeds: CommunitySeeds) -> list[SeededGroup] | None:
        """The seeds that lie in a community of the snapshot, unordered; None where it could not be read."""
        ...

    async def read_communities(
        self, space: Space, snapshot_id: UUID, numbers: Sequence[int], *, without: Sequence[str], most: int
    ) -> list[CommunityRow] | None:
        """The communities, unordered, each with at most `most` eligible members that are not among `without`, the most central first.

        None where they could not be read.
        """
        ...

    async def read_hypotheses(self, space: Space, touched: Touched, *, most: int) -> list[HypothesisRow] | None:
        """Hypotheses of the space that the answer touches, the nearest first; None where they could not be read."""
        ...

    async def hydrate_groups(self, intent: RecallIntent, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        """Every eligible member of the groups, by earliest creation, then id."""
        ...

    async def read_histories(
        self, intent: RecallIntent, space_plan: SpacePlan, embedded: QueryVector, *, known: Collection[UUID], most: int
    ) -> list[RelationshipHistory]:
        """Of a space, what matches the query and is not among `known`, whatever became of it, by id; for a trace alone."""
        ...
