"""What one recall carries from step to step."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from commonlore.domain.degradation import Degradation
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.plan import QueryVector, RecallIntent, RetrievalPlan
from commonlore.domain.recall.record import FetchFor, Recorder
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.rerank import Moved
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, Foresight, RecallSnapshot
from commonlore.domain.tenancy.actor import Space


@dataclass(slots=True)
class RecallState:
    """The request as planned, and what the lanes add: degradations, and the semantic groups that are said already."""

    snapshot: RecallSnapshot
    request: RecallRequest
    intent: RecallIntent
    policy: RankingPolicy
    vector: Awaitable[QueryVector]
    plan: RetrievalPlan
    record: Recorder
    degradations: set[Degradation] = field(default_factory=set)
    covered: set[str] = field(default_factory=set)
    # The rank of the result that says each group, and the groups that a community shows.
    said: dict[str, int] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)
    # The candidates of each space that were ranked last, and their order.
    ranked_evidence: tuple[Sequence[EvidenceBranches], list[list[tuple[Space, UUID]]]] | None = None
    # The ranked groups of the fetch that was ranked last.
    ranked: tuple[Mapping[UUID, Fetched], list[tuple[Space, str]]] | None = None
    # What the rerank put before others, by evidence id, with places in the whole lane from 0.
    moves: dict[UUID, list[Moved]] = field(default_factory=dict)

    async def fetch(self, depth: int, *, lane: FetchFor, foresight: Foresight | None = None) -> dict[UUID, Fetched]:
        with self.record.step("fetch"):
            fetched = await self.snapshot.fetch(self.plan, self.vector, depth=depth, foresight=foresight)
        self.record.note_fetch(lane, depth, fetched)
        return fetched
