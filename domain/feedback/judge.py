"""What of a recall is kept for feedback, and whether feedback fits it. Pure; nothing here is read by a recall."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.degradation import Degradation
from commonlore.domain.feedback.request import Quality, RecallFeedback, ResultKind
from commonlore.domain.recall.result import DegradationItem, RecallResult

SUBMIT = "submit_recall_session_feedback"
ReasonCode = Literal["result_reference_invalid", "reference_not_found", "invalid_feedback"]
LACKING = Degradation("feedback", "recall_feedback_snapshot_unavailable")


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result of a recall by its id alone. `rank` counts from 1 in its lane; of a relationship inside a community, in that community."""

    kind: ResultKind
    result_id: UUID
    rank: int
    nested: bool = False


class FeedbackResult(Struct, frozen=True, kw_only=True):
    """`recorded`: how many were taken, in order. The rest is there where one failed; what follows it was not looked at."""

    recorded: int
    failed_index: int | UnsetType = UNSET
    error_code: Literal["invalid_input"] | UnsetType = UNSET
    reason_code: ReasonCode | UnsetType = UNSET
    next_action: Literal["correct_and_resubmit"] | UnsetType = UNSET


def shown_results(result: RecallResult) -> list[ShownResult]:
    """Every result of an answer once, in the order of its lanes."""
    return list({(item.kind, item.result_id): item for item in reversed(list(_each(result)))}.values())[::-1]


def _each(result: RecallResult) -> Iterator[ShownResult]:
    for rank, evidence in enumerate(result.results, start=1):
        yield ShownResult("evidence", evidence.evidence_id, rank)
    for rank, relationship in enumerate(result.related_relationships, start=1):
        yield ShownResult("relationship", relationship.relationship_id, rank)
    for rank, community in enumerate(result.related_communities, start=1):
        yield ShownResult("community", community.community_id, rank)
        for place, relationship in enumerate(community.relationships, start=1):
            yield ShownResult("relationship", relationship.relationship_id, place, nested=True)
    for rank, hypothesis in enumerate(result.related_hypotheses, start=1):
        yield ShownResult("hypothesis", hypothesis.hypothesis_id, rank)


def problem_of(feedback: RecallFeedback, shown: Collection[tuple[ResultKind, UUID]] | None) -> ReasonCode | None:
    """Why feedback cannot be taken. `shown`: the results of the recall; None where the caller has no such recall."""
    if shown is None:
        return "reference_not_found"
    if feedback.needs_comment and not feedback.has_comment:
        return "invalid_feedback"
    named: list[tuple[ResultKind, UUID]] = [(ref.kind, ref.id) for ref in feedback.irrelevant_result_refs]
    named += [("hypothesis", item.hypothesis_id) for item in feedback.hypothesis_feedback]
    return "result_reference_invalid" if any(key not in shown for key in named) else None


@dataclass(frozen=True, slots=True)
class Mark:
    """What feedback says of one result."""

    kind: ResultKind
    result_id: UUID
    irrelevant: bool = False
    used: bool | None = None
    quality: Quality | None = None
    contradicted: bool | None = None


def marks_of(feedback: RecallFeedback) -> list[Mark]:
    """Each result that is named, once."""
    irrelevant = {(ref.kind, ref.id) for ref in feedback.irrelevant_result_refs}
    found = {
        ("hypothesis", item.hypothesis_id): Mark(
            "hypothesis", item.hypothesis_id, ("hypothesis", item.hypothesis_id) in irrelevant, item.used, item.quality, item.contradicted
        )
        for item in feedback.hypothesis_feedback
    }
    return [*found.values(), *(Mark(kind, key, irrelevant=True) for kind, key in sorted(irrelevant - found.keys()))]


def with_suggestion(result: RecallResult) -> RecallResult:
    """The answer, and that feedback on it would be taken."""
    return msgspec.structs.replace(result, suggested_actions=[*result.suggested_actions, {"action": SUBMIT, "recall_event_id": result.recall_id}])


def without_snapshot(result: RecallResult) -> RecallResult:
    """The answer, and that no feedback on it can be taken."""
    lacking = DegradationItem(frontier=LACKING.frontier, code=LACKING.code, optional=True, message=LACKING.message)
    return msgspec.structs.replace(result, degradations=sorted([*result.degradations, lacking], key=lambda item: (item.frontier, item.code)))
