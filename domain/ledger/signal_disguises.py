"""Disguises that a scan takes off: what a text says to a model beside what it shows to a person.

Each layer is the text, or a piece of it, read in another way, with the place of each of its characters in the text as it stands.
A layer is only made where the text has what it takes off, so that ordinary texts cost a look each and no more.

| layer | what it undoes |
|---|---|
| marks | marks that no screen shows, between letters; letters of other scripts that look like Latin ones; full-width and mathematical letters; strokes through letters |
| signs | figures and signs in the place of letters; stars and underscores between or around words; line breaks between words |
| apart | letters that stand apart, with spaces or points between them |
| base64, hexadecimal | a run that decodes to words |
| escapes | percent signs, numbered entities, \\u escapes |
| rot13, backwards | where words of a command stand in the text so |
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

# Of a longer text the beginning is read so; the plain scan reads all of it.
MOST_CHARS = 200_000
MOST_RUNS = 50
_LOOKALIKES = str.maketrans(
    "аеорсхуіјѕԁһԛԝВЕКМНОРСТХАІЈЅοανιρυτκεχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcxyijsdhqwBEKMHOPCTXAIJSoavipytkexABEZHIKMNOPTYX",
)
_LATIN, _ALIKE = re.compile(r"[A-Za-z]"), re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_SIGNS = str.maketrans("431057@$!", "aeiostasi")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,8000}={0,2}(?![A-Za-z0-9+/_=-])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){16,4000}(?![0-9A-Fa-f])")
_ESCAPED: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("%", re.compile(r"(?:[\w.~-]{0,40}%[0-9A-Fa-f]{2}){3,4000}[\w.~-]{0,40}"), unquote),
    ("&#", re.compile(r"(?:&#x?[0-9A-Fa-f]{1,6};){8,8000}"), html.unescape),
    ("\\u", re.compile(r"(?:\\u[0-9A-Fa-f]{4}){8,8000}"), lambda found: re.sub(r"\\u(....)", lambda one: chr(int(one[1], 16)), found)),
)
_APART = re.compile(r"(?<!\w)(?:[^\W_][ .·\-_]{1,4}){7,2000}[^\W_](?!\w)")
_ROT13 = ("vtaber", "qvfertneq", "vafgehpgvba", "cebzcg", "erirny", "sbetrg", "pbairefngvba", "uvfgbel", "cnffjbeq", "nobir", "ehyrf", "cerivbhf")
_BACKWARDS = ("snoitcurtsni", "tpmorp", "erongi", "dragersid", "selur", "tegrof", "noitasrevnoc", "yrotsih", "suoiverp", "evoba", "drowssap")
_BETWEEN_WORDS = re.compile(r"(?:[*_~`]{1,3}\s?\w+[*_~`]{1,3}\s+){3}|\w+(?:_\w+){4}|(?:^\w+[.,!]?\n){4}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Layer:
    """A text read in another way. `places`: where each character of it stands, or None where the whole stands at `start` to `end`."""

    name: str
    text: str
    places: Sequence[int] | None = None
    start: int = 0
    end: int = 0

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a piece of the layer stands in the text as it is."""
        if self.places is None:
            return self.start, self.end
        return self.places[start], self.places[end - 1] + 1


def undisguised(text: str) -> Iterator[Layer]:
    """The layers of a text that differ from it."""
    head = text[:MOST_CHARS]
    plain = Layer("marks", head, range(len(head)))
    if not head.isascii():
        plain = _without_marks(head)
        if plain.text != head:
            yield plain
    yield from _signs(plain)
    yield from _apart(plain)
    yield from _encoded(head)
    folded = plain.text[:20_000].lower()
    for name, words, read in (("rot13", _ROT13, lambda found: codecs.encode(found, "rot13")), ("backwards", _BACKWARDS, lambda found: found[::-1])):
        if sum(word in folded for word in words) > 1:
            yield Layer(name, read(plain.text[:20_000]), None, 0, min(len(text), 400))


def _without_marks(text: str) -> Layer:
    """Without marks, with letters in their plain form; look-alikes only in words that mix scripts."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isascii():
            characters.append(character)
            places.append(place)
            continue
        category = unicodedata.category(character)
        if category == "Cf" or (category in ("Mn", "Me") and "\u0300" <= character <= "\u036f"):
            continue
        for plain in unicodedata.normalize("NFKC", character):
            characters.append(plain)
            places.append(place)
    joined = "".join(characters)
    if _LATIN.search(joined) and _ALIKE.search(joined):
        joined = re.sub(r"[^\W\d_]+", lambda word: _latin(word[0]), joined)
    return Layer("marks", joined, places)


def _latin(word: str) -> str:
    """A word in Latin letters, where it mixes them with others or consists of look-alikes alone."""
    if not _ALIKE.search(word):
        return word
    changed = word.translate(_LOOKALIKES)
    return changed if not _ALIKE.search(changed) else word


def _signs(layer: Layer) -> Iterator[Layer]:
    """Figures for letters inside words, and what stands between or around words."""
    text = layer.text
    changed = text
    if re.search(r"[a-zA-Z][0-9@$!][a-zA-Z]|\b[0-9@$][a-zA-Z]{2}", text):
        changed = re.sub(
            r"\b[\w@$!]*[0-9@$!][\w@$!]*", lambda word: word[0].translate(_SIGNS) if re.search(r"[a-zA-Z]", word[0]) else word[0], changed
        )
    if any(sign in text for sign in "*_~`\n") and _BETWEEN_WORDS.search(text):
        changed = re.sub(r"[*_~`\n>]", " ", changed)
    if changed != text and layer.places is not None:
        yield Layer("signs", changed, layer.places)


def _apart(layer: Layer) -> Iterator[Layer]:
    """Letters that stand apart, put together: a longer gap ends a word."""
    assert layer.places is not None
    for count, match in enumerate(_APART.finditer(layer.text)):
        if count == MOST_RUNS:
            return
        words = re.split(r"\s{2,}|(?<=\w)\s(?=\w\.\w)|(?<=\.\w)\s", match[0])
        joined = " ".join(re.sub(r"[\W_]", "", word) for word in words)
        yield Layer("apart", joined, None, layer.places[match.start()], layer.places[match.end() - 1] + 1)


def _encoded(text: str) -> Iterator[Layer]:
    for name, pattern, decode in (("base64", _BASE64, _from_base64), ("hexadecimal", _HEX, bytes.fromhex)):
        for count, match in enumerate(pattern.finditer(text)):
            if count == MOST_RUNS:
                break
            try:
                read = decode(match[0]).decode("utf-8")
            except (ValueError, binascii.Error):
                continue
            if read.isprintable() and " " in read:
                yield Layer(name, read, None, match.start(), match.end())
    for sign, pattern, undo in _ESCAPED:
        if sign in text:
            for count, match in enumerate(pattern.finditer(text)):
                if count == MOST_RUNS:
                    break
                yield Layer("escapes", undo(match[0]), None, match.start(), match.end())


def _from_base64(run: str) -> bytes:
    padded = run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4)
    return base64.b64decode(padded, altchars=b"-_" if "-" in run or "_" in run else None, validate=True)
