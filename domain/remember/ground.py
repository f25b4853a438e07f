"""The deterministic verifier: is a proposed relationship carried by the text it cites?

`entailed` when both ends stand in one cited text, near each other, by name, by a known alias or as the declared speaker;
else `insufficient`. It reads no meaning: `contradicted` comes only by delegation (decisions.md 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from commonlore.domain.text.mentions import Mention, find_mentions, sentence_around
from commonlore.domain.text.normalise import name_key
from commonlore.domain.text.parts import Span

VERIFIER = "grounding-1"
QUOTE_LIMIT = 999


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


def ground(text: CitedText, subject_names: Sequence[str], object_names: Sequence[str]) -> Grounding:
    """Find both ends in one text.

    The span is the smallest window that holds one mention of each end, the earliest of equal ones, widened to its
    sentences within 999 code points. An end that is the speaker needs no mention.
    """
    offset, content = (text.span.start, text.content[text.span.start : text.span.end]) if text.span else (0, text.content)
    subject, target = find_mentions(content, subject_names), find_mentions(content, object_names)
    speaker_is_subject, speaker_is_object = _is_speaker(text.speaker, subject_names), _is_speaker(text.speaker, object_names)
    window = _nearest(subject, target)
    if window is None and speaker_is_subject and target:
        window = Span(target[0].start, target[0].end)
    if window is None and speaker_is_object and subject:
        window = Span(subject[0].start, subject[0].end)
    if window is None:
        missing = [name for name, found in (("subject", subject or speaker_is_subject), ("object", target or speaker_is_object)) if not found]
        return Grounding("insufficient", f"the text does not name the {' and the '.join(missing) or 'other end apart from its speaker'}")
    if window.end - window.start > QUOTE_LIMIT:
        return Grounding("insufficient", f"the two ends stand more than {QUOTE_LIMIT} code points apart")
    span = Span(0, len(content)) if text.span else sentence_around(content, window.start, window.end, max_chars=QUOTE_LIMIT)
    return Grounding("entailed", "both ends stand in the quoted text", Span(span.start + offset, span.end + offset))


def _is_speaker(speaker: str | None, names: Sequence[str]) -> bool:
    if speaker is None:
        return False
    try:
        return name_key(speaker) in {name_key(name) for name in names}
    except ValueError:
        return False


def _nearest(first: Sequence[Mention], second: Sequence[Mention]) -> Span | None:
    """The smallest window over one mention of each, which must not be the same words; linear in the mentions."""
    best: Span | None = None
    merged = sorted([(mention.start, mention.end, 0) for mention in first] + [(mention.start, mention.end, 1) for mention in second])
    last: list[tuple[int, int] | None] = [None, None]
    for start, end, side in merged:
        other = last[1 - side]
        if other is not None and other[1] <= start and (best is None or end - other[0] < best.end - best.start):
            best = Span(other[0], end)
        previous = last[side]
        if previous is None or end >= previous[1]:
            last[side] = (start, end)
    return best
