"""The text that a relationship is searched by, format 2."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.projection.posting import StatisticsDifference, count_terms, document_statistics

PLAIN = RelationshipWording("Mark Huang", "works on", "Dense-Mem", "+")


def test_the_text_is_that_of_the_page() -> None:
    """The example of the ranking page, to the byte."""
    full = replace(PLAIN, scope="dense-mem project", valid_from=datetime(2026, 7, 1, tzinfo=UTC))

    assert (
        "relationship\nsubject: Mark Huang\npredicate: works on\nobject: Dense-Mem\npolarity: positive\n"
        "scope: dense-mem project\nvalid_from: 2026-07-01T00:00:00Z"
    ) == render(full)


def test_absent_lines_are_left_out() -> None:
    assert "relationship\nsubject: Mark Huang\npredicate: works on\nobject: Dense-Mem\npolarity: negative" == render(replace(PLAIN, polarity="-"))


def test_times_are_utc_without_trailing_zeros() -> None:
    until = datetime(2026, 7, 1, 2, 0, 0, 120_000, tzinfo=timezone(timedelta(hours=2)))

    assert "valid_to: 2026-07-01T00:00:00.12Z" == render(replace(PLAIN, valid_to=until)).splitlines()[-1]


def test_the_length_is_that_of_all_terms_and_at_least_one() -> None:
    counted = count_terms("zebra zebra quartz")

    assert (2, 3) == (len(counted.frequencies), counted.length)
    assert 1 == count_terms("…").length


def test_a_replaced_text_is_taken_out_and_the_new_one_put_in() -> None:
    """A document is counted once, not per occurrence of a term."""
    found = document_statistics([(count_terms("zebra zebra quartz"), count_terms("zebra pelican"))])

    assert (0, 1) == (found.documents, found.length)


def test_the_differences_of_a_history_add_up_to_its_last_text() -> None:
    texts = [None, "a b", "a c", "c d d"]
    steps = [(count_terms(new), old and count_terms(old)) for old, new in pairwise(texts) if new]

    assert document_statistics([(count_terms("c d d"), None)]) == StatisticsDifference(
        sum(document_statistics([step]).documents for step in steps), sum(document_statistics([step]).length for step in steps)
    )
