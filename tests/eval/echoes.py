"""What the rule for echoes calls an echo: ordinary turns of conversations, and copies that were changed a little.

    python -m tests.eval.echoes FOLDER ... [--others] [--shown 5]

A folder is an evaluation set whose texts have a session. Each text is compared with the 100 before it in its session's space, as if
a recall had just returned them: what is called an echo then is a false alarm; the same text twice is left out. Each text of
at least `LEAST` words is then copied in the ways of `COPIES` and compared with itself alone: what is not called an echo is missed.
With `--others` both for other rules as well.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

from commonlore.domain.ledger import echo
from commonlore.domain.ledger.echo import MOST_RECALLED, Recalled, find_echo, runs_of

LEAST = 8
MOST_COPIED = 2_000
# Share of the runs in percent, and words in a row.
RULES = ((30, 8), (50, 8), (echo.SHARED_PERCENT, echo.LONG_RUN), (50, 16), (70, 12))
_FILLER = "that is what I remember and it may be of use to somebody who asks about it some day in the office"
Copy = Callable[[list[str], random.Random], list[str]]


def _without(words: list[str], share: float, draw: random.Random) -> list[str]:
    dropped = set(draw.sample(range(len(words)), max(1, int(len(words) * share))))
    return [word for place, word in enumerate(words) if place not in dropped]


def _other(words: list[str], share: float, draw: random.Random) -> list[str]:
    changed = set(draw.sample(range(len(words)), max(1, int(len(words) * share))))
    return [f"other{place}" if place in changed else word for place, word in enumerate(words)]


COPIES: dict[str, Copy] = {
    "word for word": lambda words, _: words,
    "with an introduction": lambda words, _: ["As", "I", "recall", "from", "memory:", *words],
    "its first half": lambda words, _: words[: max(LEAST // 2, len(words) // 2)],
    "inside twenty other words": lambda words, _: [*_FILLER.split()[:10], *words, *_FILLER.split()[10:]],
    "every tenth word another": lambda words, draw: _other(words, 0.1, draw),
    "every fifth word another": lambda words, draw: _other(words, 0.2, draw),
    "every tenth word left out": lambda words, draw: _without(words, 0.1, draw),
}


def read_texts(folder: Path) -> dict[str, list[str]]:
    """The texts of each space of a set, in their order."""
    found: dict[str, list[str]] = defaultdict(list)
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            found[item.get("space", "")].append(item["text"])
    return found


class Rule:
    """The rule with other numbers."""

    def __init__(self, percent: int, words: int) -> None:
        self.percent, self.words = percent, words

    def __enter__(self) -> None:
        self._before = echo.SHARED_PERCENT, echo.LONG_RUN
        echo.SHARED_PERCENT, echo.LONG_RUN = self.percent, self.words

    def __exit__(self, *_: object) -> None:
        echo.SHARED_PERCENT, echo.LONG_RUN = self._before


def false_alarms(spaces: dict[str, list[str]]) -> tuple[int, list[tuple[str, str]]]:
    """How many texts were compared, and those called an echo with what they are said to quote; the same text twice is left out."""
    compared, found = 0, []
    for texts in spaces.values():
        before: deque[tuple[str, Recalled]] = deque(maxlen=MOST_RECALLED)
        for number, text in enumerate(texts):
            runs = runs_of(text)
            others = [item for other, item in before if other != text]
            compared += 1
            if (quoted := find_echo(runs, others)) is not None:
                source = next(other for other, item in before if item.evidence_id == quoted.evidence_ids[0])
                found.append((text, source))
            before.append((text, Recalled(UUID(int=number), "", True, frozenset(runs))))
    return compared, found


def hits(texts: Sequence[str], copied: Copy) -> int:
    """How many copies are called an echo of their own original."""
    draw = random.Random(1)
    made = ((text, " ".join(copied(text.split(), draw))) for text in texts)
    return sum(find_echo(runs_of(copy), [Recalled(UUID(int=1), "", True, frozenset(runs_of(text)))]) is not None for text, copy in made)


def main() -> None:
    parser = argparse.ArgumentParser(description="What the rule for echoes finds.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--others", action="store_true", help="the rules beside it as well")
    parser.add_argument("--shown", type=int, default=0, help="so many false alarms of the rule in use are printed")
    options = parser.parse_args()
    sets = {folder.name: read_texts(folder) for folder in options.folders}
    long = [text for spaces in sets.values() for texts in spaces.values() for text in texts if len(text.split()) >= LEAST]
    chosen = random.Random(1).sample(long, min(MOST_COPIED, len(long)))
    for percent, words in RULES if options.others else RULES[2:3]:
        with Rule(percent, words):
            print(f"{percent} % of the runs or {words} words in a row")
            for name, spaces in sets.items():
                compared, found = false_alarms(spaces)
                print(f"  {name:14} {compared:6} texts, {len(found):5} called an echo ({100 * len(found) / compared:.2f} %)")
                if (percent, words) == RULES[2]:
                    for text, source in found[: options.shown]:
                        print(f"    {text[:150]!r}\n      of {source[:150]!r}")
            for name, copied in COPIES.items():
                print(f"  {name:26} {100 * hits(chosen, copied) / len(chosen):5.1f} % of {len(chosen)} found")


if __name__ == "__main__":
    main()
