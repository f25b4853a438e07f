"""Names found in texts, and the sentence around them."""

from __future__ import annotations

import pytest

from commonlore.domain.text import Mention, Span, find_mentions, sentence_around
from commonlore.domain.text.mentions import mention_key


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("Clara uses C, C++ and C#.", "C", ["C"]),
        ("Clara uses C, C++ and C#.", "C++", ["C++"]),
        ("Clara uses C, C++ and C#.", "c#", ["C#"]),
        (".NET, ASP.NET and Net", "Net", ["Net"]),
        (".NET, ASP.NET and Net", ".NET", [".NET"]),
        ("Node runs node.js", "node", ["Node"]),
        ("Node runs node.js.", "Node.js", ["node.js"]),
        ("Don't ask Don.", "Don", ["Don"]),
        ("Ann's, Ann’s and (Ann); Anna", "Ann", ["Ann", "Ann", "Ann"]),
        ("O’Brien and O'Brien", "o'brien", ["O’Brien", "O'Brien"]),
        ("the ﬁnance team", "Finance", ["ﬁnance"]),
        ("the ﬁnance team", "inance", []),
        ("Am Straßenrand, STRASSE", "Straße", ["STRASSE"]),
        ("in STRASSE 5", "straße", ["STRASSE"]),
        ("İstanbul'da", "İSTANBUL", ["İstanbul"]),
        ("Zoe\u0301 and Zoé", "ZOÉ", ["Zoe\u0301", "Zoé"]),
        ("Zoe\u0301", "Zoe", []),
        ("Żubr Zubr", "zubr", ["Zubr"]),
        ("Ann \n  Lee, Ann\u00a0Lee", "ann lee", ["Ann \n  Lee", "Ann\u00a0Lee"]),
        ("é Ann \n  Lee", "ann lee", ["Ann \n  Lee"]),
        ("GitHub备份脚本", "GitHub", ["GitHub"]),
        ("GitHub备份脚本", "备份", ["备份"]),
        ("서울은 크다", "서울", ["서울"]),
        ("ประชุมวันศุกร์", "วันศุกร์", ["วันศุกร์"]),
        ("foo_bar foo-bar", "bar", ["bar"]),
        ("a 👨\u200d👩\u200d👧 b", "👨", []),
        ("nothing", "", []),
        ("nothing", "\u200b", []),
        ("", "Ann", []),
    ],
)
def test_where_a_name_stands(content: str, name: str, expected: list[str]) -> None:
    """A name is found as a word of its own, however it is written, and by its exact place in the original."""

    found = find_mentions(content, [name])

    assert [content[mention.start : mention.end] for mention in found] == expected
    assert {mention_key(slice_) for slice_ in expected} <= {mention_key(name)}


def test_order_of_mentions() -> None:
    """By start, longest first; a name given twice is reported once."""

    found = find_mentions("New York Times in New York", ["New York", "new york times", "York", "New York"])

    assert found == [
        Mention(0, 14, "new york times"),
        Mention(0, 8, "New York"),
        Mention(4, 8, "York"),
        Mention(18, 26, "New York"),
        Mention(22, 26, "York"),
    ]


@pytest.mark.parametrize(
    ("content", "quoted", "expected"),
    [
        ("One. Two is here! Three?", "is", "Two is here!"),
        ("One. Two is here! Three?", "here!", "Two is here!"),
        ("Then Dr. Who left. He ran.", "Who", "Then Dr. Who left."),
        ("first line\nsecond line\n", "second", "second line"),
        ("我们开会。明天讨论。好", "讨论", "明天讨论。"),
        ("v1.2 is out", "out", "v1.2 is out"),
    ],
)
def test_the_sentence_around_a_place(content: str, quoted: str, expected: str) -> None:
    """The whole sentence, without the white space around it."""

    start = content.index(quoted)
    span = sentence_around(content, start, start + len(quoted))

    assert content[span.start : span.end] == expected


def test_a_long_sentence_is_cut_between_words() -> None:
    """The bound is kept and the place stays inside."""

    content = "word " * 200 + "here " + "word " * 200
    span = sentence_around(content, 1000, 1004, max_chars=60)
    quote = content[span.start : span.end]

    assert 50 <= len(quote) <= 60
    assert set(quote.split()) == {"word", "here"}


def test_a_place_beyond_the_bound_keeps_its_beginning() -> None:
    """No grapheme is split."""

    assert sentence_around("🇩🇪" * 20, 0, 40, max_chars=7) == Span(0, 6)


@pytest.mark.parametrize(("start", "end", "bound"), [(-1, 1, 9), (2, 1, 9), (0, 5, 9), (0, 1, 0)])
def test_places_outside_the_text_are_refused(start: int, end: int, bound: int) -> None:
    """A wrong span is an error of the caller."""

    with pytest.raises(ValueError, match="expected"):
        sentence_around("text", start, end, max_chars=bound)
