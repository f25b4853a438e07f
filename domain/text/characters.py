"""Classes of characters that the rest of this package reads text by, and where a grapheme may be cut.

The classes follow the Unicode tables of the running Python (14.0 in 3.11). The scripts written without spaces are given as
ranges instead, so that characters that are newer than those tables are still searched.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

# Default_Ignorable_Code_Point of Unicode, which the standard library does not export.
_IGNORABLE_RANGES = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Han with its iteration marks, Kana, Bopomofo, Hangul; planes 2 and 3 as a whole belong to Han.
_EAST_ASIAN_RANGES = (
    (0x1100, 0x11FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x3096),
    (0x3099, 0x309A),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FC, 0x30FF),
    (0x3105, 0x312F),
    (0x3131, 0x318E),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7FB),
    (0xF900, 0xFAFF),
    (0x16FE0, 0x18D08),
    (0x1AFF0, 0x1B2FB),
    (0x20000, 0x3FFFD),
)
# Thai, Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet and the Myanmar extensions, without their digits and signs.
_SOUTH_EAST_RANGES = (
    (0x0E01, 0x0E3A),
    (0x0E40, 0x0E4E),
    (0x0E81, 0x0EBD),
    (0x0EC0, 0x0ECD),
    (0x0EDC, 0x0EDF),
    (0x1000, 0x103F),
    (0x1050, 0x108F),
    (0x109A, 0x109D),
    (0x1780, 0x17D3),
    (0x17D7, 0x17D7),
    (0x17DC, 0x17DD),
    (0x1950, 0x1974),
    (0x1980, 0x19C9),
    (0x1A20, 0x1A7C),
    (0xA9E0, 0xA9EF),
    (0xA9FA, 0xA9FE),
    (0xAA60, 0xAA7F),
    (0xAA80, 0xAADD),
)
_LAST_ASSIGNED_ALPHABET = 0x1FFFF

APOSTROPHES = "'\u2018\u2019\u201b\u02bb\u02bc\u02bd\u02b9\u02c8\u055a\u05f3\u2032\u00b4`\uff07\ua78c"


def _in_class(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


def _ranges_of(wanted: Callable[[int], bool]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in range(0x80, _LAST_ASSIGNED_ALPHABET + 1):
        if not wanted(code):
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def _is_spaced_word(code: int) -> bool:
    char = chr(code)
    return (char.isalnum() or unicodedata.category(char)[0] == "M") and code not in _DENSE and code not in IGNORABLE


def _is_symbol(code: int) -> bool:
    category = unicodedata.category(chr(code))
    if 0x1F3FB <= code <= 0x1F3FF or 0x1F1E6 <= code <= 0x1F1FF:
        return False
    newer_emoji = category == "Cn" and 0x1F000 <= code <= 0x1FBFF
    return (category in {"So", "Sm", "Sc", "Co"} or newer_emoji) and code not in _DENSE


IGNORABLE = frozenset(code for low, high in _IGNORABLE_RANGES for code in range(low, high + 1))
_DENSE = frozenset(code for low, high in _EAST_ASIAN_RANGES + _SOUTH_EAST_RANGES if high <= _LAST_ASSIGNED_ALPHABET for code in range(low, high + 1))

# Bodies of regular-expression classes: put them between square brackets.
IGNORABLE_CLASS = _in_class(_IGNORABLE_RANGES)
EAST_ASIAN_CLASS = _in_class(_EAST_ASIAN_RANGES)
SOUTH_EAST_CLASS = _in_class(_SOUTH_EAST_RANGES)
FLAG_CLASS = "\U0001f1e6-\U0001f1ff"


@cache
def word_class() -> str:
    """The class of letters, digits and marks of scripts with spaces. Made at the first use, since it reads the Unicode tables."""
    return "0-9A-Za-z" + _in_class(_ranges_of(_is_spaced_word))


@cache
def symbol_class() -> str:
    """The class of symbols and emoji outside ASCII, without skin tones and regional indicators. Made at the first use."""
    return _in_class(_ranges_of(_is_symbol))


def is_dense(char: str) -> bool:
    """Whether `char` belongs to a script that is written without spaces: Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar and kin.

    Hangul is counted in, because its particles are written onto the word.
    """
    code = ord(char)
    return code in _DENSE or 0x20000 <= code <= 0x3FFFD


def is_word_character(char: str) -> bool:
    """Whether `char` continues a word of a script with spaces: letters, digits, marks and the low line."""
    return (char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M") and not is_dense(char)


def continues_cluster(char: str) -> bool:
    """Whether `char` always belongs to the character before it: marks, joiners, variation selectors, skin tones, tags.

    Source: Grapheme_Extend, ZWJ and SpacingMark of UAX 29, by their general categories.
    """
    code = ord(char)
    if code < 0x300:
        return False
    return (
        unicodedata.category(char)[0] == "M"
        or code in (0x200C, 0x200D, 0x0E33, 0x0EB3, 0xFF9E, 0xFF9F)
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
    )


def _hangul_joins(before: int, after: int) -> bool:
    if 0x1160 <= after <= 0x11A7 or 0xD7B0 <= after <= 0xD7C6:
        leading = 0x1100 <= before <= 0x115F or 0xA960 <= before <= 0xA97C
        return leading or 0x1160 <= before <= 0x11A7 or (0xAC00 <= before <= 0xD7A3 and (before - 0xAC00) % 28 == 0)
    if 0x11A8 <= after <= 0x11FF or 0xD7CB <= after <= 0xD7FB:
        return 0x1160 <= before <= 0x11FF or 0xAC00 <= before <= 0xD7FB
    if 0x1100 <= after <= 0x115F or 0xA960 <= after <= 0xA97C or 0xAC00 <= after <= 0xD7A3:
        return 0x1100 <= before <= 0x115F or 0xA960 <= before <= 0xA97C
    return False


def may_cut(text: str, at: int, start: int = 0) -> bool:
    """Whether a cut before code point `at` leaves every grapheme whole.

    `start` is an earlier place that may be cut, at or before `at`; nothing before it is read. The ends of the text may be cut.
    A cut is refused before marks and joiners, after a joiner unless ASCII follows, between CR and LF, inside a pair of regional indicators and inside a
    conjoining Hangul syllable.

    Source: UAX 29, extended grapheme clusters, without the Prepend class and Indic conjuncts.
    """
    if at <= start or at >= len(text):
        return True
    after, before = text[at], text[at - 1]
    if after < "\u0300" and before < "\u0300":
        return not (before == "\r" and after == "\n")
    if before in "\r\n":
        return True
    if continues_cluster(after) or (before == "\u200d" and not after.isascii()):
        return False
    code_before, code_after = ord(before), ord(after)
    if 0x1F1E6 <= code_before <= 0x1F1FF and 0x1F1E6 <= code_after <= 0x1F1FF:
        first = at
        while first > start and 0x1F1E6 <= ord(text[first - 1]) <= 0x1F1FF:
            first -= 1
        return (at - first) % 2 == 0
    return not _hangul_joins(code_before, code_after)


def cut_at_or_before(text: str, at: int, start: int) -> int:
    """The last place from `start` to `at` that may be cut; `at` itself when one grapheme fills the whole stretch.

    `start` may be cut itself and is returned only when it equals `at`.
    """
    place = min(at, len(text))
    while place > start and not may_cut(text, place, start):
        place -= 1
    return place if place > start else min(at, len(text))


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without white space at its ends; a space that carries a mark stays with it. `start` equals `end` when all is blank."""
    while end > start and text[end - 1].isspace():
        end -= 1
    low = start
    while low < end and text[low].isspace():
        low += 1
    while low > start and not may_cut(text, low, start):
        low -= 1
    return low, end
