"""Reciprocal rank fusion, and the fusion of spaces."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, TypeVar
from uuid import UUID

from commonlore.domain.policy import RRF_K

Key = TypeVar("Key", bound=Hashable)


class Scored(NamedTuple):
    """A fused score, with the best rank in any one branch."""

    score: float
    best_rank: int


def fuse(branches: Sequence[Sequence[Key]], *, rrf_k: int = RRF_K) -> dict[Key, Scored]:
    """Equal-weight reciprocal rank fusion of best-first branches: the sum of 1 / (rrf_k + rank), unordered.

    Ranks start at 1; a key that a branch lacks gains nothing there. A key occurs once a branch.

    Source: ranking page, "Lexical and vector fusion"; Cormack, Clarke and Buettcher 2009; dense-mem 30.
    """
    scores: dict[Key, float] = {}
    best: dict[Key, int] = {}
    for branch in branches:
        for rank, key in enumerate(branch, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (rrf_k + rank)
            best[key] = min(best.get(key, rank), rank)
    return {key: Scored(score, best[key]) for key, score in scores.items()}


class BranchHit(NamedTuple):
    """One evidence in a branch: its best part and the branch's own score of it (higher is better).

    A recall reads hundreds; whoever reads them unpacks them, so that a plain row of the same three columns serves as well.
    """

    evidence_id: UUID
    part_no: int
    score: float


def interleave(branches: Sequence[Sequence[Key]]) -> Iterator[Key]:
    """Fuse the lanes of several spaces, given in the order that ties prefer: private, shared, named.

    A result belongs to one space, so equal-weight RRF gives all first places the same score, then all second places,
    and so on: the spaces take turns, and the earlier one goes first.

    Source: ranking page, "Independent Space Branches And Fusion"; dense-mem 30.
    """
    for rank in range(max(map(len, branches), default=0)):
        for branch in branches:
            if rank < len(branch):
                yield branch[rank]
