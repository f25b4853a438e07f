"""Many documents are posted at once as they would be one by one."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.projection import posting
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.projection.posting import (
    POSTINGS_A_BLOCK,
    PostedText,
    PostingBlock,
    StatisticsDifference,
    blocks,
    count_terms,
    document_blocks,
    document_statistics,
    text_postings,
)
from commonlore.domain.text import terms

# Names of a few, so that lines are equal; some with a line's end, marks and signs of their own in them.
PIECES = [
    "Uma",
    "uma",
    "O'Brien",
    "C++",
    "node.js",
    "Café",
    "e\u0301",
    "\u0301",
    "\u200b",
    "中文",
    "한국",
    "\n",
    "\r\n",
    " ",
    "\u2028",
    '\u05d0"\u05d1',
    "`",
]
NAMES = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
DOCUMENTS = st.builds(RelationshipWording, NAMES, st.sampled_from(["works on", "likes"]), NAMES, st.sampled_from(["+", "-"]), st.none() | NAMES).map(
    render
)
TEXTS = st.lists(st.one_of(DOCUMENTS, NAMES, st.text(max_size=60)), max_size=30)


def one_by_one(texts: list[str]) -> tuple[list[PostingBlock], StatisticsDifference]:
    counted = [count_terms(text) for text in texts]
    posted = [PostedText(str(place), 0, found.length, found.frequencies) for place, found in enumerate(counted)]
    return blocks(text_postings(posted)), document_statistics([(found, None) for found in counted])


def at_once(texts: list[str]) -> tuple[list[PostingBlock], StatisticsDifference]:
    made, difference = document_blocks(texts)
    bounds = list(pairwise(accumulate(made.sizes.tolist(), initial=0)))
    keys, codes = [str(place) for place in made.places.tolist()], made.codes.tolist()
    return [PostingBlock(term, keys[first:last], codes[first:last]) for term, (first, last) in zip(made.terms, bounds, strict=True)], difference


@given(TEXTS)
def test_blocks_made_at_once_are_those_of_each_text(texts: list[str]) -> None:
    """The same terms, blocks, postings and counts in the same order, whatever is written."""

    assert one_by_one(texts) == at_once(texts)


@given(st.lists(DOCUMENTS, min_size=1, max_size=3), st.integers(1, 90))
def test_blocks_made_at_once_are_cut_where_others_are(texts: list[str], times: int) -> None:
    many = texts * times

    assert one_by_one(many) == at_once(many)
    assert POSTINGS_A_BLOCK >= max(len(block.keys) for block in at_once(many)[0])


@given(st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_term_reaches_over_the_end_of_a_line(text: str) -> None:
    """What allows a line to be analysed once for all documents that have it."""

    assert terms(text) == [term for line in text.split("\n") for term in terms(line)]


def test_a_text_of_too_many_terms_is_refused_as_alone() -> None:
    text = "zebra " * (1 << 16)
    with pytest.raises(ValueError, match="cannot be posted"):
        document_blocks(["a", text])
    with pytest.raises(ValueError, match="cannot be posted"):
        one_by_one([text])


def test_a_line_is_analysed_once_for_all_documents_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rebuild is fast by."""
    analysed: list[str] = []
    monkeypatch.setattr(posting, "terms", lambda line: analysed.append(line) or terms(line))
    texts = [render(RelationshipWording(f"Uma {number % 7}", "works on", f"Orion {number % 5}", "+")) for number in range(500)]
    posting._line_terms.cache_clear()
    document_blocks(texts)
    document_blocks(texts)

    assert sorted({line for text in texts for line in text.split("\n")}) == sorted(analysed)
