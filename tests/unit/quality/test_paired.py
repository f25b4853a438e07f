"""Paired differences of two ways to rank."""

from __future__ import annotations

import math

import pytest

from commonlore.domain.quality.metrics import Judged, score_run
from commonlore.domain.quality.paired import bootstrap_interval, compare, difference, sign_test


@pytest.mark.parametrize(
    ("better", "worse", "expected"), [(8, 2, 0.109375), (2, 8, 0.109375), (10, 0, 0.001953125), (5, 5, 1.0), (0, 0, 1.0), (1, 0, 1.0)]
)
def test_the_sign_test_by_worked_numbers(better: int, worse: int, expected: float) -> None:
    """Twice the smaller tail of the binomial distribution, at most 1."""

    assert expected == sign_test(better, worse)


def test_the_sign_test_of_many_questions() -> None:
    """Whole numbers throughout, so a thousand questions neither overflow nor vanish."""

    assert 0 < sign_test(900, 1100) < 1e-5


def test_the_interval_is_the_same_for_the_same_seed() -> None:
    """And another for another; it holds the mean, and about two standard errors to each side."""

    deltas = [((number * 37) % 101 - 40) / 100 for number in range(400)]
    low, high = bootstrap_interval(deltas)
    middle = math.fsum(deltas) / len(deltas)
    error = math.sqrt(math.fsum((delta - middle) ** 2 for delta in deltas) / len(deltas) / len(deltas))

    assert (low, high) == bootstrap_interval(deltas)
    assert (low, high) != bootstrap_interval(deltas, seed=1)
    assert low < middle < high
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_a_difference_that_is_always_the_same_has_no_width() -> None:
    """Every resample has the same mean; a difference that is only one of rounding is a tie."""

    found = difference([(0.25, 0.5)] * 4)
    tie = difference([(0.1 + 0.2, 0.3)])

    assert (4, 0.25, 0.25, 0.25, 4, 0) == (found.n, found.mean, found.low, found.high, found.better, found.worse)
    assert (0, 0) == (tie.better, tie.worse)


def test_questions_are_compared_with_themselves() -> None:
    """By category and overall, over the questions that both have scored and the measure is defined for."""

    questions = [Judged("1", "p", {"a": 1}), Judged("2", "q", {"a": 1, "b": 1})]
    base, against = score_run({"1": ["x", "a"], "2": ["a"]}, questions), score_run({"1": ["a"], "2": ["x"]}, questions)
    found = compare(base, against, questions, "mrr@10")

    assert {"overall": -0.25, "p": 0.5, "q": -1.0} == {name: item.mean for name, item in found.items()}
    assert ["overall", "q"] == list(compare(base, against, questions, "ec@5"))
