"""Where names stand in a text, and the sentence around a place, for exact quotes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commonlore.domain.text.characters import APOSTROPHES, cut_at_or_before, is_dense, is_word_character, may_cut, trim
from commonlore.domain.text.normalise import name_key
from commonlore.domain.text.parts import Span

_APOSTROPHE_TABLE = dict.fromkeys(map(ord, APOSTROPHES), "'")
_WHITE_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(
    "[.!?\u2026\u061f\u06d4\u0964\u0965]+[\"'\u2019\u201d\u00bb)\\]]*(?=\\s)|[\u3002\uff01\uff1f\uff0e]+[\u300d\u300f\uff09\u201d]*|\\n"
)
_CONTEXT = 4096  # how far back a row of flags is counted
_ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|Nr|e\.g|i\.e|z\.B|d\.h|bzw|ca))\.$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in a text: its span in code points of the original, `end` not included, and the name as it was asked for."""

    start: int
    end: int
    name: str


def mention_key(name: str) -> str:
    """`name_key` with one kind of apostrophe; empty when nothing visible is left."""
    try:
        return name_key(name.translate(_APOSTROPHE_TABLE))
    except ValueError:
        return ""


def find_mentions(content: str, names: Sequence[str]) -> list[Mention]:
    """Each place where one of `names` stands in `content` as a word of its own.

    Case, composition, kind of apostrophe and amount of white space do not matter; accents do. `mention_key` of a slice equals that of its
    name. Spans begin and end between graphemes. A name is not found inside a longer word or identifier (C in C++ or Clara, Net in .NET,
    Don in don't); a possessive 's, a hyphen or a bracket may follow. Names at whose edge a script without spaces stands need no border
    there. Mentions may overlap; two names with one key both appear. Names with nothing visible are never found.

    Order: by start, then longest first, then in order of `names`. Names given twice are reported once.

    Source: decisions 14 and 15.
    """
    keys: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if key := mention_key(name):
            keys.setdefault(key, []).append(name)
    if not keys:
        return []
    rank = {name: at for at, name in enumerate(names)}
    mapped = _Mapped(content)
    found = [Mention(start, end, name) for key, same in keys.items() for start, end in mapped.find(key) for name in same]
    return sorted(found, key=lambda mention: (mention.start, -mention.end, rank[mention.name]))


class _Mapped:
    """A text in its key form, with the way back to the original.

    The form is made grapheme by grapheme, so that a ligature or a composed letter is matched as a whole or not at all.
    """

    def __init__(self, content: str) -> None:
        self.content = content
        # Where each piece begins in the key form, and where it begins and ends in the original.
        self.offsets: Sequence[int]
        self.starts: list[int] = []
        self.ends: list[int] = []
        if content.isascii():
            self.text = self._map_ascii()
            self.offsets = range(len(self.text))
        else:
            self.text, self.offsets = self._map_graphemes()

    def _map_ascii(self) -> str:
        low = 0
        for run in _WHITE_SPACE.finditer(self.content):
            self.starts.extend(range(low, run.start() + 1))
            self.ends.extend(range(low + 1, run.start() + 1))
            self.ends.append(run.end())
            low = run.end()
        self.starts.extend(range(low, len(self.content)))
        self.ends.extend(range(low + 1, len(self.content) + 1))
        return _WHITE_SPACE.sub(" ", self.content.lower()).replace("`", "'")

    def _map_graphemes(self) -> tuple[str, list[int]]:
        pieces: list[str] = []
        offsets: list[int] = []
        length = 0
        for start, end in _graphemes(self.content):
            piece = _piece(self.content[start:end])
            if not piece or (piece == " " and pieces and pieces[-1] == " "):
                continue
            pieces.append(piece)
            offsets.append(length)
            self.starts.append(start)
            self.ends.append(end)
            length += len(piece)
        return "".join(pieces), offsets

    def find(self, key: str) -> Iterator[tuple[int, int]]:
        at = self.text.find(key)
        while at >= 0:
            if _stands_alone(self.text, at, at + len(key), key):
                span = self._original(at, at + len(key))
                if span and mention_key(self.content[slice(*span)]) == key:
                    yield span
            at = self.text.find(key, at + 1)

    def _original(self, start: int, end: int) -> tuple[int, int] | None:
        first = bisect_right(self.offsets, start) - 1
        last = bisect_right(self.offsets, end - 1) - 1
        last_end = self.offsets[last + 1] if last + 1 < len(self.offsets) else len(self.text)
        return (self.starts[first], self.ends[last]) if self.offsets[first] == start and last_end == end else None


