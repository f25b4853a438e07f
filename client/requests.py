"""What may be sent: one type a tool.

Made by `python -m tests.unit.client.client_source` from the OpenAPI document; a test compares it.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
from uuid import UUID

from commonlore.client.proposals import (
    BriefQuote,
    CorrectionPatch,
    CorrectionSelection,
    EvidenceProposal,
    QuoteProposal,
    ReadRelationship,
    RecallFeedback,
    RecallFilter,
    RelationshipProposal,
    SessionEvent,
    SupportSpan,
    TimeCue,
)


class ClaimBriefRequest(TypedDict):
    """Takes a brief for `lease_seconds`. With the `claim_id` of a claim that still runs it is extended."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    brief_id: str
    lease_seconds: NotRequired[int]
    claim_id: NotRequired[UUID | str | None]


class ContestEvidenceRequest(TypedDict):
    """Two to ten quotes that cannot all be right. The same `case_key` with the same quotes again notes that they were met again."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    case_key: str
    question: str
    positions: list[QuoteProposal]
    reason: str
    idempotency_key: NotRequired[str | None]


class CorrectRequest(TypedDict):
    """`submit` names the relationship, the version it was read at and the patch; `confirm` settles one that awaits confirmation."""

    action: NotRequired[Literal["confirm", "submit"]]
    relationship_id: UUID | str
    expected_version: NotRequired[int | None]
    patch: NotRequired[CorrectionPatch | None]
    supports: NotRequired[list[SupportSpan] | None]
    reason: NotRequired[str | None]
    submission_id: NotRequired[UUID | str | None]
    confirmation_token: NotRequired[str | None]
    selection: NotRequired[CorrectionSelection | None]
    idempotency_key: NotRequired[str | None]


class DecidePromotionRequest(TypedDict):
    """What becomes of a request."""

    promotion_id: UUID | str
    decision: Literal["approve", "reject"]
    reason: str


class DescribeBriefRequest(TypedDict):
    """One brief with what became of it."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    brief_id: str


class GetDreamRequest(TypedDict):
    """One hypothesis with its premises, why it was proposed, and what became of it."""

    hypothesis_id: UUID | str


class ListBriefsRequest(TypedDict):
    """Briefs that nobody decided, by kind and then in a fixed order. Without `kinds`, all."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    kinds: NotRequired[
        list[Literal["assess_conflict", "judge_hypothesis", "merge_entities", "read_session", "summarise_community", "verify_relationship"]]
    ]
    limit: NotRequired[int]
    cursor: NotRequired[str | None]


class ListDreamsRequest(TypedDict):
    """Hypotheses of every space that the key reads, the newest first. `cursor` is the `next_cursor` of the page before, with the same `status`."""

    status: NotRequired[Literal["proposed", "reinforced", "rejected", "stale", "submitted"] | None]
    limit: NotRequired[int]
    cursor: NotRequired[str | None]


class ListPromotionsRequest(TypedDict):
    """Promotions of the key's own member, the newest first; for an administrator also those into spaces where it may write."""

    state: NotRequired[Literal["expired", "promoted", "rejected", "requested", "revoked"] | None]
    limit: NotRequired[int]
    before: NotRequired[UUID | str | None]


class PromoteRequest(TypedDict):
    """Texts of the key's private space, stored by its own member, that are to lie in a shared one as well.

    `review`: ask whoever may write there instead of doing it; so does a key that may only read there.
    """

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    evidence_ids: list[UUID | str]
    relationships: NotRequired[bool]
    review: NotRequired[bool]
    reason: NotRequired[str | None]


class RecallRequest(TypedDict):
    """`limit` bounds evidence, `relationship_limit` the direct relationships (0 switches the lane off).

    Ids that are unknown or foreign are ignored. `valid_at`, `known_at` and `asked_at` are RFC 3339 with an offset.
    """

    query: str
    limit: NotRequired[int]
    relationship_limit: NotRequired[int]
    community_limit: NotRequired[int]
    community_relationship_limit: NotRequired[int]
    valid_at: NotRequired[str | None]
    known_at: NotRequired[str | None]
    asked_at: NotRequired[str | None]
    time_zone: NotRequired[str | None]
    time_cue: NotRequired[TimeCue | None]
    known_evidence_ids: NotRequired[list[UUID | str]]
    known_relationship_ids: NotRequired[list[UUID | str]]
    expand_from_entity_ids: NotRequired[list[UUID | str]]
    filter: NotRequired[RecallFilter | None]
    spaces: NotRequired[list[str]]
    trace: NotRequired[bool]


