"""The deterministic verifier: is a proposed relationship carried by the text it cites?

`entailed` when both ends stand in one cited text, near each other, by name, by a known alias or as the declared speaker;
else `insufficient`. It reads no meaning: `contradicted` comes only by delegation (decisions.md 15).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from commonlore.domain.text.mentions import Mention, find_mentions, sentence_around
from commonlore.domain.text.normalise import name_key
from commonlore.domain.text.parts import Span

VERIFIER = "grounding-1"
QUOTE_LIMIT = 999
Mentions = Mapping[str, Sequence[Mention]]
# How far around a span is read to see whether a word goes on beyond it.
_BORDER = 32


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text that a proposal cites. `span`, when given, is the only place that counts."""

    content: str
    speaker: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """The verdict for one text. `span` is the quoted place, set when entailed."""

    verdict: Literal["entailed", "insufficient"]
    rationale: str
    span: Span | None = None


def mentions_by_name(content: str, names: Sequence[str]) -> Mentions:
    """The mentions of each name, in one reading of the text; every name has an entry."""
    found: dict[str, list[Mention]] = {name: [] for name in names}
    for mention in find_mentions(content, list(found)):
        found[mention.name].append(mention)
    return found


def ground(text: CitedText, subject_names: Sequence[str], object_names: Sequence[str], known: Mentions | None = None) -> Grounding:
    """Find both ends in one text. `known`: the mentions of their names in the whole text, when they were found before.

    The span is the smallest window that holds one mention of each end, the earliest of equal ones, widened to its
    sentences within 999 code points. An end that is the speaker needs no mention.
    """
    subject, target = _mentions(text, subject_names, known), _mentions(text, object_names, known)
    speaker_is_subject, speaker_is_object = _is_speaker(text.speaker, subject_names), _is_speaker(text.speaker, object_names)
    window = _nearest(subject, target)
    if (window is None or window.end - window.start > QUOTE_LIMIT) and (speaker_is_subject or speaker_is_object):
        alone = (target if speaker_is_subject else []) or (subject if speaker_is_object else [])
        window = Span(alone[0].start, alone[0].end) if alone else window
    if window is None:
        missing = [name for name, found in (("subject", subject or speaker_is_subject), ("object", target or speaker_is_object)) if not found]
        return Grounding("insufficient", f"the text does not name the {' and the '.join(missing) or 'other end apart from its speaker'}")
    if window.end - window.start > QUOTE_LIMIT:
        return Grounding("insufficient", f"the two ends stand more than {QUOTE_LIMIT} code points apart")
    span = text.span or sentence_around(text.content, window.start, window.end, max_chars=QUOTE_LIMIT)
    return Grounding("entailed", "both ends stand in the quoted text", span)


def _mentions(text: CitedText, names: Sequence[str], known: Mentions | None) -> list[Mention]:
    """Mentions in the text, earliest first; with a span those inside it, by the borders that the whole text gives them."""
    if text.span is None:
        by_name = known if known is not None else mentions_by_name(text.content, names)
        return sorted((mention for name in dict.fromkeys(names) for mention in by_name[name]), key=lambda mention: (mention.start, -mention.end))
    low = max(0, text.span.start - _BORDER)
    found = find_mentions(text.content[low : text.span.end + _BORDER], names)
    moved = [Mention(mention.start + low, mention.end + low, mention.name) for mention in found]
    return [mention for mention in moved if text.span.start <= mention.start and mention.end <= text.span.end]


def _is_speaker(speaker: str | None, names: Sequence[str]) -> bool:
    if speaker is None:
        return False
    try:
        return name_key(speaker) in {name_key(name) for name in names}
    except ValueError:
        return False


def _nearest(first: Sequence[Mention], second: Sequence[Mention]) -> Span | None:
    """The smallest window over one mention of each that share no character, the earliest of equal ones."""
    windows = [*_windows(first, second), *_windows(second, first)]
    return min(windows, key=lambda window: (window.end - window.start, window.start), default=None)


def _windows(before: Sequence[Mention], after: Sequence[Mention]) -> Iterator[Span]:
    """For each mention the window that reaches back to the nearest of the others that ended before it."""
    ended = sorted(before, key=lambda mention: mention.end)
    place, nearest = 0, -1
    for mention in sorted(after, key=lambda mention: mention.start):
        while place < len(ended) and ended[place].end <= mention.start:
            nearest = max(nearest, ended[place].start)
            place += 1
        if nearest >= 0:
            yield Span(nearest, mention.end)
