"""What a time of the query gives: the same questions without it, with it read in their words, stated by the caller, and stated wrongly.

    python -m tests.eval.cues --datasets DIR --cache DIR [--sets locomo_timecue,tmd] [--values FILE]

As `tests.eval.hints` does, in memory. Each way is compared with the query without its times, question by question: nDCG@10, the
95 % interval of the difference, better and worse, and the sign test. "late" reads the words a thousand days after the question
was asked, as a service does that is not told when. Only questions that name a time, or for which the set states one, are counted;
all others have the same bytes under every way, which is checked.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from commonlore.domain.quality.metrics import ndcg
from commonlore.domain.quality.paired import difference
from commonlore.domain.recall.hints import QueryHints, parse_hints
from commonlore.domain.recall.period import Period
from tests.eval.hints import Asked, load

LATE = timedelta(days=1000)


def stated_periods(folder: Path) -> dict[str, Period]:
    """The period that the set states for a question, half-open."""
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    cues = {item["id"]: item["time_cue"] for item in map(json.loads, filter(str.strip, lines)) if item.get("time_cue")}
    return {name: Period("", _instant(cue.get("after")), _instant(cue.get("before"))) for name, cue in cues.items()}


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def wrong_periods(asked: Sequence[Asked], stated: Mapping[str, Period]) -> dict[str, Period]:
    """For each question the next stated period of its space that does not meet its own; none where there is none."""
    found = {}
    for place, item in enumerate(asked):
        own = stated.get(item.question.id)
        others = (stated.get(other.question.id) for other in [*asked[place + 1 :], *asked[:place]] if other.question.space == item.question.space)
        if own is not None and (other := next((other for other in others if other is not None and _apart(own, other)), None)) is not None:
            found[item.question.id] = other
    return found


def _apart(one: Period, other: Period) -> bool:
    return (one.end is not None and other.start is not None and one.end <= other.start) or (
        other.end is not None and one.start is not None and other.end <= one.start
    )


def ways(item: Asked, stated: Mapping[str, Period], wrong: Mapping[str, Period]) -> dict[str, QueryHints]:
    """The hints of a question by each way; the first is without times."""
    words = parse_hints(item.question.text, item.reference)
    found = {
        "none": replace(words, periods=()),
        "words": words,
        "late": parse_hints(item.question.text, item.reference + LATE) if item.reference else words,
    }
    name = item.question.id
    if name in stated:
        found["stated"] = replace(words, periods=(stated[name],))
        found["both"] = replace(words, periods=(*words.periods, stated[name]))
    if name in wrong:
        found["wrong"] = replace(words, periods=(wrong[name],))
    return found


def measure(folder: Path, cache: Path, seed: int) -> dict[str, dict[str, float]]:
    """By way and question: nDCG@10 of `zscore-2`."""
    texts, asked = load(folder, cache, seed)
    stated = stated_periods(folder)
    wrong = wrong_periods(asked, stated)
    values: dict[str, dict[str, float]] = {}
    for item in asked:
        relevance = texts.relevance.get(item.question.id)
        hints = ways(item, stated, wrong)
        if relevance and any(found.periods for found in hints.values()):
            for way, found in hints.items():
                values.setdefault(way, {})[item.question.id] = ndcg(item.order("zscore-2", found), relevance)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--sets", default="locomo_timecue,tmd,timeqa,locomo,beam100k,factupdate,hotpotqa,musique,locomo_plus,irc_threads")
    parser.add_argument("--values", type=Path, help="where to write the value of each question, by set and way")
    parser.add_argument("--seed", type=int, default=0, help="of the ids, which break ties and choose the sample")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    kept = {}
    print("| set | way | n | without | with | difference | 95 % interval | better, worse | p |\n|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        kept[name] = values = measure(arguments.datasets / name, arguments.cache, arguments.seed)
        for way in [way for way in values if way != "none"]:
            pairs = [(values["none"][question], value) for question, value in values[way].items()]
            found = difference(pairs)
            without, given = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
            print(
                f"| {name} | {way} | {found.n} | {without:.3f} | {given:.3f} | {found.mean:+.4f} | {found.low:+.3f} to {found.high:+.3f} "
                f"| {found.better}, {found.worse} | {found.p:.2g} |",
                flush=True,
            )
    if arguments.values:
        arguments.values.write_text(json.dumps(kept), "utf-8")


if __name__ == "__main__":
    main()
