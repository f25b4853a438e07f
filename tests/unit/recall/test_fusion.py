"""Reciprocal rank fusion by its worked numbers, and the spaces taking turns."""

from __future__ import annotations

from uuid import UUID

import pytest

from commonlore.domain.recall.contract import SpaceScale, rrf_1
from commonlore.domain.recall.fusion import BranchHit, SpaceSignals, by_signal, comparable_signals, fuse, interleave


def an_id(number: int) -> UUID:
    return UUID(int=number)


def hits(*numbers: int) -> list[BranchHit]:
    return [BranchHit(an_id(number), 0, 1.0) for number in numbers]


@pytest.mark.parametrize(
    ("ranks", "score"),
    [
        ((1, 1), 0.032787),
        ((1,), 0.016393),
        ((2,), 0.016129),
        ((3,), 0.015873),
        ((10,), 0.014286),
        ((5, 5), 0.030769),
        ((62, 62), 0.016393),
    ],
)
def test_scores_are_those_of_the_page(ranks: tuple[int, ...], score: float) -> None:
    """Dense-mem 30: the sum of 1 / (60 + rank) over the branches."""
    branches = [[*(f"other {rank} {place}" for place in range(1, rank)), "it"] for rank in ranks]

    assert score == round(fuse(branches)["it"].score, 6)


def test_rank_62_in_both_ties_a_single_first_place_and_the_best_rank_decides() -> None:
    """2/122 equals 1/61, so the tie goes to the better single rank."""
    deep = list(range(100, 161))
    order = rrf_1(hits(1, *deep[1:], 9), hits(*range(200, 261), 9), SpaceScale(0))

    assert fuse([[1]])[1].score == fuse([[*deep, 9], [*deep, 9]])[9].score
    assert order.index(an_id(1)) < order.index(an_id(9))


def test_double_fifth_place_beats_a_single_first() -> None:
    assert an_id(5) == rrf_1(hits(1, 2, 3, 4, 5), hits(6, 7, 8, 9, 5), SpaceScale(0))[0]


def test_ties_go_to_the_lower_id() -> None:
    """The same score and best rank: id, whichever branch it came from."""
    assert [an_id(3), an_id(4)] == rrf_1(hits(4), hits(3), SpaceScale(0)) == rrf_1(hits(3), hits(4), SpaceScale(0))


def test_best_rank_is_the_least_of_the_branches() -> None:
    assert 1 == fuse([["a", "b"], ["b", "a"]])["b"].best_rank


def test_nothing_found_is_nothing() -> None:
    assert [] == rrf_1([], [], SpaceScale(0))
    assert {} == fuse([[], []])


def test_spaces_take_turns_and_private_goes_first() -> None:
    """The worked order of dense-mem 30."""
    assert ["p1", "t1", "p2", "t2", "p3", "t3"] == list(interleave([["p1", "p2", "p3"], ["t1", "t2", "t3"]]))


def test_a_short_space_leaves_its_turns_to_the_others() -> None:
    assert ["p1", "t1", "n1", "t2", "n2", "n3"] == list(interleave([["p1"], ["t1", "t2"], ["n1", "n2", "n3"]]))
    assert ["t1", "t2"] == list(interleave([[], ["t1", "t2"]]))
    assert [] == list(interleave([]))


def scored(**scores: float) -> list[BranchHit]:
    return [BranchHit(an_id(int(name[1:])), 0, score) for name, score in scores.items()]


def test_a_lane_keeps_its_order_and_the_best_signal_goes_first() -> None:
    """A strong text that its space ranks low lifts those above it; ties go to the earlier space."""
    assert ["t1", "p1", "p2", "t2"] == list(by_signal([["p1", "p2"], ["t1", "t2"]], [[0.5, 0.4], [0.9, 0.1]]))
    assert ["p1", "p2", "t1"] == list(by_signal([["p1", "p2"], ["t1"]], [[0.1, 0.9], [0.5]]))
    assert ["p1", "t1", "n1"] == list(by_signal([["p1"], ["t1"], ["n1"]], [[0.5], [0.5], [0.5]]))
    assert [] == list(by_signal([], [])) == list(by_signal([[], []], [[], []]))


def test_a_word_counts_alike_in_every_space() -> None:
    """In 9 parts of 10 here and in 1 of 1,000 there: the same word, so over both it is rare for both, and equal matches are equal."""
    common, rare = 0.14660347419187544, 6.504787702689804  # ln(11 / 9.5) and ln(1001 / 1.5)
    here = SpaceSignals(scored(e1=common), [], 10, 10, {"boat": common})
    there = SpaceSignals(scored(e2=rare), [], 1000, 1000, {"boat": rare})
    [[first], [second]] = [list(found.values()) for found in comparable_signals([here, there])]

    assert first == pytest.approx(second)
    assert first > 0


def test_inner_products_compare_as_they_are() -> None:
    """Standardised over both spaces together: 0.6 of each difference over the common deviation, whatever each space's own mean is."""
    near, far = SpaceSignals([], scored(e1=0.9), 1, 1, {}, 0.8, 0.1), SpaceSignals([], scored(e2=0.5), 3, 3, {}, 0.0, 0.1)
    [[first], [second]] = [list(found.values()) for found in comparable_signals([near, far])]

    assert 0.6 * 0.4 / (0.01 + 0.25 * 0.6**2 + 0.75 * 0.2**2) ** 0.5 == pytest.approx(first - second)


def test_words_alone_count_where_there_is_no_vector() -> None:
    """Fully, and a space in which no word of the query occurs gets nothing out of it."""
    words = comparable_signals([SpaceSignals(scored(e1=2.0, e2=1.0), [], 4, 4, {"boat": 1.0}), SpaceSignals([], [], 4, 4, {})])

    assert [{1, 2}, set()] == [set(found) for found in words]
    assert (2.0 - 1.0) / (5 / 8 - (3 / 8) ** 2) ** 0.5 == pytest.approx(words[0][1] - words[0][2])


def test_a_candidate_without_a_vector_has_the_last_one_of_its_space() -> None:
    space = SpaceSignals(scored(e3=0.0), scored(e1=0.9, e2=0.4), 3, 3, {"boat": 1.0}, 0.1, 0.1)
    [found] = comparable_signals([space])

    assert found[2] == found[3] < found[1]
