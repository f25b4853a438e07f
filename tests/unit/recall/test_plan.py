"""What is fetched from each space, and when a vector branch is off."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import numpy as np
import pytest

from commonlore.domain.degradation import MESSAGES, Degradation, combine
from commonlore.domain.errors import Incorrect
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.lexical import LexicalStatistics
from commonlore.domain.recall.plan import QueryVector, SpaceStatistics, make_plan, parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.tenancy.actor import Space

SHARED = Space(UUID(int=1), "team_shared")
PRIVATE = Space(UUID(int=2), "credential_private")
FULL = LexicalStatistics(10, 100, {"mark": 2})


def a_request(**fields: Any) -> RecallRequest:
    return msgspec.convert({"query": "Mark", **fields}, RecallRequest)


def a_space(state: str = "current", evidence: LexicalStatistics = FULL, **fields: Any) -> SpaceStatistics:
    return SpaceStatistics(evidence, FULL, "current", 1, state, "contract", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "is_on"), [("current", True), ("pending", False), ("failed", False)])
def test_the_relationship_vectors_wait_for_a_current_generation(state: str, is_on: bool) -> None:
    """Partial migration never enables partial vector fusion; the words are searched all the same."""
    plan = make_plan(parse_intent(a_request()), [(SHARED, a_space(state))], RankingPolicy())

    assert is_on == plan.spaces[0].relationship_vector
    assert plan.spaces[0].relationship_lexical is not None


def test_no_relationships_wanted_none_searched() -> None:
    plan = make_plan(parse_intent(a_request(relationship_limit=0)), [(SHARED, a_space())], RankingPolicy())

    assert (None, False) == (plan.spaces[0].relationship_lexical, plan.spaces[0].relationship_vector)


def test_an_empty_space_is_not_searched() -> None:
    nothing = SpaceStatistics(LexicalStatistics(), LexicalStatistics(), "current", 1, "current", "contract")

    assert (SHARED,) == tuple(
        item.space for item in make_plan(parse_intent(a_request()), [(PRIVATE, nothing), (SHARED, a_space())], RankingPolicy()).spaces
    )


def test_limits_do_not_change_the_plan() -> None:
    """Depth and terms come from the policy: a smaller limit is a prefix of a larger one."""
    few, many = (make_plan(parse_intent(a_request(limit=limit)), [(SHARED, a_space())], RankingPolicy()) for limit in (1, 50))

    assert few == many


def test_ids_are_distinct_in_the_order_given() -> None:
    first, second = UUID(int=9), UUID(int=3)

    assert (first, second) == parse_intent(a_request(known_evidence_ids=[str(first), str(second), str(first)])).known_evidence_ids


@pytest.mark.parametrize("fields", [{"query": " \u200b "}, {"valid_at": "yesterday"}, {"known_at": "2026-07-01T00:00:00"}])
def test_what_a_schema_cannot_say_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(Incorrect):
        parse_intent(a_request(**fields))


def test_a_vector_of_another_contract_is_not_used() -> None:
    made = QueryVector(np.ones(3, dtype=np.float32), "theirs")

    assert ("embedding_contract_mismatch", None) == (made.under("ours").failure, made.under("ours").vector)
    assert made is made.under("theirs")


def test_a_failure_keeps_its_own_reason() -> None:
    failed = QueryVector(None, failure="provider_unavailable")

    assert failed is failed.under("ours")


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (("current", "pending"), "pending"),
        (("pending", "failed"), "failed"),
        (("not_required", "current"), "current"),
        (("not_required",), "not_required"),
        ((), "not_required"),
        (("current", "failed", "pending", "not_required"), "failed"),
    ],
)
def test_states_combine_as_the_page_says(states: tuple[Any, ...], state: str) -> None:
    """Dense-mem 30: failed, then pending, then current, then not_required."""
    assert state == combine(states)


def test_a_degradation_off_the_list_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        Degradation("evidence", "relationship_vector_warming")


def test_degradations_sort_by_frontier_then_code() -> None:
    made = sorted(Degradation(frontier, code) for frontier, code in reversed(list(MESSAGES)))

    assert sorted(MESSAGES) == [(item.frontier, item.code) for item in made]


@pytest.mark.parametrize(
    "fields",
    [{"depth_rows": 0}, {"depth_rows": 300, "depth_cap_rows": 200}, {"bm25_k1": 0}, {"bm25_b": 1.1}, {"postings_budget": 0}, {"context_chars": 0}],
)
def test_a_policy_out_of_bounds_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=">=|between"):
        RankingPolicy(**fields)
