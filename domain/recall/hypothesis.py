"""What the hypothesis lane asks of a space, and the rows it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.domain.hypothesis.wording import Said


@dataclass(frozen=True, slots=True)
class Touched:
    """What an answer holds, the nearest to the question first: groups and relationships that it says, entities in it, terms of the query."""

    group_keys: Sequence[str]
    relationship_ids: Sequence[UUID]
    entity_ids: Sequence[UUID]
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class HypothesisRow:
    """One hypothesis as it stands now. `nearness`: the class by which it was touched, and the place in it; less is nearer.

    Likelihood and confidence are thousandths.
    """

    nearness: tuple[int, int]
    hypothesis_id: UUID
    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID
    said: Said
    status: str
    likelihood: int
    confidence: int
    relationship_ids: tuple[UUID, ...]
    evidence_ids: tuple[UUID, ...]
    generator_version: str
    known_from: datetime
    updated_at: datetime
