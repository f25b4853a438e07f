"""Two normal forms: one for searching, which is loose, and one for the identity of names, which is strict.

Neither depends on a locale, and both are idempotent.
"""

from __future__ import annotations

import re
import unicodedata

from commonlore.domain.text.characters import APOSTROPHES, IGNORABLE, IGNORABLE_CLASS

_IGNORABLE = re.compile(f"[{IGNORABLE_CLASS}]+")
_APOSTROPHE_TABLE = dict.fromkeys(map(ord, APOSTROPHES), "'")
_INNER_APOSTROPHE = re.compile(r"(?<=[^\W_])'(?=[^\W_])")
_HEBREW_ACRONYM = re.compile('(?<=[\u05d0-\u05ea])["\u05f4](?=[\u05d0-\u05ea])')
_BLANK_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})

# Marks of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac, and marks for symbols. Vowel signs of Indic and other scripts are
# letters in all but name and stay. The tatweel only stretches a word.
_REMOVED_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u08d3-\u08e1\u08e3-\u08ff"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufb1e\ufe20-\ufe2f]+"
)
# Letters that Unicode gives no decomposition.
_PLAIN_LETTERS = {
    "ł": "l", "đ": "d", "ø": "o", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h", "ı": "i", "ŋ": "n", "ĸ": "k", "ŧ": "t",
    "ƀ": "b", "ɓ": "b", "ƈ": "c", "ɖ": "d", "ɗ": "d", "ƌ": "d", "ǝ": "e", "ə": "e", "ɛ": "e", "ƒ": "f", "ǥ": "g", "ɠ": "g",
    "ɨ": "i", "ɩ": "i", "ƙ": "k", "ƚ": "l", "ƛ": "l", "ɯ": "m", "ɲ": "n", "ƞ": "n", "ɵ": "o", "ɔ": "o", "ƥ": "p", "ʀ": "r",
    "ƭ": "t", "ʈ": "t", "ʉ": "u", "ʊ": "u", "ʋ": "v", "ƴ": "y", "ƶ": "z", "ʒ": "z",
}  # fmt: skip


class _Letters(dict[int, str]):
    """Code point to its plain form, filled as characters are met; й stays, since it is a letter of its own in Russian."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = char if char == "й" else _REMOVED_MARKS.sub("", unicodedata.normalize("NFD", char))
        plain = unicodedata.normalize("NFC", "".join(_PLAIN_LETTERS.get(letter, letter) for letter in plain))
        self[code] = plain
        return plain


_LETTERS = _Letters({code: chr(code) for code in range(0x80)})


def compose(text: str) -> str:
    """`text` in NFKC with one kind of apostrophe and without invisible characters; case and accents stay.

    Characters that mean nothing to a reader (zero-width spaces, joiners, variation selectors, soft hyphens) are dropped.
    """
    if text.isascii():
        return text.replace("`", "'") if "`" in text else text
    composed = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text.translate(_APOSTROPHE_TABLE)))
    return _HEBREW_ACRONYM.sub("", _IGNORABLE.sub("", composed.translate(_APOSTROPHE_TABLE)))


def fold(text: str) -> str:
    """The loose form under which text is searched: full case folding of NFKC, then accents, vowel points and inner apostrophes removed.

    café, CAFÉ and cafe meet, so do Łódź and lodz, Straße and strasse, don't, don’t and dont. Vowel signs of Indic scripts, Thai, Kana
    voicing marks and й stay. Never use it for identity: distinct words fall together.

    Idempotent; independent of the locale.

    Source: Unicode 3.13 (default caseless matching) and UAX 15.
    """
    if text.isascii():
        return _INNER_APOSTROPHE.sub("", compose(text).lower())
    folded = _fold_once(text)
    while (again := _fold_once(folded)) != folded:
        folded = again
    return folded


def _fold_once(text: str) -> str:
    plain = unicodedata.normalize("NFKC", compose(text).casefold()).translate(_LETTERS)
    return _INNER_APOSTROPHE.sub("", unicodedata.normalize("NFKC", _REMOVED_MARKS.sub("", plain)))


def name_key(name: str) -> str:
    """The form under which two spellings are one name: NFKC, full case folding, trimmed, white space collapsed to one space.

    Straße, STRASSE and STRAẞE are one name, Zoé in either composition too. Accents and look-alikes keep names apart: Żubr is not Zubr,
    a Cyrillic а is no Latin a. Default-ignorable characters are dropped.

    Idempotent; independent of the locale.

    Raises:
        ValueError: nothing visible is left.

    Source: decision 14; toNFKC_Casefold of Unicode 3.13.
    """
    key = _key_once(name)
    while (again := _key_once(key)) != key:
        key = again
    if all(unicodedata.category(char) in _BLANK_CATEGORIES or char == "\u2800" for char in key):
        raise ValueError("a name needs at least one visible character")
    return key


def _key_once(name: str) -> str:
    if name.isascii():
        return " ".join(name.lower().split())
    visible = "".join(char for char in name if ord(char) not in IGNORABLE)
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).split())
