"""The one analyser: text to the terms it is stored and searched under.

A term is a folded word or its stem, an identifier as a whole, a pair of letters of a script without spaces, or a symbol. Text and query
go through the same rules, so that what is indexed is found; only the query drops function words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from operator import add

import Stemmer

from commonlore.domain.text.characters import EAST_ASIAN_CLASS, FLAG_CLASS, SOUTH_EAST_CLASS, continues_cluster, symbol_class, word_class
from commonlore.domain.text.function_words import FUNCTION_WORDS
from commonlore.domain.text.normalise import compose, fold

MAX_TERM_CHARACTERS = 64
_CACHED_CHUNK = 48
_SHOUTING_WORDS = 4
_SENTENCE_ENDS = frozenset(".?!:;")

# A core is words with joiners between them. One leading sign makes it a name of its own (.NET, #general, @bob), and so do trailing
# + and # (C++, C#). A joiner is a single sign, so that dashes and dots of prose (a--b, wait...what) part words.
_URL = r"[A-Za-z][A-Za-z0-9+.\-]{1,15}://[^\s<>\"'|]*[<w>/]"
_CORE = r"(?:(?<![<w>.#@])[.#@](?=[<w>]))?[<w>_]+(?:(?:::|:\\|['\-./:@\\+#&=,])[<w>_]+)*(?:\+\+|[+#](?![<w>]))?"
_ASCII_SCANNER = re.compile(f"(?P<core>{_URL}|{_CORE})".replace("<w>", "0-9A-Za-z"))
_ALONE = re.compile("^[\uac00-\ud7a3]|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")
_SIMPLE_WORD = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]{2,}s?|[0-9]+")
# Most words: between signs that neither join words nor belong to a name.
_BARE_WORD = re.compile(rf"[(\"'\[]*({_SIMPLE_WORD.pattern})[.,;:!?)\"'\]]*")
_SEGMENT_BORDER = re.compile(r"[/:@?&=\\,]+")
_WORD = r"(?<![^\W_])[^\W\d_](?:\+\+|#)(?![^\W_])|[<w>]+(?:'[<w>]+)*"
_ASCII_WORD = re.compile(_WORD.replace("<w>", "0-9A-Za-z"))
_CASE_RUN = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?(?:[^\W\d_A-Z])+|\d+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?=T)")
_POSSESSIVE = ("'s", "'S")
_CONTRACTION_TAILS = frozenset({"t", "s", "re", "ve", "ll", "d", "m"})

# One stemmer a script, so that no language has to be guessed; words of other scripts stay whole. First letter, last letter, stemmer.
_STEMMERS = tuple(
    (first, last, Stemmer.Stemmer(language, 0))
    for first, last, language in (
        ("a", "z", "english"),
        ("\u0400", "\u04ff", "russian"),
        ("\u0370", "\u03ff", "greek"),
        ("\u0620", "\u06ff", "arabic"),
        ("\u0900", "\u097f", "hindi"),
    )
)


def terms(text: str) -> list[str]:
    """Every term of `text` with its repeats, in the order of the text; a whole comes before its parts.

    Nothing searchable is left out: function words, single letters, numbers and symbols are terms too. No term is longer than 64
    characters; a longer one stands as `#` and 32 hexadecimal digits of its BLAKE2b digest. Text of punctuation alone has no terms.
    """
    chunks = compose(text).split()
    are_short = max(map(len, chunks), default=0) <= _CACHED_CHUNK
    return list(chain.from_iterable(map(_chunk_terms if are_short else _any_chunk_terms, chunks)))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query in order of first occurrence, without function words.

    A function word stays when nothing else is left ("who is who"), and when it is written as a name: in upper case (IT, WHO), or with a
    capital within a sentence (Will, The Who). A query that is capitalised throughout gives no such sign. Always a subset of
    `terms(text)`.
    """
    chunks = compose(text).split()
    mixed = _is_mixed(chunks)
    every: dict[str, None] = {}
    kept: dict[str, None] = {}
    begins = True
    for chunk in chunks:
        for raw, found in _pieces(chunk):
            every.update(dict.fromkeys(found))
            if (mixed and _is_like_a_name(raw, begins)) or not _is_function_word(raw):
                kept.update(dict.fromkeys(_without_function_parts(found)))
            begins = False
        begins = begins or chunk[-1] in _SENTENCE_ENDS
    return list(kept or every)


def _is_mixed(chunks: list[str]) -> bool:
    """Whether capitals say anything: in a short query, or beside a word in lower case."""
    return len(chunks) < _SHOUTING_WORDS or any(chunk[0].islower() for chunk in chunks)


def _is_like_a_name(raw: str, begins: bool) -> bool:
    if raw.isupper():
        return 2 <= len(raw) <= 5
    return not begins and raw[0].isupper() and raw[1:2] not in {"", "'"} and raw != "The"


def _is_function_word(raw: str) -> bool:
    return fold(raw[:-2] if raw.endswith(_POSSESSIVE) else raw) in FUNCTION_WORDS


def _without_function_parts(found: tuple[str, ...]) -> tuple[str, ...]:
    if len(found) == 1:
        return found
    rest = tuple(term for term in found[1:] if term not in _FUNCTION_TERMS)
    return (found[0], *rest) if rest else found


@lru_cache(maxsize=1 << 16)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    bare = _BARE_WORD.fullmatch(chunk)
    return tuple(_long_chunk_terms(chunk)) if bare is None else _simple_terms(bare[1])


