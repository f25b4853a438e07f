"""Which terms are read, and what each weighs."""

from __future__ import annotations

import math

from commonlore.domain.recall.lexical import LexicalStatistics, weigh


def statistics(documents: int = 1000, **frequencies: int) -> LexicalStatistics:
    return LexicalStatistics(documents, documents * 12, frequencies)


def test_the_rarest_term_goes_first_and_ties_go_by_the_term() -> None:
    found = weigh(["common", "zeta", "alpha", "rare"], statistics(common=500, zeta=7, alpha=7, rare=1), postings_budget=10_000)

    assert ("rare", "alpha", "zeta", "common") == found.terms
    assert () == found.dropped


def test_terms_that_do_not_occur_are_left_out() -> None:
    """Neither read nor named as dropped: there was nothing to read."""
    found = weigh(["absent", "there", "gone"], statistics(there=2, gone=0), postings_budget=100)

    assert (("there",), ()) == (found.terms, found.dropped)


def test_the_budget_cuts_the_most_frequent_and_names_them() -> None:
    found = weigh(["a", "b", "c", "d"], statistics(a=10, b=20, c=30, d=1), postings_budget=60)

    assert (("d", "a", "b"), ("c",)) == (found.terms, found.dropped)


def test_the_budget_may_be_met_exactly() -> None:
    assert ("a", "b") == weigh(["a", "b"], statistics(a=10, b=20), postings_budget=30).terms
    assert ("a",) == weigh(["a", "b"], statistics(a=10, b=20), postings_budget=29).terms


def test_one_term_is_read_whatever_it_costs() -> None:
    found = weigh(["a", "b"], statistics(a=900, b=901), postings_budget=1)

    assert (("a",), ("b",)) == (found.terms, found.dropped)


def test_weights_are_the_inverse_document_frequency() -> None:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), by the formula."""
    found = weigh(["a", "b"], statistics(100, a=1, b=60), postings_budget=100)

    assert [round(math.log(1 + 99.5 / 1.5), 9), round(math.log(1 + 40.5 / 60.5), 9)] == [round(weight, 9) for weight in found.weights]


def test_no_weight_is_negative_even_when_counts_disagree() -> None:
    """A term may be counted more often than there are texts while differences are folded."""
    assert all(weight > 0 for weight in weigh(["a", "b"], statistics(3, a=3, b=9), postings_budget=100).weights)


def test_a_term_that_stands_everywhere_is_not_read_for_nothing() -> None:
    """The labels in every document of a relationship: their postings are most of a large space's. Cheap, or alone, they count."""
    assert ("rare",) == weigh(["rare", "label"], statistics(2_000, rare=5, label=1_801), postings_budget=20_000).terms
    assert ("label",) == weigh(["rare", "label"], statistics(2_000, rare=5, label=1_801), postings_budget=20_000).dropped
    assert ("rare", "label") == weigh(["rare", "label"], statistics(2_000, rare=5, label=1_800), postings_budget=20_000).terms
    assert ("rare", "label") == weigh(["rare", "label"], statistics(1_000, rare=5, label=1_000), postings_budget=20_000).terms
    assert ("label",) == weigh(["label"], statistics(2_000, label=2_000), postings_budget=20_000).terms


def test_an_empty_space_has_an_average_of_one() -> None:
    assert (1.0, 12.0) == (LexicalStatistics().average_length, statistics(5).average_length)