def _graphemes(content: str) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(1, len(content) + 1):
        if may_cut(content, at, start):
            yield start, at
            start = at


def _piece(grapheme: str) -> str:
    if grapheme[0].isspace():
        return " "
    if len(grapheme) == 1 and grapheme.isascii():
        return "'" if grapheme == "`" else grapheme.lower()
    return mention_key(grapheme)


def _stands_alone(text: str, start: int, end: int, key: str) -> bool:
    return _left_border(text, start, key[0]) and _right_border(text, end, key[-1])


def _left_border(text: str, start: int, edge: str) -> bool:
    if start == 0 or is_dense(edge):
        return True
    before = text[start - 1]
    if is_word_character(before):
        return False
    if not is_word_character(edge):
        return before != edge
    # A dot before a word, or between two words, makes a name of its own: .NET, node.js. Dots of an ellipsis do not.
    return before != "." or text[max(0, start - 2) : start - 1] == "."


def _right_border(text: str, end: int, edge: str) -> bool:
    if end == len(text) or is_dense(edge):
        return True
    after, beyond = text[end], text[end + 1 : end + 2]
    if not is_word_character(edge):
        return after != edge
    if is_word_character(after) or after == "#":
        return False
    if after == "+":
        return bool(beyond) and is_word_character(beyond)
    if after == "." and beyond and is_word_character(beyond):
        return False
    return not (after == "'" and beyond == "t" and not is_word_character(text[end + 2 : end + 3] or " "))


def sentence_around(content: str, start: int, end: int, *, max_chars: int = 999) -> Span:
    """The sentences that `content[start:end]` stands in, as one span of at most `max_chars` code points without outer white space.

    When they are longer, the span is widened about evenly on both sides and cut between words where it can be; when the given span alone
    is longer, its beginning is kept. No grapheme is split, unless one alone exceeds the bound. Reads at most `max_chars` on either side.

    Raises:
        ValueError: the given span is not inside the text, or the bound is below 1.
    """
    if not 0 <= start <= end <= len(content) or max_chars < 1:
        raise ValueError(f"expected 0 <= start <= end <= {len(content)} and a bound of at least 1")
    if end - start >= max_chars:
        return Span(start, cut_at_or_before(content, start + max_chars, start))
    low, high = _sentence_start(content, start, max_chars), _sentence_end(content, end, max_chars)
    if high - low > max_chars:
        spare = max_chars - (end - start)
        left = min(start - low, max(spare // 2, spare - (high - end)))
        low = _word_start(content, start - left, start)
        high = _word_end(content, min(high, low + max_chars), end)
    trimmed_low, trimmed_high = trim(content, low, high)
    return Span(min(start, trimmed_low), max(end, trimmed_high))


def _sentence_start(content: str, start: int, reach: int) -> int:
    low = max(0, start - reach)
    ends = [low + match.end() for match in _SENTENCE_END.finditer(content[low : start + 1]) if _ends_sentence(content, low + match.end())]
    return next((end for end in reversed(ends) if end <= start and _may_cut(content, end)), _first_cut(content, low, start))


def _sentence_end(content: str, end: int, reach: int) -> int:
    high = min(len(content), end + reach)
    # One character back, since the given span may hold the full stop itself.
    for match in _SENTENCE_END.finditer(content, max(0, end - 1), min(len(content), high + 1)):
        if match.end() >= end and _ends_sentence(content, match.end()) and _may_cut(content, match.end()):
            return match.end()
    return _last_cut(content, high, end)


def _ends_sentence(content: str, end: int) -> bool:
    return _ABBREVIATION.search(content[max(0, end - 6) : end]) is None


def _word_start(content: str, low: int, start: int) -> int:
    if low == 0 or content[low - 1].isspace():
        return _first_cut(content, low, start)
    return next((at for at in range(low, start) if content[at].isspace() and _may_cut(content, at)), _first_cut(content, low, start))


def _word_end(content: str, high: int, end: int) -> int:
    if high >= len(content) or content[high].isspace():
        return _last_cut(content, high, end)
    return next((at for at in range(high, end, -1) if content[at - 1].isspace() and _may_cut(content, at)), _last_cut(content, high, end))


def _first_cut(content: str, low: int, start: int) -> int:
    return next((at for at in range(low, start) if _may_cut(content, at)), start)


def _last_cut(content: str, high: int, end: int) -> int:
    return next((at for at in range(high, end, -1) if _may_cut(content, at)), end)


def _may_cut(content: str, at: int) -> bool:
    return may_cut(content, at, max(0, at - _CONTEXT)) if 0 < at < len(content) else True
