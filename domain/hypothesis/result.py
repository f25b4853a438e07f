"""A hypothesis as answers show it. Likelihood and confidence are between 0 and 1."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType


class HypothesisItem(Struct, frozen=True, kw_only=True):
    """One of `related_hypotheses` and of `list_dreams`; only the former has a rank. It is no evidence, and no relationship says it."""

    hypothesis_id: UUID
    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID
    statement: str
    status: str
    likelihood: float
    confidence: float
    source_relationship_ids: list[UUID]
    source_evidence_ids: list[UUID]
    lane: Literal["graph"]
    generator_kind: Literal["deterministic"]
    generator_version: str
    created_at: datetime
    space_kind: str
    rank: int | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    space: str | UnsetType = UNSET


class Derivation(Struct, frozen=True, kw_only=True):
    """One premise. `quote` is there while the text that it was read in counts; `is_current`, while this version of the relationship does."""

    premise_position: int
    relationship_id: UUID
    relationship_version: int
    is_current: bool
    statement: str
    evidence_id: UUID
    source_group_key: str
    authority: str
    owner_profile_id: UUID
    quote: str | UnsetType = UNSET


class HypothesisEvent(Struct, frozen=True, kw_only=True):
    """What became of it, and who said so; nobody where a run or a write of its sources did."""

    version: int
    status: str
    reason: str
    known_from: datetime
    decision: str | UnsetType = UNSET
    actor_profile_id: UUID | UnsetType = UNSET
    submission_id: UUID | UnsetType = UNSET


class HypothesisDetail(Struct, frozen=True, kw_only=True):
    """One hypothesis whole."""

    hypothesis: HypothesisItem
    version: int
    rationale: str
    updated_at: datetime
    derivations: list[Derivation]
    events: list[HypothesisEvent]
    invalidated_reason: str | UnsetType = UNSET
    submission_id: UUID | UnsetType = UNSET
