"""Ranking policy: every number that decides an order, named, checked and versioned. The trace names the version."""

from __future__ import annotations

from dataclasses import dataclass

RRF_K = 60


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """
    `evidence_contract` names the fusion of the evidence lane; relationships are always fused by equal-weight RRF.
    `space_fusion` names how evidence of several spaces becomes one list; relationships of several spaces always take turns.
    `sample_parts` is how many vectors of a space tell how widely a query's scores spread.
    `depth_rows` is what each branch contributes, whatever the caller's limit; a lane that stays short doubles it up to
    `depth_cap_rows`. `postings_budget` bounds the postings that one lexical branch reads: the rarest terms go first.
    `bm25_k1`, `bm25_b` as in Robertson and Zaragoza 2009; the values are those of tests/eval/lexical_baseline.py.
    `context_chars` bounds one evidence context, in code points.
    """

    version: str = "ranking-1"
    evidence_contract: str = "zscore-2"
    space_fusion: str = "spaces-rrf-1"
    depth_rows: int = 200
    depth_cap_rows: int = 3200
    postings_budget: int = 20_000
    bm25_k1: float = 1.2
    bm25_b: float = 0.4
    context_chars: int = 2000
    equivalents_limit: int = 20
    sample_parts: int = 128

    def __post_init__(self) -> None:
        if not 0 < self.depth_rows <= self.depth_cap_rows:
            raise ValueError("depth_rows must lie between 1 and depth_cap_rows")
        if self.bm25_k1 <= 0 or not 0 <= self.bm25_b <= 1 or self.postings_budget < 1 or self.context_chars < 1:
            raise ValueError("bm25_k1 > 0, 0 <= bm25_b <= 1, postings_budget and context_chars >= 1")
