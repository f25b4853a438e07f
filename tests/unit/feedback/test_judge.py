"""What of a recall is kept for feedback, and which feedback fits it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.domain.feedback.judge import Mark, marks_of, problem_of, shown_results, with_suggestion, without_snapshot
from commonlore.domain.feedback.request import RecallFeedback, ResultKind
from commonlore.domain.recall.result import RecallResult

A, B, C = (UUID(int=number) for number in (1, 2, 3))
SHOWN: set[tuple[ResultKind, UUID]] = {("evidence", A), ("relationship", B), ("hypothesis", C)}


def feedback(**fields: Any) -> RecallFeedback:
    plain = {"recall_event_id": f"rec_{A}", "used": True, "answer_supported": True, "quality": "high"}
    return msgspec.convert(plain | fields, RecallFeedback)


def ref(kind: str, key: UUID) -> dict[str, Any]:
    return {"type": kind, "id": str(key), "rank": 1}


def hypothesis(key: UUID) -> dict[str, Any]:
    return {"hypothesis_id": str(key), "used": True, "quality": "low", "contradicted": True}


def result(**lanes: Any) -> RecallResult:
    empty: dict[str, Any] = {
        name: [] for name in ("results", "conflicts", "related_relationships", "related_communities", "related_hypotheses", "degradations")
    }
    return RecallResult(recall_id=f"rec_{A}", search_states={}, suggested_actions=[], **(empty | lanes))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, None),
        ({"irrelevant_result_refs": [ref("evidence", A), ref("fragment", A), ref("relationship", B)]}, None),
        ({"hypothesis_feedback": [hypothesis(C)]}, None),
        ({"irrelevant_result_refs": [ref("relationship", A)]}, "result_reference_invalid"),
        ({"hypothesis_feedback": [hypothesis(A)]}, "result_reference_invalid"),
        ({"quality": "medium"}, "invalid_feedback"),
        ({"missing_context": True}, "invalid_feedback"),
        ({"irrelevant": True, "feedback_comment": "  "}, "invalid_feedback"),
        ({"quality": "low", "feedback_comment": "wrong year"}, None),
    ],
)
def test_a_reference_must_have_been_shown_and_a_complaint_explained(fields: dict[str, Any], problem: str | None) -> None:
    assert problem == problem_of(feedback(**fields), SHOWN)


def test_a_recall_of_somebody_else_is_not_there() -> None:
    assert "reference_not_found" == problem_of(feedback(quality="low"), None)


@pytest.mark.parametrize(("text", "found"), [(f"rec_{A}", A), (str(A), A), ("rec_x", None), ("another", None)])
def test_a_recall_is_named_by_its_id(text: str, found: UUID | None) -> None:
    assert found == feedback(recall_event_id=text).recall_id


def test_a_result_that_is_named_twice_has_one_mark() -> None:
    said = feedback(irrelevant_result_refs=[ref("evidence", A), ref("fragment", A), ref("hypothesis", C)], hypothesis_feedback=[hypothesis(C)])

    assert [Mark("hypothesis", C, True, True, "low", True), Mark("evidence", A, True)] == marks_of(said)


def test_the_answer_itself_stays_as_it_is() -> None:
    """What is said beside it is the one thing that differs."""

    plain = result()
    offered, lacking = msgspec.to_builtins(with_suggestion(plain)), msgspec.to_builtins(without_snapshot(plain))
    whole = msgspec.to_builtins(plain)

    assert [{"action": "submit_recall_session_feedback", "recall_event_id": f"rec_{A}"}] == offered.pop("suggested_actions")
    assert ["recall_feedback_snapshot_unavailable"] == [item["code"] for item in lacking.pop("degradations")]
    assert {name: value for name, value in whole.items() if name != "suggested_actions"} == offered
    assert {name: value for name, value in whole.items() if name != "degradations"} == lacking


def test_an_empty_answer_is_kept_as_well() -> None:
    """That nothing was found can be wrong too."""

    assert [] == shown_results(result())
