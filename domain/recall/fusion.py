"""Reciprocal rank fusion, and the fusion of spaces."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from typing import NamedTuple, TypeVar
from uuid import UUID

from commonlore.domain.policy import RRF_K

Key = TypeVar("Key", bound=Hashable)
# How the spaces of a caller become one list: the ranking page's rule, and what goes beyond it and is off by default (ADR 0028).
SPACE_FUSIONS = ("spaces-rrf-1", "spaces-signal-1")
_LEXICAL_WEIGHT = 0.4
# The deviation of MiniLM's inner products over unrelated texts, where no space knows its own; and the least one that is no noise.
_USUAL_DEVIATION, _LEAST_DEVIATION = 0.106, 0.02


class Scored(NamedTuple):
    """A fused score, with the best rank in any one branch."""

    score: float
    best_rank: int


def fuse(branches: Sequence[Sequence[Key]], *, rrf_k: int = RRF_K) -> dict[Key, Scored]:
    """Equal-weight reciprocal rank fusion of best-first branches: the sum of 1 / (rrf_k + rank), unordered.

    Ranks start at 1; a key that a branch lacks gains nothing there. A key occurs once a branch.

    Source: ranking page, "Lexical and vector fusion"; Cormack, Clarke and Buettcher 2009; dense-mem 30.
    """
    found: dict[Key, Scored] = {}
    gains = _gains(rrf_k, 1 << max(map(len, branches), default=0).bit_length())
    for branch in branches:
        ranked = dict(zip(branch, gains, strict=False))
        both = found.keys() & ranked.keys()
        found = ranked | found
        for key in both:
            (score, rank), (gained, other) = found[key], ranked[key]
            found[key] = Scored(score + gained, min(rank, other))
    return found


@lru_cache(maxsize=64)
def _gains(rrf_k: int, most: int) -> tuple[Scored, ...]:
    """What each rank gains, made once: a recall has hundreds."""
    return tuple(Scored(1.0 / (rrf_k + rank), rank) for rank in range(1, most + 1))


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
    if len(branches) == 1:
        yield from branches[0]
        return
    for rank in range(max(map(len, branches), default=0)):
        for branch in branches:
            if rank < len(branch):
                yield branch[rank]


class SpaceSignals(NamedTuple):
    """What one space says of its candidates in terms that other spaces share: vectors of one contract and terms of one analyser.

    `parts` counts what the weights of its terms were taken over; `dense_mean` and `dense_deviation` are those of the query's
    inner products over a sample of `texts`, None where there is none.
    """

    lexical: Sequence[BranchHit]
    vector: Sequence[BranchHit]
    parts: int
    texts: int
    weights: Mapping[str, float]
    dense_mean: float | None = None
    dense_deviation: float | None = None


def comparable_signals(spaces: Sequence[SpaceSignals]) -> list[dict[int, float]]:
    """Contract `spaces-signal-1`, first half: by space, how well each candidate answers, by the number of its id.

    0.4 of the lexical and 0.6 of the dense standard score, as `zscore-1` has it, both taken over all spaces together. Inner
    products with one query vector compare as they are. A lexical score counts a term by how rare it is in its own space, so
    it is scaled by the weight that the space's query terms have over all spaces, divided by the one they have in it. A
    candidate that a branch lacks has 0 there and its space's last inner product. Without any vector words alone count.
    """
    scaled = [{key.int: score * factor for key, _, score in space.lexical} for space, factor in zip(spaces, _scales(spaces), strict=True)]
    near = [{key.int: score for key, _, score in space.vector} for space in spaces]
    mean, deviation = _moments([score for words in scaled for score in words.values()], sum(max(space.texts, 1) for space in spaces))
    dense_mean, dense_deviation = _dense_moments(spaces)
    lexical_weight = _LEXICAL_WEIGHT if any(near) else 1.0
    found = []
    for words, vectors in zip(scaled, near, strict=True):
        floor = min(vectors.values(), default=dense_mean)
        found.append(
            {
                key: lexical_weight * (words.get(key, 0.0) - mean) / deviation
                + (1.0 - lexical_weight) * (vectors.get(key, floor) - dense_mean) / dense_deviation
                for key in [*words, *(key for key in vectors if key not in words)]
            }
        )
    return found


def _scales(spaces: Sequence[SpaceSignals]) -> list[float]:
    """The weight of each space's terms over all spaces, divided by their weight in it.

    A weight is ln((parts + 1) / (n + 0.5)), so that n, the parts that have the term, follows from it.
    """
    parts = sum(space.parts for space in spaces)
    having: dict[str, float] = {}
    for space in spaces:
        for term, weight in space.weights.items():
            having[term] = having.get(term, 0.0) + max((space.parts + 1) / math.exp(weight) - 0.5, 0.0)
    together = {term: math.log((parts + 1) / (count + 0.5)) for term, count in having.items()}
    own = [math.fsum(space.weights.values()) for space in spaces]
    return [math.fsum(together[term] for term in space.weights) / weight if weight > 0 else 1.0 for space, weight in zip(spaces, own, strict=True)]


def _moments(scores: Sequence[float], texts: int) -> tuple[float, float]:
    """Mean and deviation over all texts, of which those without a score count as 0."""
    count = max(texts, len(scores), 1)
    mean = math.fsum(scores) / count
    variance = math.fsum(score * score for score in scores) / count - mean * mean
    return mean, math.sqrt(variance) if variance > 0 else 1.0


def _dense_moments(spaces: Sequence[SpaceSignals]) -> tuple[float, float]:
    """The mean and the deviation of every space, by its texts."""
    known = [
        (max(space.texts, 1), space.dense_mean, space.dense_deviation)
        for space in spaces
        if space.dense_mean is not None and space.dense_deviation is not None
    ]
    if not known:
        return 0.0, _USUAL_DEVIATION
    count = sum(texts for texts, _, _ in known)
    mean = math.fsum(texts * own for texts, own, _ in known) / count
    variance = math.fsum(texts * (deviation * deviation + (own - mean) ** 2) for texts, own, deviation in known) / count
    return mean, max(math.sqrt(variance), _LEAST_DEVIATION)


def by_signal(branches: Sequence[Sequence[Key]], signals: Sequence[Sequence[float]]) -> Iterator[Key]:
    """Contract `spaces-signal-1`, second half: the lanes of several spaces as one, best signal first.

    A lane keeps its order: an item counts as the best of itself and all that its own lane ranks below it, so that a strong
    text is not held back by a weaker one that its space prefers. Ties go to the earlier space: private, shared, named.
    """
    lanes = []
    for place, (branch, found) in enumerate(zip(branches, signals, strict=True)):
        best, counted = -math.inf, []
        for signal in reversed(found):
            best = max(best, signal)
            counted.append(-best)
        lanes.append([(signal, place, rank, key) for rank, (signal, key) in enumerate(zip(reversed(counted), branch, strict=True))])
    for *_, key in merge(*lanes, key=lambda entry: entry[:3]):
        yield key
