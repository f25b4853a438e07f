"""Measures of one ranked list, and their means over a set of questions.

All of them read a ranking as distinct ids, best first, and relevance as {id: grade > 0}. A question without relevant ids
is not counted. They agree with `evaluate_runs.py score`, which lies beside the evaluation sets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEPTHS = (1, 5, 10, 20)
Relevance = Mapping[str, int]
Run = Mapping[str, Sequence[str]]
Scores = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with its category and what it should find."""

    id: str
    category: str
    relevance: Relevance


def distinct(ranked: Iterable[str]) -> list[str]:
    """A ranking in which each id has its first place only."""
    return list(dict.fromkeys(ranked))


def recall_at(ranked: Sequence[str], relevance: Relevance, depth: int) -> float:
    """|relevant in the first `depth`| / |relevant|. Source: Manning, Raghavan and Schuetze 2008, 8.3 and 8.4."""
    return sum(1 for name in ranked[:depth] if name in relevance) / len(relevance)


def reciprocal_rank(ranked: Sequence[str], relevance: Relevance, depth: int = 10) -> float:
    """1 / rank of the first relevant id among the first `depth`, else 0. Source: Voorhees 1999, TREC-8 question answering."""
    return next((1 / rank for rank, name in enumerate(ranked[:depth], start=1) if name in relevance), 0.0)


def ndcg(ranked: Sequence[str], relevance: Relevance, depth: int = 10) -> float:
    """The sum of grade / log2(rank + 1) over the first `depth`, divided by that of the best order of all relevant ids.

    Source: Jaervelin and Kekaelaeinen 2002, with the grade itself as the gain.
    """
    gain = math.fsum(relevance.get(name, 0) / math.log2(rank + 1) for rank, name in enumerate(ranked[:depth], start=1))
    best = sorted(relevance.values(), reverse=True)[:depth]
    ideal = math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(best, start=1))
    return gain / ideal if ideal else 0.0


def complete_at(ranked: Sequence[str], relevance: Relevance, depth: int) -> float | None:
    """1 if all relevant ids are among the first `depth`, else 0; None where a question has fewer than two.

    Source: evaluation.md, "evidence complete": a question with several pieces of evidence is answered only by all of them.
    """
    return None if len(relevance) < 2 else float(recall_at(ranked, relevance, depth) == 1)


def score(ranked: Sequence[str], relevance: Relevance, depths: Sequence[int] = DEPTHS) -> Scores:
    """Every measure of one question, by its name."""
    ranked = distinct(ranked)
    return {
        "ndcg@10": ndcg(ranked, relevance),
        "mrr@10": reciprocal_rank(ranked, relevance),
        **{f"recall@{depth}": recall_at(ranked, relevance, depth) for depth in depths},
        **{f"ec@{depth}": complete_at(ranked, relevance, depth) for depth in depths},
    }


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None if nothing is."""
    found = [value for value in values if value is not None]
    return math.fsum(found) / len(found) if found else None


def score_run(run: Run, questions: Sequence[Judged]) -> dict[str, Scores]:
    """Question id -> its measures. A question that `run` lacks has found nothing."""
    return {question.id: score(run.get(question.id, ()), question.relevance) for question in questions if question.relevance}


def summarise(scores: Mapping[str, Scores], questions: Sequence[Judged]) -> dict[str, dict[str, Any]]:
    """Means by `overall`, each category, and `macro`, the mean of the categories, which is left out where there is only one.

    `n` counts questions; `n_multi` those with two or more relevant ids, over which `ec@k` is taken.
    """
    rows: dict[str, list[Scores]] = defaultdict(list)
    for question in questions:
        if question.id in scores:
            rows["overall"].append(scores[question.id])
            rows[f"category {question.category}"].append(scores[question.id])
    table = {name: _means(found) for name, found in rows.items()}
    categories = [name for name in table if name != "overall"]
    if len(categories) > 1:
        names = [name for name in table["overall"] if name not in ("n", "n_multi")]
        table["macro"] = {"n": len(categories), **{name: mean(table[category][name] for category in categories) for name in names}}
    return {name.removeprefix("category "): row for name, row in table.items()}


def _means(found: Sequence[Scores]) -> dict[str, Any]:
    multi = sum(1 for item in found if item[f"ec@{DEPTHS[0]}"] is not None)
    return {"n": len(found), "n_multi": multi, **{name: mean(item[name] for item in found) for name in found[0]}}


def percentile(values: Sequence[float], share: float) -> float | None:
    """The least value that at least `share` of the values do not exceed. Source: the nearest-rank definition, NIST handbook 7.2.6.2 (R1)."""
    if not values:
        return None
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


@dataclass(frozen=True, slots=True)
class TwoSides:
    """A question whose evidence contradicts itself: `old` was said before `new`."""

    question: str
    kind: str
    old: frozenset[str]
    new: frozenset[str]


def conflict_report(run: Run, pairs: Sequence[TwoSides], depth: int = 10) -> dict[str, dict[str, float]]:
    """By kind: the share of pairs with both sides in the first `depth`, and with the new side above the old one.

    A side that was not returned at all stands below one that was. Source: evaluate_runs.py, conflict_report.
    """
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair in pairs:
        if pair.question in run and pair.old and pair.new and pair.old != pair.new:
            ranked = distinct(run[pair.question])
            first = set(ranked[:depth])
            above = _best_place(ranked, pair.new) < _best_place(ranked, pair.old)
            counts[pair.kind].append((bool(first & pair.old and first & pair.new), above))
    return {
        kind: {
            "n": len(found),
            f"both_in_{depth}": sum(both for both, _ in found) / len(found),
            "new_above_old": sum(above for _, above in found) / len(found),
        }
        for kind, found in sorted(counts.items())
    }


def _best_place(ranked: Sequence[str], names: frozenset[str]) -> float:
    return min((place for place, name in enumerate(ranked) if name in names), default=math.inf)
