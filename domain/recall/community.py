"""What the community lane asks of a published snapshot, and the rows it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from commonlore.domain.recall.result import EntityRef

SeedOrigin = Literal["group", "known_evidence", "known_relationship", "entity"]


@dataclass(frozen=True, slots=True)
class CommunitySeeds:
    """What to look for in a snapshot: groups that the answer holds or could hold, and ids that the caller gave."""

    group_keys: Sequence[str]
    evidence_ids: Sequence[UUID]
    relationship_ids: Sequence[UUID]
    entity_ids: Sequence[UUID]


class SeededGroup(NamedTuple):
    """A seed that lies in a community. `place` counts from 1 among the seeds of its origin."""

    origin: SeedOrigin
    place: int
    semantic_group_key: str
    community_no: int
    logical_community_id: UUID


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """One community of a snapshot as it stands now. `member_keys`: the members that were asked for, the most central first."""

    community_no: int
    community_id: UUID
    logical_community_id: UUID
    entities: tuple[EntityRef, ...]
    predicates: tuple[str, ...]
    quotes: tuple[str, ...]
    entity_count: int
    relationship_count: int
    member_keys: tuple[str, ...]
