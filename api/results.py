"""What the three operations answer, as types: the source of the output schemas and of their required keys.

The keys are those that the published client reads. Every answer may carry more; what is named here is always there.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from commonlore.domain.recall.explanation import RecallTrace

SearchState = Literal["current", "not_required", "pending", "failed"]
PublicSpaceKind = Literal["private", "team_shared"]


class PublicError(TypedDict):
    """One failure inside an answer."""

    code: str
    message: str
    retryable: bool
    next_action: str
    remediation: str


class RelationshipSplit(TypedDict):
    """One stored relationship that came out of one proposal."""

    relationship_id: str
    relationship_version: int
    split_index: int
    status: str


class RelationshipOutcome(TypedDict):
    """What became of one proposed relationship."""

    ref: str
    disposition: Literal["stored", "not_stored"]
    splits: list[RelationshipSplit]
    reason: NotRequired[str]
    message: NotRequired[str]
    remediation: NotRequired[str]


class EvidenceOutcome(TypedDict):
    """What became of one text."""

    evidence_index: int
    disposition: Literal["stored", "not_stored"]
    superseded_evidence_ids: list[str]
    search_state: SearchState
    evidence_id: NotRequired[str]
    content_hash: NotRequired[str]
    echo_of: NotRequired[
        Annotated[list[str], Meta(description="Texts that were recalled within the last day and that this one quotes, the nearest first.")]
    ]
    reason: NotRequired[str]
    message: NotRequired[str]
    remediation: NotRequired[str]
    error: NotRequired[PublicError | None]


class RememberResult(TypedDict):
    """The receipt of one `remember`."""

    contract_version: str
    submission_id: str
    submission_kind: str
    correlation_id: str
    processing_state: Literal["completed", "failed"]
    search_state: SearchState
    relationship_results: list[RelationshipOutcome]
    errors: list[PublicError]
    space_kind: PublicSpaceKind
    space: NotRequired[str]
    evidence: list[EvidenceOutcome]
    warnings: NotRequired[list[str]]


class SessionEventOutcome(TypedDict):
    """What became of one event. `duplicate`: it was taken in before, and nothing was stored."""

    event_id: str
    disposition: Literal["accepted", "duplicate"]
    processing_state: Literal["completed", "failed"]
    evidence_ids: list[str]
    search_state: SearchState
    echo_of: NotRequired[list[str]]
    reason: NotRequired[str]
    message: NotRequired[str]
    remediation: NotRequired[str]


class SessionResult(TypedDict):
    """The receipt of one `ingest_session`."""

    contract_version: str
    submission_id: str
    submission_kind: str
    correlation_id: str
    processing_state: Literal["completed", "failed"]
    search_state: SearchState
    relationship_results: list[RelationshipOutcome]
    errors: list[PublicError]
    accepted_event_count: int
    duplicate_event_count: int
    events: list[SessionEventOutcome]
    space_kind: PublicSpaceKind
    brief_ids: NotRequired[list[str]]
    warnings: NotRequired[list[str]]


class RecallEvidence(TypedDict):
    """One text that was found."""

    evidence_id: str
    context: str
    space_kind: PublicSpaceKind
    space: NotRequired[str]
    equivalent_evidence_ids: list[str]
    equivalents_truncated: bool


class RecallResult(TypedDict):
    """What one `recall_memory` found, and what it could not look at."""

    recall_id: str
    results: list[RecallEvidence]
    related_relationships: list[dict[str, Any]]
    related_communities: list[dict[str, Any]]
    related_hypotheses: NotRequired[list[dict[str, Any]]]
    conflicts: list[dict[str, Any]]
    search_states: dict[str, SearchState]
    degradations: list[dict[str, Any]]
    suggested_actions: list[dict[str, Any]]
    trace: NotRequired[RecallTrace]


class RetractedEvidence(TypedDict):
    """What became of one text."""

    evidence_id: str
    disposition: Literal["retracted", "already_retracted", "already_superseded"]
    relationships_changed: int


class RetractResult(TypedDict):
    """The receipt of one `retract_evidence`; `relationships_changed` counts each relationship once."""

    contract_version: str
    submission_id: str
    submission_kind: str
    correlation_id: str
    processing_state: Literal["completed", "failed"]
    evidence: list[RetractedEvidence]
    relationships_changed: int
    errors: list[PublicError]


class ResolutionResult(TypedDict):
    """What was decided of a conflict, and which statements ended with it."""

    contract_version: str
    submission_id: str
    correlation_id: str
    conflict_id: str
    version: int
    status: Literal["resolved", "dismissed"]
    preferred_position_id: str | None
    effective_at: str | None
    effective_time_basis: Literal["valid_from", "recorded_at", "stated"] | None
    superseded_relationships: list[dict[str, Any]]
    opened_conflict_ids: list[str]
    space_kind: PublicSpaceKind
    space: NotRequired[str]


class ContestResult(TypedDict):
    """The receipt of one `contest_evidence`."""

    contract_version: str
    submission_id: str
    correlation_id: str
    conflict_id: str
    version: int
    status: Literal["open", "overdue"]
    disposition: Literal["opened", "recited"]


class CorrectResult(TypedDict):
    """What became of one correction. `reason` is there when it was rejected, token and candidates when it awaits confirmation."""

    contract_version: str
    submission_kind: str
    correlation_id: str
    processing_state: Literal["completed", "awaiting_confirmation", "rejected"]
    search_state: SearchState
    submission_id: str | None
    correction_result: dict[str, Any] | None
    reason: NotRequired[str]
    message: NotRequired[str]
    remediation: NotRequired[str]
    space_kind: NotRequired[PublicSpaceKind]
    space: NotRequired[str]
    candidates: NotRequired[dict[str, Any]]
    confirmation_token: NotRequired[str]
    expires_at: NotRequired[str]
    warnings: NotRequired[list[str]]


class TraceResult(TypedDict):
    """One relationship with its evidence and history."""

    relationship: dict[str, Any] | None
    observations: list[dict[str, Any]]
    evidence_supports: list[dict[str, Any]]
    evidence_support_decision_events: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    evidence_lifecycle_events: list[dict[str, Any]]
    verification_events: list[dict[str, Any]]
    transitions: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    cross_profile_references: list[dict[str, Any]]
    cross_references: list[dict[str, Any]]
    identity_corrections: list[dict[str, Any]]
    supersession_lineage: list[dict[str, Any]]
    semantic_nodes: list[dict[str, Any]]
    semantic_edges: list[dict[str, Any]]
    visited_entity_ids: list[str]
    stopped_reason: str | None
