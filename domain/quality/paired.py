"""Two ways to rank, question by question: the same questions, so differences are paired."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonlore.domain.quality.metrics import Judged, Scores

SEED = 20_111_113
RESAMPLES = 2_000
# Below this two scores are the same number that was added up in another order.
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """`against` minus `base`: the mean, its 95 % interval, on how many questions it won and lost, and the sign test's p."""

    n: int
    mean: float
    low: float
    high: float
    better: int
    worse: int
    p: float


def difference(pairs: Sequence[tuple[float, float]], *, seed: int = SEED, resamples: int = RESAMPLES) -> Difference:
    """Of (base, against) pairs, at least one."""
    deltas = [against - base for base, against in pairs]
    better, worse = sum(1 for delta in deltas if delta > _EQUAL), sum(1 for delta in deltas if delta < -_EQUAL)
    low, high = bootstrap_interval(deltas, seed=seed, resamples=resamples)
    return Difference(len(deltas), math.fsum(deltas) / len(deltas), low, high, better, worse, sign_test(better, worse))


def sign_test(better: int, worse: int) -> float:
    """The two-sided exact sign test: how likely so uneven a split of the questions that differ is by chance.

    min(1, 2 * sum of C(n, i) / 2**n for i <= min(better, worse)), n = better + worse; ties are left out.
    Source: Dixon and Mood 1946; Conover 1999, 3.4.
    """
    differing = better + worse
    tail = sum(math.comb(differing, count) for count in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << differing))


def bootstrap_interval(deltas: Sequence[float], *, seed: int = SEED, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 2.5 % and 97.5 % points of the means of `resamples` samples with replacement; the same for the same seed.

    Source: Efron and Tibshirani 1993, 13.3 (percentile interval).
    """
    source = random.Random(seed)
    means = sorted(math.fsum(source.choices(deltas, k=len(deltas))) / len(deltas) for _ in range(resamples))
    return means[math.floor(0.025 * (resamples - 1))], means[math.ceil(0.975 * (resamples - 1))]


def compare(base: Mapping[str, Scores], against: Mapping[str, Scores], questions: Sequence[Judged], measure: str) -> dict[str, Difference]:
    """Differences of one measure by `overall` and category, over the questions that both scored."""
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for question in questions:
        one, other = base.get(question.id, {}).get(measure), against.get(question.id, {}).get(measure)
        if one is not None and other is not None:
            pairs["overall"].append((one, other))
            pairs[f"category {question.category}"].append((one, other))
    return {name.removeprefix("category "): difference(found) for name, found in pairs.items()}
