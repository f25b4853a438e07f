"""The rows a recall reads and the answer it gives (the published client's RecallResult, with additive fields only)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.conflict.view import ConflictItem
from commonlore.domain.degradation import Degradation, SearchState
from commonlore.domain.hypothesis.result import HypothesisItem
from commonlore.domain.recall.explanation import RecallTrace

Withdrawn = Literal["superseded", "retracted", "erased", "quarantined", "source_revised"]


@dataclass(frozen=True, slots=True)
class SupportPath:
    """A granted way from evidence to a relationship, and whether it counts in the view."""

    relationship_id: UUID
    semantic_group_key: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class PartText:
    """One part as read for the context: its number, and the exact text."""

    part_no: int
    text: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """The authoritative row of a candidate in one view."""

    evidence_id: UUID
    content_sha256: bytes
    parts: tuple[PartText, ...]
    part_count: int
    source: str | None
    source_type: str
    authority: str
    speaker: str | None
    session: str | None
    occurred_at: datetime | None
    known_from: datetime
    owner_active: bool
    known_in_view: bool
    withdrawn: Withdrawn | None
    paths: tuple[SupportPath, ...]
    equivalents: tuple[UUID, ...] = ()
    owner_profile_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """An eligible relationship, ready to be shown."""

    relationship_id: UUID
    semantic_group_key: str
    known_from: datetime
    subject: EntityRef
    predicate: str
    object: EntityRef | ValueRef
    polarity: str
    scope: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    evidence_ids: tuple[UUID, ...]
    search_state: SearchState


class EntityRef(Struct, frozen=True, kw_only=True):
    entity_id: UUID
    name: str


class ValueRef(Struct, frozen=True, kw_only=True):
    value_id: UUID
    type: str
    value: str
    display: str
    unit: str | UnsetType = UNSET


class EvidenceItem(Struct, frozen=True, kw_only=True):
    """One result; its place in the array is its rank."""

    evidence_id: UUID
    context: str
    rank: int
    space_kind: str
    equivalent_evidence_ids: list[UUID]
    equivalents_truncated: bool
    relationship_ids: list[UUID]
    source_type: str
    authority: str
    created_at: datetime
    context_truncated: bool
    source: str | UnsetType = UNSET
    speaker: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    occurred_at: datetime | UnsetType = UNSET
    space: str | UnsetType = UNSET


class RelationshipItem(Struct, frozen=True, kw_only=True):
    """The representative of a semantic group; `equivalent_relationship_ids` are the other authors' rows."""

    relationship_id: UUID
    equivalent_relationship_ids: list[UUID]
    subject: EntityRef
    predicate: str
    object: EntityRef | ValueRef
    polarity: str
    evidence_ids: list[UUID]
    search_state: SearchState
    space_kind: str
    scope: str | UnsetType = UNSET
    valid_from: datetime | UnsetType = UNSET
    valid_to: datetime | UnsetType = UNSET
    space: str | UnsetType = UNSET


class CommunityItem(Struct, frozen=True, kw_only=True):
    """A community of which the answer says at least one relationship. `published_at` tells its age."""

    community_id: UUID
    logical_community_id: UUID
    rank: int
    summary: str
    top_entities: list[EntityRef]
    top_predicates: list[str]
    entity_count: int
    relationship_count: int
    relationships: list[RelationshipItem]
    relationships_truncated: bool
    published_at: datetime
    space_kind: str
    space: str | UnsetType = UNSET


class DegradationItem(Struct, frozen=True, kw_only=True):
    frontier: str
    code: str
    optional: bool
    message: str


class RecallResult(Struct, frozen=True, kw_only=True):
    """Every list is present, also when empty. Array order is rank."""

    recall_id: str
    results: list[EvidenceItem]
    conflicts: list[ConflictItem]
    related_relationships: list[RelationshipItem]
    related_communities: list[CommunityItem]
    related_hypotheses: list[HypothesisItem]
    search_states: dict[str, SearchState]
    degradations: list[DegradationItem]
    suggested_actions: list[dict[str, object]]
    trace: RecallTrace | UnsetType = UNSET


def render_degradations(degradations: set[Degradation]) -> list[DegradationItem]:
    """Each once, by frontier and code."""
    return [DegradationItem(frontier=item.frontier, code=item.code, optional=True, message=item.message) for item in sorted(degradations)]
