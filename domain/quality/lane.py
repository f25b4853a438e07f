"""Measures of the relationship lane: what it adds to the evidence, and whether it says anything twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from commonlore.domain.quality.metrics import Relevance, mean


@dataclass(frozen=True, slots=True)
class LaneItem:
    """One group that the lane showed: its relationships, the representative first, and the texts they were read in."""

    relationships: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaneAnswer:
    """One answer: its lane, the texts of its evidence lane, and the relationships that those texts carry."""

    items: tuple[LaneItem, ...]
    documents: tuple[str, ...]
    carried: tuple[str, ...]


def lane_recall(answer: LaneAnswer, relevance: Relevance, citable: frozenset[str], depth: int = 5) -> float | None:
    """Of the relevant texts that the evidence lane did not return, the share that the first `depth` relationships cite.

    Only texts in which some stored relationship was read (`citable`) can be cited; None where none of them is left to find.
    """
    wanted = {name for name in relevance if name in citable} - set(answer.documents)
    cited = {name for item in answer.items[:depth] for name in item.documents}
    return len(wanted & cited) / len(wanted) if wanted else None


def unique_coverage(answer: LaneAnswer, relevance: Relevance) -> float:
    """The share of the relevant texts that the lane cites and the evidence lane did not return."""
    cited = {name for item in answer.items for name in item.documents} - set(answer.documents)
    return sum(1 for name in relevance if name in cited) / len(relevance)


def grouped_pairs(answer: LaneAnswer, meaning: Mapping[str, str]) -> tuple[int, int]:
    """Pairs of relationships shown as one group, and how many of them state the same. `meaning`: relationship -> what was sent as it.

    Grouping precision is the second over the first; a relationship that is not known states nothing.
    """
    pairs = [pair for item in answer.items for pair in combinations(item.relationships, 2)]
    return len(pairs), sum(1 for one, other in pairs if meaning.get(one) is not None and meaning.get(one) == meaning.get(other))


def missed_pairs(answer: LaneAnswer, meaning: Mapping[str, str], holders: Mapping[str, frozenset[str]]) -> int:
    """Pairs that state the same, one of them shown, that do not stand in one group. `holders`: what is stated -> every relationship of it."""
    missed = 0
    for item in answer.items:
        same = holders.get(meaning.get(item.relationships[0], ""), frozenset())
        missed += math.comb(len(same), 2) - math.comb(len(same.intersection(item.relationships)), 2)
    return missed


def said(answer: LaneAnswer, wanted: frozenset[str], meaning: Mapping[str, str]) -> tuple[int, int]:
    """Of what should be stated, how much a returned text carries, and how much more only the relationship lane states."""
    carried = {meaning.get(name, name) for name in answer.carried}
    shown = {meaning.get(name, name) for item in answer.items for name in item.relationships}
    return len(wanted & carried), len(wanted & shown - carried)


def duplicates(answer: LaneAnswer, meaning: Mapping[str, str]) -> int:
    """Groups of the lane that state what an earlier group of it, or a text of the evidence lane, states already."""
    seen = {meaning.get(name, name) for name in answer.carried}
    count = 0
    for item in answer.items:
        stated = {meaning.get(name, name) for name in item.relationships}
        count += bool(stated & seen)
        seen |= stated
    return count


def lane_report(
    alone: Mapping[str, LaneAnswer],
    beside: Mapping[str, LaneAnswer],
    relevance: Mapping[str, Relevance],
    citable: frozenset[str],
    meaning: Mapping[str, str],
) -> dict[str, Any]:
    """`alone`: answers to one text of evidence and five relationships. `beside`: the answers with the whole evidence lane."""
    recalls = [lane_recall(answer, relevance[name], citable) for name, answer in alone.items() if relevance.get(name)]
    coverage = [unique_coverage(answer, relevance[name]) for name, answer in beside.items() if relevance.get(name)]
    answers: Sequence[LaneAnswer] = [*alone.values(), *beside.values()]
    pairs = [grouped_pairs(answer, meaning) for answer in answers]
    grouped, right = sum(all_pairs for all_pairs, _ in pairs), sum(same for _, same in pairs)
    return {
        "questions": sum(value is not None for value in recalls),
        "recall@5": mean(recalls),
        "unique_coverage": mean(coverage),
        "groups": sum(len(answer.items) for answer in answers),
        "grouped_pairs": grouped,
        "grouping_precision": right / grouped if grouped else None,
        "cross_lane_duplicates": sum(duplicates(answer, meaning) for answer in answers),
    }