class ReleaseBriefRequest(TypedDict):
    """Gives a claimed brief back before its time."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    brief_id: str
    claim_id: UUID | str
    reason: str


class RememberRequest(TypedDict):
    """One call: 1 to 20 texts and up to 200 relationships read in them."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    evidence: list[EvidenceProposal]
    relationships: NotRequired[list[RelationshipProposal]]
    idempotency_key: NotRequired[str | None]


class ResolveConflictRequest(TypedDict):
    """`resolve` prefers one position from `effective_at` on; `dismiss` lets all of them stand. `expected_version` is that of the case as it was read."""

    conflict_id: UUID | str
    expected_version: int
    action: Literal["dismiss", "resolve"]
    reason: str
    preferred_position_id: NotRequired[UUID | str | None]
    effective_at: NotRequired[str | None]
    idempotency_key: NotRequired[str | None]


class ResolveDreamRequest(TypedDict):
    """What became of a hypothesis.

    `confirm_true` and `confirm_false` bring the texts that say so: they are remembered like any others, with what the
    hypothesis says, or denies, read in all of them unless `relationships` are given.
    """

    hypothesis_id: UUID | str
    decision: Literal["confirm_false", "confirm_true", "reinforce", "reject", "stale"]
    reason: NotRequired[str | None]
    evidence: NotRequired[list[EvidenceProposal]]
    relationships: NotRequired[list[RelationshipProposal]]
    idempotency_key: NotRequired[str | None]


class RetractRequest(TypedDict):
    """1 to 50 texts of one's own member, and why."""

    evidence_ids: list[UUID | str]
    reason: str
    idempotency_key: NotRequired[str | None]


class RevokePromotionRequest(TypedDict):
    """A promotion whose copies are taken back, or a request that is."""

    promotion_id: UUID | str
    reason: str


class SessionRequest(TypedDict):
    """Events of one session in their order. The four names say where they come from; they open nothing."""

    framework: str
    app_name: str
    user_id: str
    session_id: str
    events: list[SessionEvent]
    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    idempotency_key: NotRequired[str | None]


class SubmitFeedbackRequest(TypedDict):
    """Feedback on recalls of this credential, in order."""

    recalls: list[RecallFeedback]


class SubmitVerdictRequest(TypedDict):
    """The answer to a claimed brief. What a decision needs and allows says the brief; `answered_by` names the model or person in your own words."""

    target_space: NotRequired[Literal["private", "team_shared"]]
    space: NotRequired[str | None]
    brief_id: str
    claim_id: UUID | str
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
    reason: str
    quotes: NotRequired[list[BriefQuote]]
    preferred_position_id: NotRequired[UUID | str | None]
    effective_at: NotRequired[str | None]
    keep_entity_id: NotRequired[UUID | str | None]
    summary: NotRequired[str | None]
    relationships: NotRequired[list[ReadRelationship]]
    answered_by: NotRequired[str | None]
    idempotency_key: NotRequired[str | None]


class TraceRequest(TypedDict):
    """One relationship with its evidence and history.

    `page_size` bounds each list of events; `cursor` continues the lists that were cut. Graph context reaches
    `max_depth` steps and `max_edges` relationships; 0 switches it off.
    """

    relationship_id: UUID | str
    include_evidence_content: NotRequired[bool]
    include_verification: NotRequired[bool]
    include_transitions: NotRequired[bool]
    max_depth: NotRequired[int]
    max_edges: NotRequired[int]
    predicate_keys: NotRequired[list[str]]
    topic: NotRequired[str | None]
    min_relevance: NotRequired[float | None]
    page_size: NotRequired[int]
    cursor: NotRequired[str | None]
