"""When a text carries a relationship, and where it does."""

from __future__ import annotations

import random

import pytest

from commonlore.domain.remember.ground import QUOTE_LIMIT, CitedText, ground
from commonlore.domain.text.mentions import find_mentions
from commonlore.domain.text.parts import Span

MARK, PROJECT = ["Mark Huang", "Mark"], ["Dense-Mem"]


def quoted(content: str, subject: list[str], target: list[str], *, speaker: str | None = None, span: Span | None = None) -> str | None:
    """The quoted slice, or None when insufficient."""
    found = ground(CitedText(content, speaker, span), subject, target)
    assert (found.span is None) == (found.verdict == "insufficient")
    return None if found.span is None else content[found.span.start : found.span.end]


def test_both_ends_in_one_sentence_are_entailed_and_the_sentence_is_quoted() -> None:
    assert "Mark Huang works on Dense-Mem." == quoted("Hello. Mark Huang works on Dense-Mem. Bye.", MARK, PROJECT)


def test_case_and_white_space_do_not_matter_and_word_borders_do() -> None:
    assert quoted("MARK  HUANG builds dense-mem", MARK, PROJECT) is not None
    assert quoted("Markus builds Dense-Mem", MARK, PROJECT) is None
    assert quoted("Mark builds Dense-Memory", MARK, PROJECT) is None


@pytest.mark.parametrize(
    ("content", "rationale"),
    [
        ("Dense-Mem grows.", "the text does not name the subject"),
        ("Mark went home.", "the text does not name the object"),
        ("Nothing here.", "the text does not name the subject and the object"),
    ],
)
def test_a_missing_end_is_named(content: str, rationale: str) -> None:
    assert ("insufficient", rationale) == (ground(CitedText(content), MARK, PROJECT).verdict, ground(CitedText(content), MARK, PROJECT).rationale)


def test_the_smallest_window_is_quoted_and_the_earliest_of_equal_ones() -> None:
    far = "Mark came. A long talk about other things followed. Dense-Mem was built by Mark. "

    assert "Dense-Mem was built by Mark." == quoted(far, MARK, PROJECT)
    assert Span(0, 20) == ground(CitedText("Mark uses Dense-Mem. Well then! Mark owns Dense-Mem."), MARK, PROJECT).span


def test_the_speaker_grounds_either_end() -> None:
    assert "I work on Dense-Mem." == quoted("Hi. I work on Dense-Mem. Bye.", MARK, PROJECT, speaker="mark huang")
    assert "You work for Ann." == quoted("You work for Ann.", ["Ann"], MARK, speaker="Mark Huang")
    assert quoted("I work.", MARK, PROJECT, speaker="Mark Huang") is None


def test_a_speaker_of_another_name_grounds_nothing() -> None:
    assert quoted("I work on Dense-Mem.", MARK, PROJECT, speaker="Ann") is None
    assert quoted("I work on Dense-Mem.", MARK, PROJECT, speaker="\u200b") is None


def test_one_mention_cannot_be_both_ends() -> None:
    """The name inside another name, or one end that is both."""
    assert quoted("The New York Times reports.", ["New York"], ["New York Times"]) is None
    assert quoted("Mark.", ["Mark"], ["Mark"]) is None
    assert "New York reads the New York Times." == quoted("New York reads the New York Times.", ["New York"], ["New York Times"])


def test_both_ends_the_speaker_is_insufficient_without_a_mention() -> None:
    found = ground(CitedText("I am who I am.", "Mark"), ["Mark"], ["Mark"])

    assert ("insufficient", "the text does not name the other end apart from its speaker") == (found.verdict, found.rationale)


def test_an_overlapping_mention_does_not_hide_one_that_stands_apart() -> None:
    """The nearest mention overlaps the other end; an earlier one does not."""
    content = "Bank of America bought Bank of America Online"

    assert content == quoted(content, ["Bank of America"], ["America Online"])


def test_the_window_is_that_of_trying_every_pair() -> None:
    """Against the definition: the shortest pair of mentions that share no character, the earliest of equal ones."""
    draw = random.Random(7)
    words = ["a", "b", "a b", "b a", "x", "y"]
    for _ in range(400):
        content = " ".join(draw.choice("aabbxy") for _ in range(draw.randint(1, 14)))
        first, second = draw.sample(words, 2), draw.sample(words, 2)
        pairs = [
            (max(one.end, two.end) - min(one.start, two.start), min(one.start, two.start))
            for one in find_mentions(content, first)
            for two in find_mentions(content, second)
            if one.end <= two.start or two.end <= one.start
        ]
        found = ground(CitedText(content, None, Span(0, len(content))), first, second)

        assert bool(pairs) == (found.verdict == "entailed"), (content, first, second)


def test_ends_far_apart_are_insufficient_up_to_the_character() -> None:
    near = "Mark " + "x" * (QUOTE_LIMIT - len("Mark  Dense-Mem")) + " Dense-Mem"

    assert QUOTE_LIMIT == len(near)
    assert near == quoted(near, MARK, PROJECT)
    assert quoted(near.replace("Mark ", "Mark  x"), MARK, PROJECT) is None


def test_a_far_mention_of_the_speaker_does_not_take_the_speaker_away() -> None:
    """An end that is the speaker needs no mention, so a mention elsewhere may not make it worse."""
    content = "I work on Dense-Mem. " + "Filler. " * 200 + "Yours, Mark Huang"

    assert "I work on Dense-Mem." == quoted(content, MARK, PROJECT, speaker="Mark Huang")


def test_no_quote_is_longer_than_the_limit() -> None:
    content = "word " * 300 + "Mark Dense-Mem " + "word " * 300

    shown = quoted(content, MARK, PROJECT)

    assert shown is not None and "Mark Dense-Mem" in shown and len(shown) <= QUOTE_LIMIT


def test_an_explicit_span_is_the_only_place_that_counts() -> None:
    content = "Mark works on Dense-Mem. Ann rests. Mark sleeps."

    assert quoted(content, MARK, PROJECT, span=Span(25, 48)) is None
    assert content[0:24] == quoted(content, MARK, PROJECT, span=Span(0, 24))


def test_an_explicit_span_cannot_cut_a_name_out_of_a_word() -> None:
    """What stands in a longer word of the text is no mention, wherever the span begins and ends."""
    content = "Denmark uses Dense-Memory."
    cut = Span(content.index("mark"), content.index("ory."))

    assert "mark uses Dense-Mem" == content[cut.start : cut.end]
    assert quoted(content, MARK, PROJECT, span=cut) is None


def test_an_explicit_span_is_in_code_points_of_the_text() -> None:
    content = "👩‍🔬 é: Mark uses Dense-Mem."
    start = content.index("Mark")

    assert "Mark uses Dense-Mem" == quoted(content, MARK, PROJECT, span=Span(start, len(content) - 1))


def test_scripts_without_blanks_are_grounded() -> None:
    """CJK names need no border; the sentence ends at its own mark."""
    assert "田中さんは東京で働いています。" == quoted("こんにちは。田中さんは東京で働いています。さようなら。", ["田中"], ["東京"])
    assert quoted("田中さんは大阪で働いています。", ["田中"], ["東京"]) is None
    assert "张伟在北京工作。" == quoted("张伟在北京工作。他很好。", ["张伟"], ["北京"])


def test_names_without_anything_visible_are_never_found() -> None:
    assert quoted("Mark uses it.", ["Mark"], ["\u200b", " "]) is None
