"""From answers to numbers: one JSON document, and run files that other scorers read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from commonlore.api.evaluation.asking import Answer, LoadedSpace
from commonlore.api.evaluation.lanes import lanes_report
from commonlore.api.evaluation.probes import Probe
from commonlore.api.evaluation.sets import EvaluationSet
from commonlore.domain.quality.lane import lane_report
from commonlore.domain.quality.metrics import conflict_report, percentile, score_run, summarise
from commonlore.domain.quality.paired import SEED, compare

NOTHING: Mapping[str, int] = MappingProxyType({})
COMPARED = ("ndcg@10", "mrr@10", "recall@10")


@dataclass(slots=True)
class Asked:
    """Everything that one contract answered, by question. `lanes`: the answers to one text and the relationships beside it.

    `probes`: what both lanes were asked, with the whole answer and that of the relationship lane alone.
    """

    contract: str
    answers: dict[str, Answer] = field(default_factory=dict)
    lanes: dict[str, Answer] = field(default_factory=dict)
    probes: list[tuple[Probe, Answer, Answer]] = field(default_factory=list)

    @property
    def run(self) -> dict[str, list[str]]:
        return {name: list(answer.documents) for name, answer in self.answers.items()}


def make_report(
    texts: EvaluationSet,
    spaces: Mapping[str, LoadedSpace],
    asked: list[Asked],
    *,
    limit: int,
    seconds: Mapping[str, float],
    sent: Mapping[str, int] = NOTHING,
) -> dict[str, Any]:
    """The first of `asked` is the base of the comparison, the second what is compared with it."""
    report: dict[str, Any] = {
        "set": texts.name,
        "title": texts.title,
        "documents": sum(map(len, texts.documents.values())),
        "spaces": len(spaces),
        "questions": len(texts.questions),
        "questions_cut": sum(question.is_cut for question in texts.questions),
        "limit": limit,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "contracts": {one.contract: _results(texts, spaces, one) for one in asked},
    }
    if texts.statements:
        outcomes: Counter[str] = sum((space.outcomes for space in spaces.values()), Counter())
        merged: Counter[bool] = sum((space.merged for space in spaces.values()), Counter())
        unsent = len(texts.statements) - (outcomes.total() - sent.get("restated", 0))
        report["relationships"] = {"in_the_set": len(texts.statements), "not_sent": unsent, **dict(sorted(outcomes.items()))}
        report["relationships"] |= {"merged": merged.total(), "merged_wrongly": merged[False]}
    if any(one.probes for one in asked):
        report["lanes"] = {**lanes_report(spaces, {one.contract: one.probes for one in asked}), **sent}
    if len(asked) == 2:
        base, against = (score_run(one.run, texts.judged) for one in asked)
        report["comparison"] = {
            "base": asked[0].contract,
            "against": asked[1].contract,
            "seed": SEED,
            "differences": {name: {part: asdict(found) for part, found in compare(base, against, texts.judged, name).items()} for name in COMPARED},
        }
    return report


def leaks_of(report: Mapping[str, Any]) -> int:
    """Ids of another space, over everything that was asked, and what a view that was asked for cannot have."""
    lanes = report.get("lanes", {"contracts": {}})["contracts"].values()
    found = [one["leaks"] for one in report["contracts"].values()] + [one["leaks"] + one["outside_view"] for one in lanes]
    return sum(found)


def _results(texts: EvaluationSet, spaces: Mapping[str, LoadedSpace], asked: Asked) -> dict[str, Any]:
    times = [answer.milliseconds for answer in asked.answers.values()]
    every = [*asked.answers.values(), *asked.lanes.values()]
    found: dict[str, Any] = {
        "measures": summarise(score_run(asked.run, texts.judged), texts.judged),
        "latency_ms": {name: percentile(times, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))},
        "leaks": sum(answer.foreign for answer in every),
        "degradations": dict(Counter(code for answer in every for code in answer.degradations)),
    }
    if texts.pairs:
        found["conflicts"] = conflict_report(asked.run, texts.pairs)
    if asked.lanes:
        found["relationship_lane"] = lane_report(
            {name: answer.lane for name, answer in asked.lanes.items()},
            {name: answer.lane for name, answer in asked.answers.items()},
            texts.relevance,
            frozenset(name for space in spaces.values() for name in space.citable),
            {key: meaning for space in spaces.values() for key, meaning in space.meaning.items()},
        )
    return found


def write_runs(folder: Path, texts: EvaluationSet, asked: list[Asked]) -> list[Path]:
    """One file a contract: {question id: [text ids, best first]}."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for one in asked:
        path = folder / f"{texts.name}.{one.contract.replace(' ', '.')}.json"
        path.write_text(json.dumps(one.run, ensure_ascii=False), encoding="utf-8")
        written.append(path)
    return written
