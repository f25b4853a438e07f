"""The last order among the best: texts that name the years asked for, and of texts that say nearly the same the one that is asked for.

Works on blocks of ten admitted results, so that a shorter answer stays the beginning of a longer one. It never looks at
whether a claim is true, active or supported: only at texts, speakers and the times at which something was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from commonlore.domain.recall.hints import QueryHints
from commonlore.domain.recall.utterance import asks
from commonlore.domain.text.characters import is_dense
from commonlore.domain.text.function_words import FUNCTION_WORDS

BLOCK = 10
# Places that a text gains by each year that the query names and it names too.
PLACES_A_YEAR = 3
# Share of the words of two texts, taken together, that both must have to say nearly the same.
NEARLY_THE_SAME = 0.25
# Letters of a word that count: enough to tell words apart, few enough for their endings not to.
_STEM = 5
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<![\w.])(?:1[5-9]|20)\d\d(?!\w)")

Move = Literal["named_year", "said_later", "said_earlier", "said_in_period", "said_by_view"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One admitted result as the rerank reads it; `text` is its best part.

    Results of different spaces never change places: `space` is the place of the space in the answer.
    """

    text: str
    speaker: str | None
    session: str | None
    occurred_at: datetime | None
    space: int = 0


@dataclass(frozen=True, slots=True)
class Moved:
    """A result that a factor put before others: its places in the block before and after that factor, from 0."""

    item: int
    move: Move
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """`order` holds the places that the results had, in their new order; `moves` what moved up, in the order of moving."""

    order: tuple[int, ...]
    moves: tuple[Moved, ...] = ()


def rerank(block: Sequence[Ranked], hints: QueryHints, valid_at: datetime | None) -> Reranked:
    """The order of one block.

    First a text gains three places for each year that the query names and it names too; ties keep their order. Then a text
    is put before the first one above it that says nearly the same (see `_rivals`) and that it outranks: said in a time that
    the query names before not, said by `valid_at` before not, then later before earlier, or earlier before later where the
    query asks for the first. Every space keeps the places that it had. Without a year and without such pairs the order is
    the given one. Deterministic, and independent of ids.
    """
    spaces = {item.space for item in block}
    if len(spaces) <= 1:
        return _one_space(block, range(len(block)), hints, valid_at)
    order = list(range(len(block)))
    moves: list[Moved] = []
    for space in sorted(spaces):
        places = [place for place, item in enumerate(block) if item.space == space]
        found = _one_space(block, places, hints, valid_at)
        for place, item in zip(places, found.order, strict=True):
            order[place] = item
        moves += [Moved(move.item, move.move, places[move.before], places[move.after]) for move in found.moves]
    return Reranked(tuple(order), tuple(moves))


def _one_space(block: Sequence[Ranked], places: Sequence[int], hints: QueryHints, valid_at: datetime | None) -> Reranked:
    order: list[int] = list(places)
    moves: list[Moved] = []
    if hints.years:
        order, moves = _by_years(block, order, hints.years)
    order, later = _by_time(block, order, hints, valid_at)
    return Reranked(tuple(order), tuple(moves + later))


def _by_years(block: Sequence[Ranked], places: list[int], years: frozenset[str]) -> tuple[list[int], list[Moved]]:
    named = [len(years.intersection(_YEAR.findall(block[item].text))) for item in places]
    order = sorted(range(len(places)), key=lambda at: (at - PLACES_A_YEAR * named[at], -named[at], at))
    moves = [Moved(places[at], "named_year", at, now) for now, at in enumerate(order) if named[at] and now < at]
    return [places[at] for at in order], moves


def _by_time(block: Sequence[Ranked], places: list[int], hints: QueryHints, valid_at: datetime | None) -> tuple[list[int], list[Moved]]:
    timed = [item for item in places if block[item].occurred_at is not None and (hints.order is not None or block[item].speaker is None)]
    if len({block[item].session for item in timed if block[item].session is not None}) + sum(block[item].session is None for item in timed) < 2:
        return places, []
    words = {item: _words(block[item].text) for item in timed if not asks(block[item].text)}
    ranks = {item: _rank(block[item].occurred_at, hints, valid_at) for item in words}
    order: list[int] = []
    moves: list[Moved] = []
    for item in places:
        at = next((at for at, other in enumerate(order) if _rivals(block, words, other, item) and ranks[item] > ranks[other]), None)
        if at is None:
            order.append(item)
            continue
        moves.append(Moved(item, _why(ranks[item], ranks[order[at]], hints), len(order), at))
        order.insert(at, item)
    return order, moves


_Rank = tuple[bool, bool, float]


def _rank(occurred_at: datetime | None, hints: QueryHints, valid_at: datetime | None) -> _Rank:
    if occurred_at is None:
        return (False, False, 0.0)
    seconds = occurred_at.timestamp()
    return (
        any(period.holds(occurred_at) for period in hints.periods),
        valid_at is None or occurred_at <= valid_at,
        -seconds if hints.order == "earliest" else seconds,
    )


def _why(rank: _Rank, other: _Rank, hints: QueryHints) -> Move:
    if rank[0] != other[0]:
        return "said_in_period"
    if rank[1] != other[1]:
        return "said_by_view"
    return "said_earlier" if hints.order == "earliest" else "said_later"


def _rivals(block: Sequence[Ranked], words: dict[int, frozenset[str]], one: int, other: int) -> bool:
    """Whether two texts may be two states of one thing: nearly the same words, the same speaker, not the same session, no question."""
    first, second = block[one], block[other]
    if one not in words or other not in words or first.speaker != second.speaker:
        return False
    if first.session is not None and first.session == second.session:
        return False
    shared = len(words[one] & words[other])
    return shared > 0 and shared >= NEARLY_THE_SAME * (len(words[one]) + len(words[other]) - shared)


def _words(text: str) -> frozenset[str]:
    """The beginnings of the words that are no function words; pairs of letters where a script has no spaces."""
    found = (word for word in _WORD.findall(text.casefold()) if word not in FUNCTION_WORDS)
    if text.isascii():
        return frozenset(word[:_STEM] for word in found)
    return frozenset(piece for word in found for piece in (_pairs(word) if any(map(is_dense, word)) else (word[:_STEM],)))


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]
