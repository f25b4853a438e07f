"""The two normal forms of text."""

from __future__ import annotations

import pytest

from commonlore.domain.text import fold, name_key


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("café", "cafe"),
        ("cafe\u0301", "CAFÉ"),
        ("Łódź", "lodz"),
        ("Ægir øl đak œuvre", "aegir ol dak oeuvre"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("don't", "dont"),
        ("don’t", "don't"),
        ("don\u02bct", "dont"),
        ("תִּקּוּן", "תקון"),
        ("مَرَّاكُش", "مراكش"),
        ("צה״ל", "צהל"),
        ("ёлка", "елка"),
        ("ﬁnd １２", "find 12"),
        ("co\u00adop\u200b", "coop"),
    ],
)
def test_both_spellings_meet(written: str, searched: str) -> None:
    """Case, width, accents, points, ligatures, apostrophes and invisible characters do not matter to a search."""

    assert fold(written) == fold(searched)


@pytest.mark.parametrize("word", ["が", "ปี่", "हिन्दी", "한국어", "й", "ប្រាសាទ"])
def test_marks_that_make_the_letter_stay(word: str) -> None:
    """Vowel signs, Kana voicing, Hangul and й are kept whole."""

    assert fold(word) == word


def test_quotes_around_a_word_stay_outside() -> None:
    """Only an apostrophe between letters is taken out."""

    assert fold("'Tis the dogs' day") == "'tis the dogs' day"


@pytest.mark.parametrize(
    "names",
    [
        ("Zoé", "Zoe\u0301", "ZOÉ"),
        ("Straße", "STRASSE", "strasse", "STRAẞE"),
        (" Ann \t Lee ", "ann lee", "Ann\u00a0Lee"),
        ("Dense\u200bMem", "densemem"),
        ("ﬁnance", "Finance"),
    ],
)
def test_spellings_of_one_name(names: tuple[str, ...]) -> None:
    """Composition, case, width, white space and invisible characters make no second entity."""

    assert len({name_key(name) for name in names}) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("Żubr", "Zubr"),
        ("paypal", "p\u0430ypal"),
        ("C", "C++", "C#", ".NET", "Net", "HTTP", "HTTPS", "fetchUser", "fetchUsers"),
    ],
)
def test_names_that_stay_apart(names: tuple[str, ...]) -> None:
    """Accents, look-alike letters and signs tell names apart."""

    assert len({name_key(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["", " ", "\u00a0", "\u200b", "\u200b\u200d", "\u3164", "\u2800", "\u0000\u0007", "\ufeff \u2028"])
def test_a_name_without_anything_visible_is_refused(name: str) -> None:
    """White space, controls and default-ignorable characters are no name."""

    with pytest.raises(ValueError, match="visible"):
        name_key(name)
