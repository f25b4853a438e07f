"""Which terms of a query the lexical branch reads, and what each weighs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Postings that are read whatever they tell, and the share of texts beyond which a term tells too little to read more.
_CHEAP, _EVERYWHERE = 1_000, 0.9


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
    """`terms` with their inverse document frequency, rarest first; `dropped` went over the budget or tell nothing."""

    terms: tuple[str, ...]
    weights: tuple[float, ...]
    dropped: tuple[str, ...] = ()


def weigh(terms: Sequence[str], statistics: LexicalStatistics, *, postings_budget: int) -> TermWeights:
    """The terms that occur in the space, rarest first, ties by term, as many as the budget of postings allows; one at least.

    A term of more than nine tenths of the texts tells next to nothing of any; beyond 1,000 postings it is dropped beside others.
    Weight: ln(1 + (N - n + 0.5) / (n + 0.5)), never negative.

    Source: decisions.md 18; the idf of Lucene's BM25Similarity.
    """
    present = sorted((statistics.frequencies[term], term) for term in terms if statistics.frequencies.get(term, 0) > 0)
    kept: list[tuple[int, str]] = []
    spent = 0
    for count, term in present:
        if kept and (spent + count > postings_budget or (count > _CHEAP and count > _EVERYWHERE * statistics.documents)):
            break
        kept.append((count, term))
        spent += count
    total = max(statistics.documents, 1)
    weights = tuple(math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5)) for count, _ in kept)
    return TermWeights(tuple(term for _, term in kept), weights, tuple(term for _, term in present[len(kept) :]))
