"""The tool by which callers say how good a recall was, and what administrators do about it: rows of the tables, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.feedback.request import DescribeFeedbackRequest, SubmitFeedbackRequest, UpdateFeedbackRequest
from commonlore.domain.tenancy.actor import Scope

Count = Annotated[int, Meta(ge=0)]
_ID = "01982f00-0000-7000-8000-000000000001"


class FeedbackReceipt(TypedDict):
    """How many were taken, in order. Where one does not fit, the rest of the fields say which and why; those after it were not looked at."""

    recorded: Count
    failed_index: NotRequired[Count]
    error_code: NotRequired[Literal["invalid_input"]]
    reason_code: NotRequired[Literal["result_reference_invalid", "reference_not_found", "invalid_feedback"]]
    next_action: NotRequired[Literal["correct_and_resubmit"]]


class LaneFeedback(TypedDict):
    """Results of one lane in recalls of which something was said. `irrelevant_ranks` is the sum of the ranks of those called irrelevant."""

    lane: Annotated[str, Meta(description="evidence, relationship, community, community_relationship or hypothesis")]
    shown: Count
    irrelevant: Count
    irrelevant_first: Annotated[int, Meta(ge=0, description="Those of rank 1.")]
    irrelevant_ranks: Count
    used: Annotated[int, Meta(ge=0, description="Hypotheses alone.")]
    contradicted: Annotated[int, Meta(ge=0, description="Hypotheses alone.")]


class RankingFeedback(TypedDict):
    """Recalls of one ranking that were kept, and what was said of them."""

    ranking: Annotated[str, Meta(description="The versions of the policy, of the evidence contract and of the fusion of spaces.")]
    recalls: Count
    answered: Count
    used: Count
    supported: Count
    high: Count
    medium: Count
    low: Count
    missing_context: Count
    irrelevant: Count
    lanes: list[LaneFeedback]


class FeedbackReport(TypedDict):
    """What feedback says, by ranking and lane. No ranking reads it."""

    enabled: bool
    rankings: list[RankingFeedback]


class FeedbackSwitch(TypedDict):
    """Whether recalls are kept for feedback."""

    enabled: bool


# Name, title, description, request, result, scope, (read-only, destructive, idempotent), example.
FEEDBACK: tuple[tuple[str, str, str, type[SubmitFeedbackRequest], type[Any], Scope, tuple[bool, bool, bool], Mapping[str, object]], ...] = (
    (
        "submit_recall_session_feedback",
        "Say how good recalls were",
        "Say of recalls of this key whether they were used and carried the answer, and which results did not belong; a recall that may be judged says so.",
        SubmitFeedbackRequest,
        FeedbackReceipt,
        "read",
        (False, False, True),
        {"recalls": [{"recall_event_id": f"rec_{_ID}", "used": True, "answer_supported": True, "quality": "high"}]},
    ),
)

FEEDBACK_ADMIN: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_feedback",
        "Report feedback",
        "What callers said of recalls of a period, by ranking and lane; counts alone.",
        DescribeFeedbackRequest,
        FeedbackReport,
        {"since": "2026-07-01T00:00:00Z"},
    ),
    (
        "update_feedback",
        "Switch feedback",
        "Whether recalls of the team are kept for feedback from the next one on: the ids of what they showed, and no text. Off by default.",
        UpdateFeedbackRequest,
        FeedbackSwitch,
        {"enabled": True},
    ),
)
