"""What requests are made of.

Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
from uuid import UUID


class QuoteProposal(TypedDict):
    """An exact place in one stored text, in code points, half-open; `quote`, if given, must be that slice."""

    evidence_id: UUID | str
    start: int
    end: int
    quote: NotRequired[str | None]


class EntityPatch(TypedDict):
    """An entity_id, or a name that is carried unless create_if_missing."""

    entity_id: NotRequired[UUID | str | None]
    name: NotRequired[str | None]
    entity_kind: NotRequired[Literal["concept", "document", "organization", "other", "person", "place", "product", "project"]]
    create_if_missing: NotRequired[bool]


class PredicatePatch(TypedDict):
    """An existing predicate, by its key or an alias."""

    key: str


class ValueProposal(TypedDict):
    """A typed value; `display` is how the text says it."""

    type: Literal["boolean", "date", "date_time", "number", "string"]
    value: str | int | float | bool
    display: NotRequired[str | None]
    unit: NotRequired[str | None]


class CorrectionPatch(TypedDict):
    """What is left out stays. A null clears scope, valid_from or valid_to."""

    subject_entity: NotRequired[EntityPatch | None]
    predicate: NotRequired[PredicatePatch | None]
    object_entity: NotRequired[EntityPatch | None]
    object_value: NotRequired[ValueProposal | None]
    polarity: NotRequired[Literal["+", "-"] | None]
    scope: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    valid_to: NotRequired[str | None]


class SupportSpan(TypedDict):
    """One support as the trace shows it."""

    evidence_id: UUID | str
    start: int
    end: int


class CorrectionSelection(TypedDict):
    """The candidate that each ambiguous end means."""

    subject_entity_id: NotRequired[UUID | str | None]
    object_entity_id: NotRequired[UUID | str | None]


class TimeCue(TypedDict):
    """A preference, never a filter. A date is that whole day in `time_zone`."""

    after: NotRequired[str | None]
    before: NotRequired[str | None]


class RecallFilter(TypedDict):
    """All must hold, of a list any. The first five narrow evidence."""

    labels: NotRequired[list[str]]
    sources: NotRequired[list[str]]
    authorities: NotRequired[list[Literal["authoritative", "inferred", "primary", "secondary", "unknown"]]]
    occurred_from: NotRequired[str | None]
    occurred_to: NotRequired[str | None]
    predicates: NotRequired[list[str]]
    subject_entity_ids: NotRequired[list[UUID | str]]
    object_entity_ids: NotRequired[list[UUID | str]]
    polarity: NotRequired[Literal["+", "-"] | None]
    scopes: NotRequired[list[str]]


class EvidenceProposal(TypedDict):
    """A text as it was said or written."""

    content: str
    source_type: NotRequired[Literal["conversation", "document", "manual", "observation"]]
    source: NotRequired[str | None]
    authority: NotRequired[Literal["authoritative", "inferred", "primary", "secondary", "unknown"]]
    source_group: NotRequired[str | None]
    source_key: NotRequired[str | None]
    source_revision: NotRequired[str | None]
    previous_source_revision: NotRequired[str | None]
    supersedes_evidence_ids: NotRequired[list[UUID | str]]
    labels: NotRequired[list[str]]
    metadata: NotRequired[dict[str, Any]]
    force_insert: NotRequired[bool]
    occurred_at: NotRequired[str | None]
    speaker: NotRequired[str | None]
    session: NotRequired[str | None]
    sequence: NotRequired[int | None]


class EntityProposal(TypedDict):
    """By name, or by an id from an earlier answer."""

    name: NotRequired[str | None]
    entity_kind: NotRequired[Literal["concept", "document", "organization", "other", "person", "place", "product", "project"]]
    known_entity_id: NotRequired[UUID | str | None]


class PredicateProposal(TypedDict):
    """A new wording, or a key from an earlier answer."""

    proposed_key: NotRequired[str | None]
    known_predicate_key: NotRequired[str | None]


class ObjectProposal(TypedDict):
    """Exactly one of the two."""

    entity: NotRequired[EntityProposal | None]
    value: NotRequired[ValueProposal | None]


class SpanProposal(TypedDict):
    """A place in one cited text, in code points; `quote` must be that slice."""

    evidence_index: int
    start: int
    end: int
    quote: NotRequired[str | None]


class VersionedTarget(TypedDict):
    relationship_id: UUID | str
    expected_version: int


class ConflictContext(TypedDict):
    conflict_id: UUID | str
    expected_version: int


class RelationshipProposal(TypedDict):
    """What you read in the cited evidence; the server verifies it."""

    ref: str
    subject: EntityProposal
    predicate: PredicateProposal
    object: ObjectProposal
    polarity: NotRequired[Literal["+", "-"]]
    evidence_indices: NotRequired[list[int]]
    known_evidence_ids: NotRequired[list[UUID | str]]
    supports: NotRequired[list[SpanProposal]]
    scope: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    valid_to: NotRequired[str | None]
    correction_target: NotRequired[VersionedTarget | None]
    conflict_context: NotRequired[ConflictContext | None]
    client_comment: NotRequired[str | None]


class SessionEvent(TypedDict):
    """What somebody said; it never changes under its `event_id`."""

    event_id: str
    text: str
    occurred_at: NotRequired[str | None]
    speaker: NotRequired[str | None]


class ResultRef(TypedDict):
    """One result of the recall. `fragment` is another word for evidence."""

    type: Literal["community", "evidence", "fragment", "hypothesis", "relationship"]
    id: UUID | str
    rank: NotRequired[int | None]


class HypothesisFeedback(TypedDict):
    hypothesis_id: UUID | str
    used: bool
    quality: Literal["high", "low", "medium"]
    contradicted: NotRequired[bool]
    comment: NotRequired[str | None]


class RecallFeedback(TypedDict):
    """What is said of one recall. A comment may be left out only where the quality is high and nothing is flagged."""

    recall_event_id: str
    used: bool
    answer_supported: bool
    quality: Literal["high", "low", "medium"]
    missing_context: NotRequired[bool]
    irrelevant: NotRequired[bool]
    feedback_comment: NotRequired[str | None]
    irrelevant_result_refs: NotRequired[list[ResultRef]]
    hypothesis_feedback: NotRequired[list[HypothesisFeedback]]


class BriefQuote(TypedDict):
    """Words of a text, exactly as they stand there. `start`, in code points, says which place is meant; without it, the first."""

    evidence_id: UUID | str
    quote: str
    start: NotRequired[int | None]


class ReadRelationship(TypedDict):
    """A relationship that the quotes state. `evidence_indices` are places in the list of quotes."""

    ref: str
    subject: EntityProposal
    predicate: PredicateProposal
    object: ObjectProposal
    evidence_indices: list[int]
    polarity: NotRequired[Literal["+", "-"]]
    scope: NotRequired[str | None]
    valid_from: NotRequired[str | None]
    valid_to: NotRequired[str | None]
