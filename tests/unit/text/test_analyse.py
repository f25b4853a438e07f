"""Terms of texts and queries, for the named examples and the cases of areas fts and unicode."""

from __future__ import annotations

import pytest

from commonlore.domain.text import query_terms, terms
from commonlore.domain.text.analyse import MAX_TERM_CHARACTERS

GOLDEN = {
    "FOO_BAR-123": ["foo_bar-123", "foo", "bar", "123"],
    "getUserById": ["getuserbyid", "get", "user", "by", "id"],
    "GetUserById_v2": ["getuserbyid_v2", "getuserbyid", "get", "user", "by", "id", "v2"],
    "node.js": ["node.js", "node", "js"],
    "C++ C# C": ["c++", "c#", "c"],
    "C++/C#": ["c++", "c#"],
    "notepad++": ["notepad++", "notepad"],
    ".NET": [".net", "net"],
    "ASP.NET": ["asp.net", "asp", "net"],
    "AT&T": ["at&t", "at", "t"],
    "lodash:4.17.21": ["lodash:4.17.21", "4.17.21", "lodash", "4", "17", "21"],
    "src/app/main.py": ["src/app/main.py", "main.py", "src", "app", "main", "py"],
    "ann@mail.org": ["ann@mail.org", "mail.org", "ann", "mail", "org"],
    "#general @ann": ["#general", "general", "@ann", "ann"],
    "2023-10-22T10:02:00Z": ["2023-10-22t10:02:00z", "2023-10-22t10", "2023-10-22", "2023", "10", "22t10", "22", "10", "02", "00z", "00"],
    "3,000 1,234.5": ["3000", "1234.5"],
    "a--b wait...what": ["a", "b", "wait", "what"],
    "-beta --force": ["beta", "forc"],
    '\'abs "abs" *abs*': ["ab", "ab", "ab"],
    "a|b:*": ["a", "b"],
    "Caroline's": ["carolin"],
    "node.js’s O'Brien's": ["node.js", "node", "js", "obrien", "brien"],
    "don’t don't dont": ["dont", "dont", "dont"],
    "L’école": ["lecol", "ecol"],
    "İstanbul'da": ["istanbulda", "istanbul"],
    "IT is it": ["it", "IT", "is", "it"],
    "iPhone HTTPServer iOS17 GPT4o": ["iphon", "phone", "httpserver", "http", "server", "ios17", "os", "17", "gpt4o", "gpt"],
    "3rd v2 e29b 550e8400": ["3rd", "v2", "e29b", "550e8400"],
    "PDFs": ["pdfs", "pdf"],
    "Łódź café": ["lodz", "cafe"],
    "книги": ["книг"],
    "GitHub备份脚本": ["github", "git", "hub", "备份", "份脚", "脚本", "备", "份", "脚", "本"],
    "猫": ["猫"],
    "한국어": ["한국", "국어", "한"],
    "วันศุกร์": ["วัน", "นศุ", "ศุก", "กร์"],
    "emoji 😀 test": ["emoji", "😀", "test"],
    "👩‍👩‍👧 👍🏽 🇩🇪🇫🇷": ["👩", "👩", "👧", "👍", "🇩🇪", "🇫🇷"],
    "→ € ∑": ["→", "€", "∑"],
    "हिन्दी": ["हिन्द"],
    "Ελληνικός": ["ελληνικ"],
    "المدينة مدينة": ["مدين", "مدين"],
    "黒猫が": ["黒猫", "猫が", "黒", "猫"],
    "'\":* -- /* % !! ((( \\": [],
    ".": [],
    "_": [],
    "": [],
    "\u200b": [],
}


