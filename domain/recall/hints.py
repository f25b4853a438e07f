"""What a query says beside its words: names, exact anchors, predicates, times, and who or which state it asks for.

Parsed once, from the query alone. A hint is a preference and never a filter: it may move what was found and admits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Literal

from commonlore.domain.ledger.predicate import SEEDS
from commonlore.domain.recall.period import Period
from commonlore.domain.recall.periods import find_periods
from commonlore.domain.text.function_words import FUNCTION_WORDS

AnchorKind = Literal["quote", "id", "identifier"]
Order = Literal["latest", "earliest"]
# Hints of one kind that are kept; a query has 512 characters.
_MOST = 16


@dataclass(frozen=True, slots=True)
class Anchor:
    """Something that is meant letter by letter: a quoted phrase, a UUID, or an identifier, path or version."""

    kind: AnchorKind
    text: str


@dataclass(frozen=True, slots=True)
class QueryHints:
    """`names` are written with capitals; `aliases` are handles and what follows "also known as".

    `predicates` are keys of seeded predicates that the query words. `periods` are the times it names, and the one its caller
    states last; `years` those that it names with their year. `asked_at` is what its words count from, by the calendar of
    `zone`. `order` is the state that it asks for, where it says so. `first_person`: the asker speaks
    of himself. `query` is kept for names that only the candidates know.
    """

    query: str = ""
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    predicates: tuple[str, ...] = ()
    periods: tuple[Period, ...] = ()
    years: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    zone: tzinfo = UTC
    order: Order | None = None
    first_person: bool = False


NO_HINTS = QueryHints()

_QUOTES = re.compile(
    '"([^"]{1,200})"|\u201c([^\u201d]{1,200})\u201d|\u201e([^\u201c\u201d]{1,200})[\u201c\u201d]|\u00ab\\s*([^\u00bb]{1,200}?)\\s*\u00bb'
    "|\u300c([^\u300d]{1,200})\u300d|\u300e([^\u300f]{1,200})\u300f|\u300a([^\u300b]{1,200})\u300b"
    "|(?<!\\w)['\u2018]((?:[^'\u2019]|['\u2019](?=\\w)){2,200})['\u2019](?!\\w)"
)
_ID = re.compile(r"(?<![\w-])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![\w-])")
# Signs within a word, a change of case, or letters with digits: dense-mem, user_id, db/queries, 5.3.0, getUserById, COVID-19, GA4.
_IDENTIFIER = re.compile(
    r"(?<![\w./@#-])(?:\w*[a-z][A-Z]\w*|v?\d+(?:\.\d+){1,3}|(?:\w+[_/.:])+\w*[A-Za-z]\w*|[A-Za-z]+-?\d+(?:[-.]\w+)*|(?:/[\w.-]+){2,})(?![\w@])"
)
_ORDINAL_OR_TIME = re.compile(r"\d+(?:st|nd|rd|th)|\d{1,2}(?::\d\d)?[ap]m", re.IGNORECASE)
_HANDLE = re.compile(r"(?<!\w)[@#]\w[\w.-]*")
_KNOWN_AS = re.compile(r"\b(?:a\.?k\.?a\.?|also known as|alias|nicknamed)\s+(?P<name>\w[\w'\u2019.-]*(?:\s+[A-Z][\w'\u2019.-]*)*)", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w@#])[^\W\d_a-z][\w'\u2019-]*(?:\s+(?:of|the|de|van|von|da|del|la)(?=\s+[^\W\d_a-z]))*(?:\s+[^\W\d_a-z][\w'\u2019-]*)*")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?]\s+)\W*$")
_FIRST_PERSON = re.compile(
    r"\b(?:I|my|mine|myself|(?<!tell )(?<!show )(?<!give )(?<!help )(?<!let )(?<!remind )(?<!Tell )(?<!Show )(?<!Give )me)\b"
    r"|\u6211(?!\u4eec|\u5011)"
)
_LATEST = re.compile(
    r"\b(?:now|current|currently|latest|newest|most recent|most recently|at the moment|at present|these days|nowadays)\b"
    r"|\u73b0\u5728|\u73fe\u5728|\u76ee\u524d|\u6700\u65b0",
    re.IGNORECASE,
)
# "First" is left out: first drafts and first meetings are things of their own, no earlier state of something else.
_EARLIEST = re.compile(
    r"\b(?:at first|originally|initially|earliest|previously|formerly|(?<!'ve )(?<!\u2019ve )(?<!have )used to)\b|\u6700\u521d|\u6700\u65e9|\u4ee5\u524d",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")


def parse_hints(query: str, asked_at: datetime | None, *, zone: tzinfo = UTC, stated: Period | None = None) -> QueryHints:
    """Everything that `query` hints at; words such as "yesterday" count from the day of `asked_at`, an aware instant, in `zone`.

    `stated`: a time that the caller states beside the query. The same arguments give the same hints, and a query without
    hints empty ones.
    """
    periods = find_periods(query, asked_at, zone)
    return QueryHints(
        query=query,
        names=_few(name for name in _names(query) if not any(name in period.text for period in periods)),
        aliases=_few([*_HANDLE.findall(query), *(match["name"] for match in _KNOWN_AS.finditer(query))]),
        anchors=tuple(_anchors(query)),
        predicates=_predicates(query),
        periods=periods[:_MOST] if stated is None else (*periods[: _MOST - 1], stated),
        years=frozenset(year for period in periods for year in _YEAR.findall(period.text)),
        asked_at=asked_at,
        zone=zone,
        order=_order(query),
        first_person=_FIRST_PERSON.search(query) is not None,
    )


def _few(found: Iterator[str] | list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:_MOST]


def _anchors(query: str) -> Iterator[Anchor]:
    seen: dict[Anchor, None] = {}
    for match in _QUOTES.finditer(query):
        seen[Anchor("quote", next(filter(None, match.groups())).strip())] = None
    for match in _ID.finditer(query):
        seen[Anchor("id", match.group())] = None
    for match in _IDENTIFIER.finditer(_ID.sub(" ", query)):
        if not _ORDINAL_OR_TIME.fullmatch(match.group()):
            seen[Anchor("identifier", match.group())] = None
    return iter([anchor for anchor in seen if anchor.text][:_MOST])


def _names(query: str) -> Iterator[str]:
    """Runs of words that begin with a capital; a function word, and one that only begins the sentence, is none."""
    for match in _NAME.finditer(query):
        words = match.group().split() if match.group()[0].isupper() else []
        begins = _SENTENCE_BEGINS.search(query[: match.start()]) is not None
        while words and (words[0].casefold() in FUNCTION_WORDS or (begins and len(words) > 1 and words[0].casefold() in _ASKING_WORDS)):
            words, begins = words[1:], False
        if words and not (begins and len(words) == 1 and words[0].casefold() in _ASKING_WORDS):
            yield " ".join(_without_possessive(word) if place == len(words) - 1 else word for place, word in enumerate(words))


# Words that open questions and commands and are no names; function words are known already.
_ASKING_WORDS = frozenset(("tell", "show", "give", "list", "find", "name", "describe", "explain", "summarize", "please", "remind", "compare"))


def _without_possessive(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "\u2019s")) else word


@cache
def _wordings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each seeded predicate with the wordings of its key and aliases; a verb's s, ed and ing count as the verb."""
    return tuple(
        (key, re.compile(r"(?<!\w)(?:" + "|".join(_wording(name) for name in (key, *predicate.aliases)) + r")(?!\w)", re.IGNORECASE))
        for key, predicate in SEEDS.items()
    )


def _wording(key: str) -> str:
    first, *rest = key.split("_")
    stem = re.sub(r"(?:ed|s)$", "", first)
    return r"\s+".join([rf"{re.escape(stem)}(?:s|e|es|ed|d|ing)?", *map(re.escape, rest)])


def _predicates(query: str) -> tuple[str, ...]:
    return tuple(key for key, pattern in _wordings() if pattern.search(query))


def _order(query: str) -> Order | None:
    """Earliest goes first: "the first version that is current now" asks for a beginning."""
    if _EARLIEST.search(query):
        return "earliest"
    return "latest" if _LATEST.search(query) else None
