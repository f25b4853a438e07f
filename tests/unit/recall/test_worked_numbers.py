"""The worked numbers of dense-mem 30 that this product computes, in the order of the page.

Where another test has a number already, it is named here. Over-fetch by the caller's limit is not ours (depth is not count,
decisions.md 6), nor is the gate that counts rows (a generation says its own state, decisions.md 23) nor the third list of expansion.
Budgets of the delegated assessment, weights of communities and lineages belong to the parts that have them.

| number | test |
|---|---|
| RRF scores, double fifth place, rank 62 | test_fusion.py |
| private, shared, private, shared ... | test_fusion.py |
| states combine | test_plan.py |
| majority, quorum, last write wins | ../conflict/test_policy.py |
| the start counts and the end does not, in a recall | tests/integration/memory/test_recall.py |
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from uuid import UUID

import pytest

from commonlore.domain.degradation import combine
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.quality.metrics import ndcg
from commonlore.domain.recall.context import assemble
from commonlore.domain.recall.fusion import fuse, interleave
from commonlore.domain.recall.lexical import LexicalStatistics
from commonlore.domain.recall.plan import SpaceStatistics, make_plan, parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import PartText
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.text.parts import split_parts
from commonlore.domain.time import parse_instant


def test_every_rank_has_its_share() -> None:
    """1/61, 1/62 ... 1/70 in one list and twice that in both; one list never gives more than its first place."""
    one, both = fuse([range(1, 201)]), fuse([range(1, 201), range(1, 201)])

    assert [round(1 / (60 + rank), 6) for rank in range(1, 201)] == [round(one[rank].score, 6) for rank in range(1, 201)]
    assert all(both[rank].score == pytest.approx(2 * one[rank].score) for rank in range(1, 201))
    assert 61 == sum(both[rank].score > one[1].score for rank in range(1, 201))


@pytest.mark.parametrize("limit", [1, 10, 12, 20, 33, 50])
def test_what_a_branch_gives_is_200_whatever_is_asked(limit: int) -> None:
    """In place of the page's over-fetch: 60 for 1 to 10, 198 for 33."""
    plan = make_plan(parse_intent(RecallRequest(query="zebra", limit=limit, relationship_limit=min(limit, 20))), [], RankingPolicy())

    assert 200 == plan.policy.depth_rows


@pytest.mark.parametrize("lengths", [(3, 3), (1, 5), (5, 1), (0, 2)])
def test_spaces_take_turns_whatever_their_length(lengths: tuple[int, int]) -> None:
    """p1, t1, p2, t2 ..., and the longer one alone at the end."""
    private, shared = [f"p{place}" for place in range(lengths[0])], [f"t{place}" for place in range(lengths[1])]
    expected = [lane[place] for place in range(max(lengths)) for lane in (private, shared) if place < len(lane)]

    assert expected == list(interleave([private, shared]))


def test_states_combine_in_every_order() -> None:
    """failed, pending, current, not_required: the first that is among them."""
    order = ("failed", "pending", "current", "not_required")
    for first, one in enumerate(order):
        for second, other in enumerate(order):
            assert order[min(first, second)] == combine((one, other)) == combine((other, one))  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "is_on"), [("current", True), ("pending", False), ("failed", False)])
def test_the_gate_is_the_state_of_the_generation(state: str, is_on: bool) -> None:
    """Whatever the counts: a current one with none or ten rows is on, any other is off."""
    for documents in (1, 10):
        counted = LexicalStatistics(documents, 10, {})
        statistics = SpaceStatistics(counted, counted, "current", 1, state, "model")  # type: ignore[arg-type]
        plan = make_plan(parse_intent(RecallRequest(query="zebra")), [(Space(UUID(int=1), "team_shared"), statistics)], RankingPolicy())

        assert is_on == plan.spaces[0].relationship_vector


def test_the_discount_is_the_logarithm_of_rank_plus_one() -> None:
    """One relevant id at rank r scores 1 / log2(r + 1): 1, 0.63093, 0.5 ...; grades gain themselves (evaluation.md), not 2^g - 1."""
    names = [f"e{number}" for number in range(1, 11)]

    assert [round(1 / math.log2(rank + 1), 9) for rank in range(1, 11)] == [round(ndcg(names, {name: 1}), 9) for name in names]
    assert round((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)), 9) == round(ndcg(["a", "b"], {"a": 1, "b": 3}), 9)


def test_an_instant_is_kept_to_the_microsecond() -> None:
    """The bounds of [2026-07-01, 2026-08-01) and what lies just inside and outside of them."""
    texts = ("2026-06-30T23:59:59.999999Z", "2026-07-01T00:00:00Z", "2026-07-31T23:59:59.999999Z", "2026-08-01T00:00:00Z")
    start, end = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)

    assert [False, True, True, False] == [start <= parse_instant(text) < end for text in texts]


@pytest.mark.parametrize("mark", ["€", "語", "👍"])
def test_a_context_never_splits_a_character(mark: str) -> None:
    """1,999 letters and one character of several bytes: the cut falls between parts, and the character is whole or absent."""
    text = "a" * 1999 + mark
    pieces = [PartText(number, text[span.start : span.end]) for number, span in enumerate(split_parts(text, lambda part: len(part.split())))]
    for budget in (1, 400, 1999, 2000, 2001, 4000):
        shown = assemble(pieces, list(range(len(pieces))), part_count=len(pieces), budget_chars=budget)

        assert text.startswith(shown.text) and shown.truncated == (shown.text != text)
    last = assemble(pieces, [len(pieces) - 1], part_count=len(pieces), budget_chars=2000)
    assert last.text.endswith(mark) and last.truncated
