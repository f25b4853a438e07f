"""Whether a text quotes back what was recalled shortly before: by runs of words, without a model.

An agent that stores what it has just read makes one statement look like two. Such a text is kept as any other, is said to be
an echo, and counts as the source that it quotes: it makes nothing more certain.

Words are compared without case, width and invisible marks; in scripts without spaces each character is a word.
A text is an echo of a recalled one where they share half of its runs of `RUN` words, or `LONG_RUN` words in a row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol
from uuid import UUID

RUN = 4
SHARED_PERCENT = 50
LONG_RUN = 12
# Of a long text the beginning is compared; what is quoted further on is not found.
MOST_TEXT_CHARS = 100_000
RETENTION_S = 24 * 3600
# Recalled texts of one space that a new text is compared with, the latest; and how much of each is read.
MOST_RECALLED = 100
MOST_CHARS = 8_000
MOST_ECHOED = 5
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
    r"|[^\W_\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A text that was returned by a recall: what counts as its source, and its runs."""

    evidence_id: UUID
    source_group_key: str
    is_in_target: bool
    runs: frozenset[int]


@dataclass(frozen=True, slots=True)
class Echo:
    """`evidence_ids`: what a text quotes, nearest first. `kept_id` and `source_group_key` are of the nearest, as they may be kept with the text."""

    evidence_ids: tuple[UUID, ...]
    kept_id: UUID | None
    source_group_key: str


class RecalledTexts(Protocol):
    """What was recalled shortly before, as a transaction read it."""

    async def find_echoes(self, texts: Sequence[Sequence[int]]) -> Mapping[int, Echo]:
        """As `find_echoes`. It may compare for a while, and is called when the transaction is over."""
        ...


def runs_of(text: str) -> list[int]:
    """A number of 64 bits for every `RUN` words in a row, in order; none for a shorter text."""
    folded = unicodedata.normalize("NFKC", text[:MOST_TEXT_CHARS]).casefold()
    visible = "".join(character for character in folded if unicodedata.category(character) != "Cf") if not folded.isascii() else folded
    words = _WORD.findall(visible)
    return [
        int.from_bytes(blake2b(" ".join(words[place : place + RUN]).encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)
        for place in range(len(words) - RUN + 1)
    ]


def find_echo(runs: Sequence[int], recalled: Iterable[Recalled]) -> Echo | None:
    """What the text with these runs is an echo of, by the share of its runs and then by id; None where of nothing."""
    distinct = frozenset(runs)
    found = [(percent, item) for item in recalled if (percent := _shared(runs, distinct, item.runs))]
    if not found:
        return None
    found.sort(key=lambda pair: (-pair[0], pair[1].evidence_id))
    _, nearest = found[0]
    ids = tuple(dict.fromkeys(item.evidence_id for _, item in found))[:MOST_ECHOED]
    if nearest.is_in_target:
        return Echo(ids, nearest.evidence_id, nearest.source_group_key)
    # Of a text of another space nothing is kept that its readers do not have: neither its id nor its source.
    digest = blake2b(nearest.evidence_id.bytes, digest_size=16).hexdigest()
    return Echo(ids, None, f"echo:{digest}")


def _shared(runs: Sequence[int], distinct: frozenset[int], other: frozenset[int]) -> int:
    """The share of the runs in percent, at least 1, where it makes an echo; else 0."""
    common = distinct & other
    if not common:
        return 0
    percent = 100 * len(common) // len(distinct)
    return max(1, percent) if percent >= SHARED_PERCENT or _longest(runs, common) + RUN - 1 >= LONG_RUN else 0


def _longest(runs: Sequence[int], common: frozenset[int]) -> int:
    longest = current = 0
    for run in runs:
        current = current + 1 if run in common else 0
        longest = max(longest, current)
    return longest


def find_echoes(texts: Sequence[Sequence[int]], recalled: Sequence[Recalled]) -> Mapping[int, Echo]:
    """The echoes among some texts, which are given by their runs, by their index."""
    found = ((index, find_echo(runs, recalled)) for index, runs in enumerate(texts))
    return {index: echo for index, echo in found if echo is not None} if recalled else {}
