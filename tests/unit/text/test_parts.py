"""Parts: the borders they prefer and the bounds they keep."""

from __future__ import annotations

import time

import pytest

from commonlore.domain.text import Span, split_parts
from commonlore.domain.text.characters import may_cut

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def words(text: str) -> int:
    """One token a word."""
    return len(text.split())


def slices(text: str, **bounds: int) -> list[str]:
    """The parts as texts."""
    return [text[span.start : span.end] for span in split_parts(text, words, **bounds)]


@pytest.mark.parametrize("text", ["one word", "x" * 400, "a\n\nb. c", " \n", "e\u0301"])
def test_a_short_text_is_one_part(text: str) -> None:
    """Within both bounds nothing is cut, whatever borders there are."""

    assert split_parts(text, words) == [Span(0, len(text))]


def test_an_empty_text_has_no_part() -> None:
    """There is nothing to cover."""

    assert split_parts("", words) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two.\n\nThree. Four\nfive six", ["One two.\n\n", "Three. Four\n", "five six"]),
        ("One two three\nfour. Five six", ["One two three\n", "four. Five six"]),
        ("One two. Three four five", ["One two. ", "Three four five"]),
        ("alpha beta gamma delta", ["alpha beta ", "gamma delta"]),
        ("我们今天开会。明天再讨论这个问题，然后决定", ["我们今天开会。", "明天再讨论这个问题，", "然后决定"]),
        ("abcdefghijklmnopqrst", ["abcdefghijklmnop", "qrst"]),
    ],
)
def test_borders(text: str, expected: list[str]) -> None:
    """Paragraph before line before sentence before word; white space stays with the part before it."""

    bound = 16 if " " in text or text.isascii() else 10

    assert slices(text, max_chars=bound) == expected


def test_the_token_bound_is_kept() -> None:
    """A part that is too long in word pieces is cut again."""

    parts = slices("a b c d e f g h i j", max_tokens=3)

    assert "".join(parts) == "a b c d e f g h i j"
    assert max(map(words, parts)) <= 3


@pytest.mark.parametrize("unit", [FAMILY, "🇩🇪", "e\u0301", "👍🏽", "\r\n", "한".encode().decode(), "\u1112\u1161\u11ab", "กำ", "क्षि"])
def test_graphemes_stay_whole(unit: str) -> None:
    """No border falls inside a family, a flag, an accent, a line end or a syllable."""

    text = unit * 60

    assert all(len(part) % len(unit) == 0 for part in slices(text, max_chars=20) if len(unit) != 5)
    assert all(may_cut(text, span.start) for span in split_parts(text, words, max_chars=20))


def test_a_grapheme_beyond_the_bound_is_cut() -> None:
    """A letter under a thousand accents cannot stay whole."""

    text = "e" + "\u0301" * 1000

    assert [len(part) for part in slices(text)] == [400, 400, 201]


def test_a_code_point_beyond_the_token_bound_is_a_part() -> None:
    """The smallest piece is never refused, so that the cut always ends."""

    assert split_parts("ab", lambda part: 300) == [Span(0, 1), Span(1, 2)]


@pytest.mark.parametrize("bounds", [{"max_chars": 0}, {"max_tokens": 0}])
def test_bounds_below_one_are_refused(bounds: dict[str, int]) -> None:
    """No part could be made."""

    with pytest.raises(ValueError, match="at least 1"):
        split_parts("text", words, **bounds)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2)])
def test_a_span_runs_forward(start: int, end: int) -> None:
    """Negative and inverted spans are refused."""

    with pytest.raises(ValueError, match="span"):
        Span(start, end)


@pytest.mark.parametrize("unit", ["A line of text. And more\n", "\u4e2d", "🇩🇪", "x", " ", "e\u0301"])
def test_time_is_linear(unit: str) -> None:
    """Sixteen times the text, about sixteen times the work of the processor; and about one count a part, in any script."""

    text = unit * (2**23 // len(unit.encode()))
    calls = 0

    def count(part: str) -> int:
        nonlocal calls
        calls += 1
        return len(part) // 4

    begun = time.process_time()
    split_parts(text[: len(text) // 16], count)
    part, calls = time.process_time() - begun, 0
    spans = split_parts(text, count)
    whole = time.process_time() - begun - part

    assert whole < 64 * part + 0.2
    assert calls <= len(spans)
    assert spans[-1].end == len(text)
