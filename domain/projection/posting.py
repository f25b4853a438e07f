"""Terms and counts of a searchable text, and what a change of texts does to the statistics of its space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from commonlore.domain.text.analyse import terms


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Frequency of each term, and the length of the text in terms (at least 1)."""

    frequencies: dict[str, int]
    length: int


def count_terms(text: str) -> TermCounts:
    """Terms in the order of their first occurrence."""
    found = Counter(terms(text))
    return TermCounts(dict(found), max(1, found.total()))


@dataclass(frozen=True, slots=True)
class StatisticsDifference:
    """What to add to the counts of a space; numbers may be negative. Terms are sorted; those that even out are left out."""

    documents_by_term: dict[str, int]
    documents: int
    length: int


def document_statistics(texts: Sequence[tuple[str, str | None]]) -> StatisticsDifference:
    """The difference that new texts make, each with the text it replaces, if any."""
    by_term: Counter[str] = Counter()
    documents = length = 0
    for text, replaces in texts:
        for content, sign in ((text, 1), (replaces, -1)):
            if content is not None:
                counted = count_terms(content)
                for term in counted.frequencies:
                    by_term[term] += sign
                documents += sign
                length += sign * counted.length
    return StatisticsDifference({term: by_term[term] for term in sorted(by_term) if by_term[term]}, documents, length)
