"""Real sentences for the benchmarks, from the evaluation sets or, without them, from the bundled demo and its variations."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

_SETS = ("qmsum", "beam100k", "locomo", "locomo_plus", "irc_threads", "factupdate", "timeqa", "musique", "hotpotqa")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def pieces(datasets: Path | None, count: int, *, seed: int = 7) -> list[str]:
    """`count` distinct texts of 40 to 300 characters, about 140 in the mean, in a fixed shuffled order.

    Where the sets hold too few, sentences are joined in new pairs until there are enough.
    """
    found = list(dict.fromkeys(_sentences(datasets)))
    random.Random(seed).shuffle(found)
    chooser = random.Random(seed + 1)
    texts = dict.fromkeys(found)
    while len(texts) < count:
        texts[f"{len(texts)}: {chooser.choice(found)} {chooser.choice(found)}"[:300]] = None
    return list(texts)[:count]


def _sentences(datasets: Path | None) -> Iterator[str]:
    if datasets is None:
        bundled = Path(__file__).resolve().parents[2] / "api" / "demo"
        for path in sorted(bundled.glob("conversation.jsonl")):
            for line in path.read_text("utf-8").splitlines():
                yield json.loads(line)["text"]
        return
    for name in _SETS:
        path = datasets / name / "corpus.jsonl"
        if path.exists():
            for line in path.read_text("utf-8").splitlines():
                yield from _cut(json.loads(line)["text"])


def _cut(text: str) -> Iterator[str]:
    held = ""
    for sentence in _SENTENCE.split(" ".join(text.split())):
        held = f"{held} {sentence}".strip()
        if len(held) >= 90:
            if 40 <= len(held) <= 300:
                yield held
            held = ""
