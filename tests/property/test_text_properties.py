"""What holds for every text, whatever it is written in."""

from __future__ import annotations

import contextlib
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.text import find_mentions, fold, name_key, query_terms, sentence_around, split_parts, terms
from commonlore.domain.text.analyse import MAX_TERM_CHARACTERS, _long_chunk_terms
from commonlore.domain.text.characters import may_cut
from commonlore.domain.text.mentions import mention_key

PIECES = st.sampled_from(
    [" ", "\n", "\n\n", ". ", "! ", "。", "a", "Word", "don't", "’", "C++", "node.js", "é", "e\u0301", "\u0301", "ﬁ", "ß", "İ", "ı", "й", "Σ", "ς"]
    + [
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "🇩🇪",
        "\U0001f1e9",
        "\u200d",
        "\ufe0f",
        "\u200b",
        "\r\n",
        "中",
        "が",
        "ｶﾞ",
        "한",
        "\u1112\u1161",
        "กำ",
        "क्षि",
        "तِ",
        "x_y",
        "\u00b4",
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=80).map("".join))


def tokens(text: str) -> int:
    """A stand-in for word pieces: uneven, and never more than one a code point."""
    return sum(2 if char.isspace() else 1 for char in text) // 2 + 1


@given(TEXTS)
def test_fold_is_idempotent(text: str) -> None:
    """Folding what is folded changes nothing."""

    assert fold(fold(text)) == fold(text)


@given(TEXTS)
def test_name_key_is_idempotent(text: str) -> None:
    """The key of a key is itself; what has no key says so."""

    with contextlib.suppress(ValueError):
        key = name_key(text)

        assert name_key(key) == key


@given(TEXTS)
def test_terms_are_bounded_and_visible(text: str) -> None:
    """No term is empty, blank or too long."""

    found = terms(text)

    assert all(term.strip() and len(term) <= MAX_TERM_CHARACTERS for term in found)


@given(TEXTS)
def test_a_query_finds_its_own_text(text: str) -> None:
    """The terms of a query are distinct and among those of the same text; none is lost when the text has any."""

    asked = query_terms(text)

    assert len(set(asked)) == len(asked)
    assert set(asked) <= set(terms(text))
    assert bool(asked) == bool(terms(text))


@given(TEXTS, TEXTS)
def test_a_text_keeps_its_terms_beside_another(first: str, second: str) -> None:
    """White space parts texts for good."""

    assert terms(f"{first} x {second}") == [*terms(first), "x", *terms(second)]


@given(TEXTS, st.integers(1, 60), st.integers(1, 40))
@settings(max_examples=300)
def test_parts_partition_the_text(text: str, max_chars: int, max_tokens: int) -> None:
    """Parts cover the text in order, without gap or overlap, within both bounds, and come out the same twice."""

    spans = split_parts(text, tokens, max_chars=max_chars, max_tokens=max_tokens)
    places = [0, *(span.end for span in spans)]

    assert [span.start for span in spans] == places[:-1]
    assert places[-1] == len(text)
    assert all(0 < span.end - span.start <= max_chars for span in spans)
    assert all(tokens(text[span.start : span.end]) <= max_tokens or span.end - span.start == 1 for span in spans)
    assert spans == split_parts(text, tokens, max_chars=max_chars, max_tokens=max_tokens)


@given(TEXTS)
def test_parts_keep_graphemes(text: str) -> None:
    """With room for every grapheme, no border falls inside one."""

    graphemes = [0, *(at for at in range(1, len(text) + 1) if may_cut(text, at))]
    longest = max((after - before for before, after in pairwise(graphemes)), default=1)

    assert all(span.start in graphemes for span in split_parts(text, len, max_chars=max(20, longest), max_tokens=10_000))


@given(TEXTS, st.lists(st.one_of(PIECES, st.text(min_size=1, max_size=4)), max_size=5))
def test_mentions_fold_to_their_name(text: str, names: list[str]) -> None:
    """Each slice has the key of its name, in order, at graphemes."""

    found = find_mentions(text, names)

    assert all(mention_key(text[mention.start : mention.end]) == mention_key(mention.name) != "" for mention in found)
    assert [(mention.start, -mention.end) for mention in found] == sorted((mention.start, -mention.end) for mention in found)
    assert all(may_cut(text, mention.start) and may_cut(text, mention.end) for mention in found)


@given(st.lists(PIECES, max_size=10).map("".join), st.from_regex(r"[A-Za-zéßŁ]{2,8}( [A-Za-z]{2,8})?", fullmatch=True))
def test_a_name_between_spaces_is_found(text: str, name: str) -> None:
    """Whatever stands around it."""

    content = f"{text} {name.upper()} {text}"

    assert any(content[mention.start : mention.end] == name.upper() for mention in find_mentions(content, [name]))


@given(TEXTS, st.data(), st.integers(1, 120))
def test_a_quote_holds_its_place_within_the_bound(text: str, data: st.DataObject, bound: int) -> None:
    """A quote is inside the text, within the bound, and holds the place when that fits."""

    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    span = sentence_around(text, start, end, max_chars=bound)

    assert 0 <= span.start <= span.end <= len(text)
    assert span.end - span.start <= bound
    assert end - start >= bound or (span.start <= start and end <= span.end)
    assert span.start == start or may_cut(text, span.start)
    assert span.end == end or may_cut(text, span.end) or end - start >= bound


@given(st.lists(st.sampled_from([*"aZ9.,;:!?()[]\"'-+#@_/ é中", "word", "IT", "PDFs", "don't"]), max_size=12).map("".join))
def test_a_word_between_signs_has_the_terms_that_the_rules_give_it(text: str) -> None:
    """Whatever way leads to the terms of a stretch without white space."""
    assert [term for chunk in text.split() for term in _long_chunk_terms(chunk)] == terms(text)
