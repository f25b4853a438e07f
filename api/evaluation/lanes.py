"""Both lanes of an answer, slice by slice: how well each ranks, what they say together, and whether anything is said twice or wrongly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from commonlore.api.evaluation.asking import Answer, LoadedSpace
from commonlore.api.evaluation.probes import SLICES, Probe
from commonlore.domain.quality.lane import duplicates, grouped_pairs, missed_pairs, said
from commonlore.domain.quality.metrics import Judged, Scores, mean, score
from commonlore.domain.quality.paired import SEED, compare

MEASURES = ("recall@5", "recall@10", "mrr@10", "ndcg@10")
LANES = ("evidence", "relationships")
Asked = Sequence[tuple[Probe, Answer, Answer]]


def lanes_report(spaces: Mapping[str, LoadedSpace], asked: Mapping[str, Asked]) -> dict[str, Any]:
    """By contract, lane and slice; the first contract is the base of the paired differences, which are taken over the same probes."""
    scores = {contract: _scores(probes, spaces) for contract, probes in asked.items()}
    report: dict[str, Any] = {"contracts": {contract: _found(spaces, probes, scores[contract]) for contract, probes in asked.items()}}
    if len(asked) == 2:
        (first, base), (second, against) = scores.items()
        judged = {lane: [Judged(key, key.split("/")[0], {}) for key in found] for lane, found in base.items()}
        report["comparison"] = {
            "base": first,
            "against": second,
            "seed": SEED,
            "differences": {lane: {name: _differences(base[lane], against[lane], judged[lane], name) for name in MEASURES} for lane in LANES},
        }
    return report


def _scores(asked: Asked, spaces: Mapping[str, LoadedSpace]) -> dict[str, dict[str, Scores]]:
    """By lane, the measures of each probe in each of its slices, as slice/number."""
    found: dict[str, dict[str, Scores]] = {lane: {} for lane in LANES}
    for number, (probe, whole, alone) in enumerate(asked):
        meaning = spaces[probe.question.space].meaning
        stated = [meaning.get(item.relationships[0], item.relationships[0]) for item in alone.lane.items]
        for name in probe.slices:
            if probe.texts:
                found["evidence"][f"{name}/{number}"] = score(whole.documents, probe.texts)
            if probe.statements:
                found["relationships"][f"{name}/{number}"] = score(stated, dict.fromkeys(probe.statements, 1))
    return found


def _differences(base: Mapping[str, Scores], against: Mapping[str, Scores], judged: Sequence[Judged], measure: str) -> dict[str, Any]:
    found = compare(base, against, judged, measure)
    return {name: asdict(found[name]) for name in SLICES if name in found}


def _found(spaces: Mapping[str, LoadedSpace], asked: Asked, scores: Mapping[str, Mapping[str, Scores]]) -> dict[str, Any]:
    return {
        **{lane: _table(scores[lane]) for lane in LANES},
        "grouping": _grouping(spaces, asked),
        "coverage": _coverage(spaces, asked),
        "duplicates": sum(duplicates(answer.lane, spaces[probe.question.space].meaning) for probe, *answers in asked for answer in answers),
        "groups": sum(len(answer.lane.items) for _, *answers in asked for answer in answers),
        "leaks": sum(answer.foreign for _, *answers in asked for answer in answers),
        "outside_view": sum(answer.outside for _, *answers in asked for answer in answers),
        "asked": 2 * len(asked),
    }


def _table(scores: Mapping[str, Scores]) -> dict[str, dict[str, Any]]:
    rows: dict[str, list[Scores]] = defaultdict(list)
    for key, found in scores.items():
        rows[key.split("/")[0]].append(found)
    return {
        name: {"n": len(rows[name]), **{measure: mean(row[measure] for row in rows[name]) for measure in MEASURES}} for name in SLICES if name in rows
    }


def _grouping(spaces: Mapping[str, LoadedSpace], asked: Asked) -> dict[str, Any]:
    """Precision over every group that was shown; recall where the present was asked for, since another view may lack an author."""
    pairs = right = missed = 0
    holders = {name: _holders(space) for name, space in spaces.items()}
    for probe, *answers in asked:
        name = probe.question.space
        for answer in answers:
            shown, same = grouped_pairs(answer.lane, spaces[name].meaning)
            pairs, right = pairs + shown, right + same
            missed += 0 if probe.fields else missed_pairs(answer.lane, spaces[name].meaning, holders[name])
    return {"pairs": pairs, "precision": right / pairs if pairs else None, "missed_pairs": missed}


def _holders(space: LoadedSpace) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for relationship, meaning in space.meaning.items():
        if relationship in space.active:
            found[meaning].add(relationship)
    return {meaning: frozenset(ids) for meaning, ids in found.items()}


def _coverage(spaces: Mapping[str, LoadedSpace], asked: Asked) -> dict[str, Any]:
    """Of the relationships that answer a question: the share that a returned text carries, and the share that only the lane states."""
    wanted = carried = added = 0
    for probe, whole, _ in asked:
        if "as_asked" in probe.slices and probe.statements:
            by_text, by_lane = said(whole.lane, probe.statements, spaces[probe.question.space].meaning)
            wanted, carried, added = wanted + len(probe.statements), carried + by_text, added + by_lane
    return {"statements": wanted, "by_evidence": carried / wanted if wanted else None, "by_relationships_only": added / wanted if wanted else None}