@pytest.mark.parametrize(("text", "expected"), GOLDEN.items())
def test_terms(text: str, expected: list[str]) -> None:
    """The terms of a text, whole before parts, with repeats, in order."""

    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What's your password policy?", ["password", "polici"]),
        ("The Who", ["who"]),
        ("who is who", ["who", "is"]),
        ("When does The Who play?", ["who", "play"]),
        ("IT", ["it", "IT"]),
        ("what did IT approve", ["it", "IT", "approv"]),
        ("what did it approve", ["approv"]),
        ("WHAT DID IT APPROVE TODAY", ["approv", "today"]),
        ("When did Will and I move in May?", ["will", "move", "may"]),
        ("AI", ["ai"]),
        ("C", ["c"]),
        ("R", ["r"]),
        ("don't retry", ["dont", "retri"]),
        ("server -beta", ["server", "beta"]),
        ("a & ", ["a"]),
        ("AT&T", ["at&t", "t"]),
        ("dog dog dogs", ["dog"]),
        ("", []),
    ],
)
def test_query_terms(text: str, expected: list[str]) -> None:
    """A query keeps distinct terms and loses function words, unless nothing else is left or they are written as names."""

    assert query_terms(text) == expected


@pytest.mark.parametrize(
    ("row", "query"),
    [
        ("team:foobar", "foobar"),
        ("see http://h/x?y=1&z=2 now", "http://h/x?y=1&z=2"),
        ("https://github.com/a/b", "github.com"),
        ("GitHub备份脚本上传失败", "备份脚本"),
        ("GitHub备份脚本上传失败", "github 备份"),
        ("GitHub备份脚本上传失败", "上传失败"),
        ("ประชุมทีมเลื่อนไปวันศุกร์", "วันศุกร์"),
        ("ประชุมทีมเลื่อนไปวันศุกร์", "ประชุม"),
        ("קובץ תִּקּוּן סופי", "תקון"),
        ("مَرَّاكُش", "مراكش"),
        ("le café du coin", "cafe"),
        ("le cafe\u0301 du coin", "café"),
        ("黒猫がいる", "猫"),
        ("물을 마신다", "물"),
        ("Łódź office", "Lodz"),
        ("don’t retry on 402", "dont retry"),
        ("Żubr", "zubr"),
        ("IT approved the budget", "IT"),
        ("vitamin C dose", "C"),
        ("R script for plots", "R"),
        ("2023-10-22T10:02:00Z", "2023-10-22"),
        ("lodash:4.17.21", "4.17.21"),
        ("pip install foo>=1.2", "1.2"),
    ],
)
def test_every_term_of_the_query_is_in_the_row(row: str, query: str) -> None:
    """A part finds its whole, in every script, with and without accents and points."""

    wanted = query_terms(query)

    assert wanted
    assert set(wanted) <= set(terms(row))


@pytest.mark.parametrize("query", ["FOO_BAR-123", "foo_bar-123"])
def test_the_whole_identifier_tells_the_exact_row(query: str) -> None:
    """Scattered words share only the parts of an identifier."""

    exact, scattered = set(terms("ticket FOO_BAR-123 is closed")), set(terms("foo something bar 123"))
    missing = set(query_terms(query)) - scattered

    assert set(query_terms(query)) <= exact
    assert missing == {"foo_bar-123"}


@pytest.mark.parametrize("token", ["A" * 3000, "QmFzZTY0" * 300 + "==", "x" * 65, "/".join(["abc"] * 1000), "ключ" * 600])
def test_a_very_long_token_is_found_by_a_short_term(token: str) -> None:
    """A token beyond 64 characters stands as a digest, the same in text and query; no term is longer than 64."""

    found = terms(f"before {token} after")

    assert set(query_terms(token)) <= set(found)
    assert any(term.startswith("#") and len(term) == 33 for term in found)
    assert max(map(len, found)) <= MAX_TERM_CHARACTERS


def test_the_last_of_many_words_is_there() -> None:
    """Nothing is cut off a long text."""

    text = " ".join(f"{number:032x}" for number in range(40_000))

    assert f"{39_999:032x}" in terms(text)
