"""Long text cut into parts: the searchable pieces that a text is embedded and quoted by."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from commonlore.domain.text.characters import cut_at_or_before, may_cut

_CLOSERS = "\"'\u2019\u201d\u00bb)\\]}\u300d\u300f\uff09"
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\s*")
_SENTENCE = re.compile(f"[.!?\u2026\u061f\u06d4\u0964\u0965\u104b\u1362\u17d4]+[{_CLOSERS}]*\\s+|[\u3002\uff01\uff1f\uff0e\uff61]+[{_CLOSERS}]*\\s*")
_WORD = re.compile(r"\s+")
_CLAUSE = re.compile("[,;:\u3001\uff0c\uff1b\uff1a\u060c\u30fb]\\s*")
# Each kind of border with the least share of the room that a part must fill for it; a later kind serves when an earlier one leaves too
# short a part.
_BORDERS = ((_PARAGRAPH, 0.4), (_LINE, 0.5), (_SENTENCE, 0.5), (_WORD, 0.0), (_CLAUSE, 0.0))


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text in code points, `end` not included."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a span needs 0 <= start <= end, got {self.start} and {self.end}")


def split_parts(text: str, count_tokens: Callable[[str], int], *, max_chars: int = 400, max_tokens: int = 254) -> list[Span]:
    """The parts of `text`, in order: together they cover it completely, without overlap.

    A part has at most `max_chars` code points and, by `count_tokens`, at most `max_tokens` word pieces. Borders prefer the end of a
    paragraph, a line, a sentence, then of a word; white space belongs to the part before it. A grapheme stays whole unless it breaks a
    bound by itself; a single code point is never refused. A text within both bounds is one part; an empty text has none; white space
    longer than a part makes blank parts. Deterministic;
    time is linear, with about one count for each part and one for each retry.

    Raises:
        ValueError: a bound is below 1.
    """
    if max_chars < 1 or max_tokens < 1:
        raise ValueError(f"the bounds of a part are at least 1, got {max_chars} characters and {max_tokens} tokens")
    spans: list[Span] = []
    start = 0
    while start < len(text):
        end = _part_end(text, start, count_tokens, max_chars, max_tokens)
        spans.append(Span(start, end))
        start = end
    return spans


def _part_end(text: str, start: int, count_tokens: Callable[[str], int], max_chars: int, max_tokens: int) -> int:
    room = max_chars
    while True:
        end = len(text) if len(text) - start <= room else _border(text, start, start + room)
        length = end - start
        if length == 1:
            return end
        count = count_tokens(text[start:end])
        if count <= max_tokens:
            return end
        # Word pieces are spread unevenly, so the estimate is lowered a little; it shrinks by at least one each time.
        room = max(1, min(length - 1, length * max_tokens * 19 // (count * 20)))


def _border(text: str, start: int, limit: int) -> int:
    """The best place for a cut after `start`, at most at `limit`; the text goes on behind `limit`."""
    window = text[start:limit]
    for pattern, share in _BORDERS:
        end = _last_border(pattern, text, window, start, share)
        if end is not None:
            return end
    return cut_at_or_before(text, limit, start)


def _last_border(pattern: re.Pattern[str], text: str, window: str, start: int, share: float) -> int | None:
    limit = start + len(window)
    ends = [start + match.end() for match in pattern.finditer(window)]
    for end in reversed(ends):
        if end - start < share * len(window):
            return None
        white_space_goes_on = text[end].isspace() if end == limit else False
        if end > start and not white_space_goes_on and may_cut(text, end, start):
            return end
    return None
