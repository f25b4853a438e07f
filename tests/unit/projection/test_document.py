"""The text that a relationship is searched by, format 2."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.projection.posting import count_terms, document_statistics

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
    """Terms that both texts have even out; a document is counted once, not per occurrence of a term."""
    found = document_statistics([("zebra zebra quartz", "zebra pelican")])
    quartz, pelican = (next(iter(count_terms(word).frequencies)) for word in ("quartz", "pelican"))

    assert {quartz: 1, pelican: -1} == found.documents_by_term
    assert (0, 1) == (found.documents, found.length)


def test_the_differences_of_a_history_add_up_to_its_last_text() -> None:
    steps = [("a b", None), ("a c", "a b"), ("c d d", "a c")]
    whole = document_statistics([("c d d", None)])
    summed: dict[str, int] = {}
    for step in steps:
        for term, count in document_statistics([step]).documents_by_term.items():
            summed[term] = summed.get(term, 0) + count

    assert whole.documents_by_term == {term: count for term, count in summed.items() if count}
    assert whole.length == sum(document_statistics([step]).length for step in steps)