def _any_chunk_terms(chunk: str) -> Iterable[str]:
    return _chunk_terms(chunk) if len(chunk) <= _CACHED_CHUNK else _long_chunk_terms(chunk)


def _long_chunk_terms(chunk: str) -> Iterator[str]:
    for _, found in _pieces(chunk):
        yield from found


@cache
def _scanner() -> re.Pattern[str]:
    return re.compile(
        f"(?P<core>{_URL}|{_CORE})".replace("<w>", word_class())
        + f"|(?P<east>[{EAST_ASIAN_CLASS}]+)|(?P<south>[{SOUTH_EAST_CLASS}]+)"
        + f"|(?P<symbol>[{FLAG_CLASS}]{{2}}|[{FLAG_CLASS}{symbol_class()}])"
    )


@cache
def _any_word() -> re.Pattern[str]:
    return re.compile(_WORD.replace("<w>", word_class()))


def _pieces(chunk: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each word, identifier, run or symbol of a stretch without white space, with its terms."""
    for match in (_ASCII_SCANNER if chunk.isascii() else _scanner()).finditer(chunk):
        raw, kind = match.group(), match.lastgroup
        if kind == "core":
            if found := _core_terms(raw):
                yield raw, found
        elif kind == "symbol":
            yield raw, (raw,)
        else:
            run = fold(raw)
            yield raw, _east_terms(run) if kind == "east" else _pairs(_clusters(run))


def _pairs(run: str | list[str]) -> tuple[str, ...]:
    """Overlapping pairs of letters; the single letter when it is alone. `run` is folded."""
    return (run[0],) if len(run) == 1 else tuple(map(add, run, run[1:]))


def _east_terms(run: str) -> tuple[str, ...]:
    """The pairs of a run of Han, Kana or Hangul, then what is often a word alone: a first syllable of Hangul and each Han character."""
    return _pairs(run) + (tuple(_ALONE.findall(run)) if len(run) > 1 else ())


def _clusters(run: str) -> list[str]:
    clusters: list[str] = []
    for char in run:
        if clusters and continues_cluster(char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _core_terms(raw: str) -> tuple[str, ...]:
    if _SIMPLE_WORD.fullmatch(raw):
        return _simple_terms(raw)
    whole = (raw[:-2] if raw.endswith(_POSSESSIVE) else raw).strip("_")
    if not whole:
        return ()
    if _GROUPED_NUMBER.fullmatch(whole):
        return (whole.replace(",", ""),)
    if "," in whole:
        return tuple(term for part in whole.split(",") if part.strip("_") for term in _core_terms(part))
    found: list[str] = []
    words = (_ASCII_WORD if whole.isascii() else _any_word()).findall(whole)
    if words != [whole]:
        found.append(_bounded(fold(whole)))
        segments = _SEGMENT_BORDER.split(whole)
        if len(segments) > 1:
            plain = set(words)
            found.extend(_bounded(fold(part)) for part in segments if part and part not in plain)
        if date := _DATE.match(whole):
            found.append(date.group())
    for word in words:
        found.extend(_word_terms(word))
    return tuple(filter(None, found))


def _simple_terms(word: str) -> tuple[str, ...]:
    if len(word) > MAX_TERM_CHARACTERS:
        return (_bounded(word.lower()),)
    lower = word.lower()
    if word[-1] == "s" and word[-2:-1].isupper():
        return (_stem(lower), lower[:-1]) if _stem(lower) != lower[:-1] else (lower[:-1],)
    if lower in FUNCTION_WORDS and word.isupper() and len(word) > 1:
        return (_stem(lower), word)
    return (_stem(lower),)


def _word_terms(word: str) -> Iterator[str]:
    """One word without separators: its stem, then the parts that an apostrophe, a change of case or digits make in it."""
    if word[-1] in "+#":
        yield fold(word)
        return
    if "'" in word:
        yield from _apostrophe_terms(word)
        return
    yield _stem(fold(word))
    for run in _case_runs(word):
        yield _stem(fold(run))


def _case_runs(word: str) -> Iterator[str]:
    """The words in getUserById, HTTPServer, iOS17 and 22T10; nothing for ordinals, and for hexadecimal and base64, which have none."""
    if len(word) > MAX_TERM_CHARACTERS or _ORDINAL.fullmatch(word):
        return
    runs = _CASE_RUN.findall(word)
    encoded = len(runs) > 2 and _HEX.fullmatch(word)
    if len(runs) > 1 and not encoded and 2 * len(word) >= (3 if len(runs) <= 3 else 4) * len(runs):
        yield from (run for run in runs if len(run) > 1)


def _apostrophe_terms(word: str) -> Iterator[str]:
    parts = word.split("'")
    if len(parts) == 2 and parts[1] in {"s", "S"}:
        yield from _word_terms(parts[0])
        return
    yield _stem(fold("".join(parts)))
    if len(parts) == 2 and parts[1].lower() in _CONTRACTION_TAILS:
        return
    for part in parts:
        if len(part) > 2:
            yield _stem(fold(part))


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM_CHARACTERS:
        return term
    return "#" + hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _stem(word: str) -> str:
    if len(word) > MAX_TERM_CHARACTERS:
        return _bounded(word)
    for first, last, stemmer in _STEMMERS:
        if first <= word[:1] <= last:
            # A stemmer that leaves nothing would lose the word.
            return str(stemmer.stemWord(word)) or word
    return word


_FUNCTION_TERMS = frozenset(map(_stem, FUNCTION_WORDS))
