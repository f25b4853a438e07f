"""Reciprocal rank fusion, and the evidence ranking contracts that may be named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

from commonlore.domain.policy import RRF_K

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Scored:
    """A fused score, with the best rank in any one branch."""

    score: float
    best_rank: int


def fuse(branches: Sequence[Sequence[Key]], *, rrf_k: int = RRF_K) -> dict[Key, Scored]:
    """Equal-weight reciprocal rank fusion of best-first branches: the sum of 1 / (rrf_k + rank), unordered.

    Ranks start at 1; a key that a branch lacks gains nothing there. A key occurs once a branch.

    Source: ranking page, "Lexical and vector fusion"; Cormack, Clarke and Buettcher 2009; dense-mem 30.
    """
    fused: dict[Key, Scored] = {}
    for branch in branches:
        for rank, key in enumerate(branch, start=1):
            found = fused.get(key)
            share = 1.0 / (rrf_k + rank)
            fused[key] = Scored(share, rank) if found is None else Scored(found.score + share, min(found.best_rank, rank))
    return fused


@dataclass(frozen=True, slots=True)
class BranchHit:
    """One evidence in a branch: its best part and the branch's own score of it (higher is better)."""

    evidence_id: UUID
    part_no: int
    score: float


EvidenceContract = Callable[[Sequence[BranchHit], Sequence[BranchHit]], list[UUID]]


def rrf_1(lexical: Sequence[BranchHit], vector: Sequence[BranchHit]) -> list[UUID]:
    """Contract `rrf-1`: equal-weight RRF with k = 60. Ties: best single rank, then id."""
    fused = fuse([[hit.evidence_id for hit in lexical], [hit.evidence_id for hit in vector]])
    return sorted(fused, key=lambda key: (-fused[key].score, fused[key].best_rank, key.int))


# Exchangeable by name: a contract orders ids, and nothing after it depends on how.
EVIDENCE_CONTRACTS: Mapping[str, EvidenceContract] = MappingProxyType({"rrf-1": rrf_1})


def interleave(branches: Sequence[Sequence[Key]]) -> list[Key]:
    """Fuse the lanes of several spaces, given in the order that ties prefer: private, shared, named.

    Keys carry their space, so no key occurs twice and equal ranks tie; the earlier space goes first.

    Source: ranking page, "Independent Space Branches And Fusion".
    """
    fused = fuse(branches)
    place = {key: number for number, branch in enumerate(branches) for key in branch}
    return sorted(fused, key=lambda key: (-fused[key].score, place[key]))
