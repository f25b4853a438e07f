"""What comes back. An answer may have more keys than are named here.

Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from commonlore.client.pieces import (
    BriefAnswer,
    EvidenceOutcome,
    ListedPromotion,
    PromotedText,
    PublicError,
    RecallEvidence,
    RelationshipOutcome,
    RetractedEvidence,
    SessionEventOutcome,
)
from commonlore.client.traces import RecallTrace


class BriefEntryAnswer(TypedDict):
    """One brief that nobody decided."""

    brief_id: str
    claimed_until: str | None
    kind: Literal["assess_conflict", "judge_hypothesis", "merge_entities", "read_session", "summarise_community", "verify_relationship"]
    state: Literal["claimed", "open"]
    title: str


class BriefListAnswer(TypedDict):
    """Briefs of the kinds that the key may decide, by kind."""

    briefs: list[BriefEntryAnswer]
    next_cursor: str | None


class ClaimedBriefAnswer(TypedDict):
    """`claim_id` is needed to answer; no other answer shows it."""

    brief: BriefAnswer
    claim_id: str
    expires_at: str


class ContestResult(TypedDict):
    """The receipt of one `contest_evidence`."""

    conflict_id: str
    contract_version: str
    correlation_id: str
    disposition: Literal["opened", "recited"]
    status: Literal["open", "overdue"]
    submission_id: str
    version: int


class CorrectResult(TypedDict):
    """What became of one correction. `reason` is there when it was rejected, token and candidates when it awaits confirmation."""

    candidates: NotRequired[dict[str, Any]]
    confirmation_token: NotRequired[str]
    contract_version: str
    correction_result: dict[str, Any] | None
    correlation_id: str
    expires_at: NotRequired[str]
    message: NotRequired[str]
    processing_state: Literal["awaiting_confirmation", "completed", "rejected"]
    reason: NotRequired[str]
    remediation: NotRequired[str]
    search_state: Literal["current", "failed", "not_required", "pending"]
    space: NotRequired[str]
    space_kind: NotRequired[Literal["private", "team_shared"]]
    submission_id: str | None
    submission_kind: str
    warnings: NotRequired[list[str]]


class DescribedBriefAnswer(TypedDict):
    """A brief and what became of it. `obsolete`: what it is about moved on; `brief` is null then."""

    brief: BriefAnswer | None
    brief_id: str
    claimed_until: str | None
    events: list[dict[str, Any]]
    state: Literal["claimed", "decided", "obsolete", "open"]
    summary: dict[str, Any] | None


class Dream(TypedDict):
    """One hypothesis with its premises, why it was proposed, and what became of it."""

    derivations: list[dict[str, Any]]
    events: list[dict[str, Any]]
    hypothesis: dict[str, Any]
    invalidated_reason: NotRequired[Literal["already_known", "feedback", "source_changed"]]
    rationale: str
    submission_id: NotRequired[str]
    updated_at: str
    version: int


class DreamList(TypedDict):
    """One page of hypotheses, the newest first."""

    dreams: list[dict[str, Any]]
    next_cursor: str | None


class DreamResolution(TypedDict):
    """What came of a decision. `submission` is the receipt of `remember` where it was confirmed; `not_stored`: the texts did not carry it."""

    disposition: Literal["changed", "not_stored", "unchanged"]
    hypothesis: dict[str, Any]
    submission: NotRequired[dict[str, Any]]


class FeedbackReceipt(TypedDict):
    """How many were taken, in order. Where one does not fit, the rest of the fields say which and why; those after it were not looked at."""

    error_code: NotRequired[Literal["invalid_input"]]
    failed_index: NotRequired[int]
    next_action: NotRequired[Literal["correct_and_resubmit"]]
    reason_code: NotRequired[Literal["invalid_feedback", "reference_not_found", "result_reference_invalid"]]
    recorded: int


class PromotionAnswer(TypedDict):
    """What became of the texts, in the order of the request. `promotion_id` is that of this call, null where everything stood already."""

    evidence: list[PromotedText]
    promotion_id: str | None
    relationship_results: list[dict[str, Any]]
    space: str | None
    space_kind: Literal["team_shared"]
    state: Literal["promoted", "requested"]
    warnings: list[str]


class PromotionDecision(TypedDict):
    """What a request became."""

    evidence: list[PromotedText]
    promotion_id: str
    relationship_results: list[dict[str, Any]]
    state: Literal["promoted", "rejected"]
    warnings: list[str]


class PromotionList(TypedDict):
    """Promotions, the newest first. Send `next_before` as `before` to read on."""

    next_before: str | None
    promotions: list[ListedPromotion]


class RecallResult(TypedDict):
    """What one `recall_memory` found, and what it could not look at."""

    conflicts: list[dict[str, Any]]
    degradations: list[dict[str, Any]]
    recall_id: str
    related_communities: list[dict[str, Any]]
    related_hypotheses: NotRequired[list[dict[str, Any]]]
    related_relationships: list[dict[str, Any]]
    results: list[RecallEvidence]
    search_states: dict[str, Literal["current", "failed", "not_required", "pending"]]
    suggested_actions: list[dict[str, Any]]
    trace: NotRequired[RecallTrace]


class ReleasedBriefAnswer(TypedDict):
    """The brief can be claimed again."""

    brief_id: str
    state: Literal["open"]


class RememberResult(TypedDict):
    """The receipt of one `remember`."""

    contract_version: str
    correlation_id: str
    errors: list[PublicError]
    evidence: list[EvidenceOutcome]
    processing_state: Literal["completed", "failed"]
    relationship_results: list[RelationshipOutcome]
    search_state: Literal["current", "failed", "not_required", "pending"]
    space: NotRequired[str]
    space_kind: Literal["private", "team_shared"]
    submission_id: str
    submission_kind: str
    warnings: NotRequired[list[str]]


class ResolutionResult(TypedDict):
    """What was decided of a conflict, and which statements ended with it."""

    conflict_id: str
    contract_version: str
    correlation_id: str
    effective_at: str | None
    effective_time_basis: Literal["recorded_at", "stated", "valid_from"] | None
    opened_conflict_ids: list[str]
    preferred_position_id: str | None
    space: NotRequired[str]
    space_kind: Literal["private", "team_shared"]
    status: Literal["dismissed", "resolved"]
    submission_id: str
    superseded_relationships: list[dict[str, Any]]
    version: int


class RetractResult(TypedDict):
    """The receipt of one `retract_evidence`; `relationships_changed` counts each relationship once."""

    contract_version: str
    correlation_id: str
    errors: list[PublicError]
    evidence: list[RetractedEvidence]
    processing_state: Literal["completed", "failed"]
    relationships_changed: int
    submission_id: str
    submission_kind: str


class Revocation(TypedDict):
    """`withdrawn`: how many copies ended with it."""

    promotion_id: str
    state: Literal["revoked"]
    withdrawn: int


class SessionResult(TypedDict):
    """The receipt of one `ingest_session`."""

    accepted_event_count: int
    brief_ids: NotRequired[list[str]]
    contract_version: str
    correlation_id: str
    duplicate_event_count: int
    errors: list[PublicError]
    events: list[SessionEventOutcome]
    processing_state: Literal["completed", "failed"]
    relationship_results: list[RelationshipOutcome]
    search_state: Literal["current", "failed", "not_required", "pending"]
    space_kind: Literal["private", "team_shared"]
    submission_id: str
    submission_kind: str
    warnings: NotRequired[list[str]]


class TraceResult(TypedDict):
    """One relationship with its evidence and history."""

    conflicts: list[dict[str, Any]]
    cross_profile_references: list[dict[str, Any]]
    cross_references: list[dict[str, Any]]
    evidence: list[dict[str, Any]]
    evidence_lifecycle_events: list[dict[str, Any]]
    evidence_support_decision_events: list[dict[str, Any]]
    evidence_supports: list[dict[str, Any]]
    identity_corrections: list[dict[str, Any]]
    observations: list[dict[str, Any]]
    relationship: dict[str, Any] | None
    semantic_edges: list[dict[str, Any]]
    semantic_nodes: list[dict[str, Any]]
    stopped_reason: str | None
    supersession_lineage: list[dict[str, Any]]
    transitions: list[dict[str, Any]]
    verification_events: list[dict[str, Any]]
    visited_entity_ids: list[str]


class VerdictAnswer(TypedDict):
    """`applied`: the operation that was done and what it changed; null for a verdict that changes nothing."""

    applied: dict[str, Any] | None
    brief_id: str
    contract_version: str
    correlation_id: str
    decision: Literal[
        "confirm",
        "contradicted",
        "different",
        "dismiss",
        "entailed",
        "insufficient",
        "leave_open",
        "no_summary",
        "reinforce",
        "reject",
        "resolve",
        "same",
        "states",
        "states_nothing",
        "summary",
        "unsure",
    ]
    space: NotRequired[str]
    space_kind: Literal["private", "team_shared"]
    state: Literal["decided"]
    submission_id: str
