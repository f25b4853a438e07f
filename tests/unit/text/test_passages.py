"""Passages within a budget."""

from __future__ import annotations

import pytest

from commonlore.domain.text import Span, best_passages

CONTENT = "aaaa bbbb cccc dddd eeee"


@pytest.mark.parametrize(
    ("spans", "budget", "expected"),
    [
        ([Span(0, 5)], 24, CONTENT),
        ([Span(15, 20), Span(0, 5)], 11, "aaaa … dddd"),
        ([Span(15, 20), Span(0, 5)], 10, "dddd"),
        ([Span(5, 10), Span(10, 15)], 10, "bbbb cccc"),
        ([Span(10, 15), Span(5, 10), Span(20, 24)], 16, "bbbb cccc … eeee"),
        ([Span(0, 15), Span(20, 24)], 10, "eeee"),
        ([Span(5, 15), Span(8, 20)], 20, "bbbb cccc dddd"),
        ([Span(5, 24)], 7, "bbbb cc"),
        ([], 7, "aaaa bb"),
        ([Span(4, 5)], 7, ""),
    ],
)
def test_best_passages(spans: list[Span], budget: int, expected: str) -> None:
    """The best ones that fit, in the order of the text; neighbours joined, gaps marked."""

    assert best_passages(CONTENT, spans, budget_chars=budget) == expected


def test_a_cut_passage_keeps_its_graphemes() -> None:
    """A family is left out as a whole."""

    family = "👨\u200d👩\u200d👧"

    assert best_passages(family * 3, [Span(0, 15)], budget_chars=12) == family * 2


@pytest.mark.parametrize(("spans", "budget"), [([], 0), ([Span(0, 99)], 5)])
def test_wrong_calls_are_refused(spans: list[Span], budget: int) -> None:
    """A budget below one and spans behind the text are errors of the caller."""

    with pytest.raises(ValueError, match=r"budget|behind"):
        best_passages(CONTENT, spans, budget_chars=budget)
