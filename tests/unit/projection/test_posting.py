"""The two forms of postings: differences by text, blocks by term."""

from __future__ import annotations

import pytest

from commonlore.domain.projection.posting import (
    POSTINGS_A_BLOCK,
    PostedText,
    blocks,
    count_terms,
    differences,
    net,
    replaced_postings,
    text_postings,
)


def a_text(key: str, text: str, part_no: int = 0) -> PostedText:
    counted = count_terms(text)
    return PostedText(key, part_no, counted.length, counted.frequencies)


def test_a_code_holds_part_frequency_and_length() -> None:
    (posting,) = text_postings([a_text("k", "zebra zebra zebra", 7)])

    assert ("zebra", "k", 7 << 32 | 3 << 16 | 3) == posting


def test_a_difference_says_what_its_texts_say() -> None:
    texts = [a_text("a", "zebra quagga zebra"), a_text("b", "zebra", 2)]
    (made,) = differences(texts)

    assert (["a", "b"], [3, 2 << 32 | 1]) == (made.keys, made.bases)
    assert {"zebra": [2 << 6, 1 << 6 | 1], "quagga": [1 << 6]} == made.hits
    assert sorted(text_postings(texts)) == sorted(made.postings())


def test_a_text_without_a_term_is_in_no_difference() -> None:
    assert [] == list(differences([a_text("a", "...")]))
    assert [["b"]] == [made.keys for made in differences([a_text("a", "..."), a_text("b", "zebra")])]


def test_a_difference_ends_at_sixty_four_texts_and_before_320_postings() -> None:
    short = [a_text(str(number), "zebra") for number in range(130)]
    long = [a_text(str(number), " ".join(f"w{number}x{word}" for word in range(50))) for number in range(3)]

    assert [64, 64, 2] == [len(made.keys) for made in differences(short)]
    assert [1, 1, 1] == [len(made.keys) for made in differences([PostedText(text.key, 0, 200, {str(n): 1 for n in range(200)}) for text in long])]
    assert [1] == [len(made.keys) for made in differences([PostedText("k", 0, 1000, {str(n): 1 for n in range(1000)})])]


def test_blocks_are_full_but_the_last_of_a_term() -> None:
    made = blocks(("zebra" if number % 3 else "ant", str(number), number) for number in range(3 * POSTINGS_A_BLOCK))

    assert [("ant", POSTINGS_A_BLOCK), ("zebra", POSTINGS_A_BLOCK), ("zebra", POSTINGS_A_BLOCK)] == [(block.term, len(block.keys)) for block in made]
    assert [("a", POSTINGS_A_BLOCK), ("a", 1)] == [
        (block.term, len(block.codes)) for block in blocks(("a", str(n), n) for n in range(POSTINGS_A_BLOCK + 1))
    ]


def test_a_text_of_more_terms_than_a_code_has_room_for_is_refused() -> None:
    with pytest.raises(ValueError, match="65536"):
        list(text_postings([PostedText("k", 0, 65536, {"zebra": 1})]))


def test_what_two_texts_have_in_common_is_neither_added_nor_removed() -> None:
    added, removed = replaced_postings("k", count_terms("zebra quagga"), count_terms("zebra pelican"))
    assert (["quagga"], ["pelican"]) == (list(added.frequencies), list(removed.frequencies))

    added, removed = replaced_postings("k", count_terms("zebra quagga ant"), count_terms("zebra pelican"))
    assert (3, 2) == (len(added.frequencies), len(removed.frequencies))


def test_what_is_added_and_taken_away_again_is_nothing() -> None:
    posting = ("zebra", "k", 1)
    other = ("zebra", "l", 1)

    assert ([other], []) == net([(1, [posting, other]), (-1, [posting])])
    assert ([], [posting]) == net([(-1, [posting])])
    assert ([posting], []) == net([(1, [posting]), (-1, [posting]), (1, [posting])])
