"""The rows that one call adds or changes in the ledger, named as their columns. All are decided before any is written."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import Struct, field


class EntityRow(Struct, frozen=True, kw_only=True):
    entity_id: UUID
    entity_name_id: UUID
    entity_kind: str
    display_name: str
    name_key: str


class NameRow(Struct, frozen=True, kw_only=True):
    """An alias and the place in a text that carries it."""

    entity_name_id: UUID
    entity_id: UUID
    entity_kind: str
    display_name: str
    name_key: str
    evidence_id: UUID
    span_start: int
    span_end: int


class ResolutionRow(Struct, frozen=True, kw_only=True):
    event_id: UUID
    mention_ref: str
    name: str
    entity_kind: str
    action: str
    entity_id: UUID | None


class ValueRow(Struct, frozen=True, kw_only=True):
    value_id: UUID
    value_type: str
    canonical_value: str
    unit: str | None
    display: str
    normalization_version: int


class PredicateRow(Struct, frozen=True, kw_only=True):
    event_id: UUID
    predicate_key: str
    version: int
    aliases: tuple[str, ...]
    subject_kinds: tuple[str, ...]
    object_kinds: tuple[str, ...]
    relationship_kind: str
    current_cardinality: str
    policy: str


class RelationshipRow(Struct, frozen=True, kw_only=True):
    relationship_id: UUID
    semantic_group_key: str
    subject_entity_id: UUID
    predicate_key: str
    predicate_version: int
    object_entity_id: UUID | None
    object_value_id: UUID | None
    relationship_kind: str
    current_cardinality: str
    status: str
    polarity: str
    scope_key: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    support_count: int
    source_group_count: int
    version: int
    known_to: datetime | None


class RelationshipChange(Struct, frozen=True, kw_only=True):
    """A row that exists already. `known_to` is set where it stops being held; counts are taken anew from the events."""

    relationship_id: UUID
    status: str
    valid_to: datetime | None
    version: int
    known_to: datetime | None


class ObservationRow(Struct, frozen=True, kw_only=True):
    observation_id: UUID
    relationship_id: UUID | None
    ref: str
    proposal: dict[str, object]


class VerificationRow(Struct, frozen=True, kw_only=True):
    event_id: UUID
    observation_id: UUID
    evidence_verdict: str
    verifier: str
    confidence: float
    rationale: str


class SupportRow(Struct, frozen=True, kw_only=True):
    support_id: UUID
    decision_event_id: UUID
    relationship_id: UUID
    observation_id: UUID
    verification_event_id: UUID
    evidence_id: UUID
    source_group_key: str
    span_start: int
    span_end: int
    quote: str
    authority: str
    copied_from: UUID | None = None


class DecisionRow(Struct, frozen=True, kw_only=True):
    """A later decision on a support that is there already."""

    event_id: UUID
    support_id: UUID
    decision: str
    reason: str


class ReferenceRow(Struct, frozen=True, kw_only=True):
    """What one relationship says of another, at the versions that both have when it is said."""

    reference_id: UUID
    source_relationship_id: UUID
    source_version: int
    target_relationship_id: UUID
    target_version: int
    kind: str
    verification_event_id: UUID | None


class TransitionRow(Struct, frozen=True, kw_only=True):
    event_id: UUID
    relationship_id: UUID
    from_status: str | None
    to_status: str
    version: int
    reason: str
    verification_event_id: UUID | None


class DocumentRow(Struct, frozen=True, kw_only=True):
    """A search document to write; `replaces` is the text it takes the place of."""

    relationship_id: UUID
    source_version: int
    document_text: str
    replaces: str | None


class Changes(Struct, kw_only=True):
    """In the order in which they are written."""

    entities: list[EntityRow] = field(default_factory=list)
    names: list[NameRow] = field(default_factory=list)
    resolutions: list[ResolutionRow] = field(default_factory=list)
    values: list[ValueRow] = field(default_factory=list)
    predicates: list[PredicateRow] = field(default_factory=list)
    relationships: list[RelationshipRow] = field(default_factory=list)
    changed: list[RelationshipChange] = field(default_factory=list)
    observations: list[ObservationRow] = field(default_factory=list)
    verifications: list[VerificationRow] = field(default_factory=list)
    supports: list[SupportRow] = field(default_factory=list)
    decisions: list[DecisionRow] = field(default_factory=list)
    transitions: list[TransitionRow] = field(default_factory=list)
    references: list[ReferenceRow] = field(default_factory=list)
    documents: list[DocumentRow] = field(default_factory=list)
