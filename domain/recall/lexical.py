"""Which terms of a query the lexical branch reads, and what each weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LexicalStatistics:
    """Counts of one space and frontier: searchable texts, the sum of their lengths in terms, and texts per query term."""

    documents: int = 0
    length: int = 0
    frequencies: Mapping[str, int] = field(default_factory=dict)

    @property
    def average_length(self) -> float:
        return self.length / self.documents if self.documents else 1.0


@dataclass(frozen=True, slots=True)
class TermWeights:
    """`terms` with their inverse document frequency, rarest first; `dropped` went over the budget."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    dropped: tuple[str, ...] = ()


def weigh(terms: Sequence[str], statistics: LexicalStatistics, *, postings_budget: int) -> TermWeights:
    """The terms that occur in the space, rarest first, ties by term, as many as the budget of postings allows; one at least.

    Weight: ln(1 + (N - n + 0.5) / (n + 0.5)), never negative.

    Source: decisions.md 18; the idf of Lucene's BM25Similarity.
    """
    present = sorted((statistics.frequencies[term], term) for term in terms if statistics.frequencies.get(term, 0) > 0)
    kept: list[tuple[int, str]] = []
    spent = 0
    for count, term in present:
        if kept and spent + count > postings_budget:
            break
        kept.append((count, term))
        spent += count
    total = max(statistics.documents, 1)
    weights = tuple(math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5)) for count, _ in kept)
    return TermWeights(tuple(term for _, term in kept), weights, tuple(term for _, term in present[len(kept) :]))
