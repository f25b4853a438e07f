"""What is known of a candidate beside its words: who said it, when, where in a talk, and whether it only asks.

Nothing here says whether a claim is true, current or supported; that is the gate's matter alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from commonlore.domain.ledger.speaker import ASKING_ROLES, is_person, role_of
from commonlore.domain.recall.hints import QueryHints
from commonlore.domain.text.mentions import find_mentions

NAMED_SPEAKER = 0.5
ASKER = 2.0
NAMED_PERIOD = 2.0
QUESTION = -1.0
QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")
# A group chat beyond this is no talk in which one name singles out a speaker.
MOST_SPEAKERS = 64

Factor = Literal["named_speaker", "asker", "named_period", "question"]


class Utterance(NamedTuple):
    """`asks`: a text of one part that ends in a question mark."""

    session: str | None
    sequence: int | None
    speaker: str | None
    occurred_at: datetime | None
    asks: bool


@dataclass(frozen=True, slots=True)
class Preferences:
    """What each candidate gains: in its own score, which its neighbours share, or in its total alone."""

    by_own: dict[int, float] = field(default_factory=dict)
    by_total: dict[int, float] = field(default_factory=dict)


def asks(text: str) -> bool:
    """Whether a text ends in a question mark of any script."""
    return text.rstrip().endswith(QUESTION_MARKS)


def preferences(said: Mapping[int, Utterance], hints: QueryHints) -> Preferences:
    """The gains by the number of a candidate's id; only those that gain or lose are named.

    In its own score: 0.5 if it was said by the one person among the candidates' speakers that the query names, 2 if the
    query is in the first person and it was said by one whose role is to ask. In its total: 2 if it was said in a time that
    the query names, -1 if a person only asks in it.
    """
    found = Preferences()
    for key, factor, gain in _gains(said, hints):
        gains = found.by_own if factor in ("named_speaker", "asker") else found.by_total
        gains[key] = gains.get(key, 0.0) + gain
    return found


def factors(said: Mapping[int, Utterance], hints: QueryHints) -> dict[int, list[Factor]]:
    """Which of the gains each candidate had, by their names, for a trace."""
    found: dict[int, list[Factor]] = {}
    for key, factor, _ in _gains(said, hints):
        found.setdefault(key, []).append(factor)
    return found


def _gains(said: Mapping[int, Utterance], hints: QueryHints) -> Iterator[tuple[int, Factor, float]]:
    named = named_speaker({speaker for _, _, speaker, _, _ in said.values() if speaker is not None}, hints)
    holds = [period.holds for period in hints.periods]
    first_person = hints.first_person
    for key, (_, _, speaker, occurred_at, is_question) in said.items():
        if speaker is not None:
            if is_person(speaker):
                if speaker == named:
                    yield key, "named_speaker", NAMED_SPEAKER
                if is_question:
                    yield key, "question", QUESTION
            elif first_person and role_of(speaker) in ASKING_ROLES:
                yield key, "asker", ASKER
        if holds and occurred_at is not None and any(hold(occurred_at) for hold in holds):
            yield key, "named_period", NAMED_PERIOD


def named_speaker(speakers: set[str], hints: QueryHints) -> str | None:
    """The one person of `speakers` that the query names as a word of its own; None if it names none or several."""
    people = sorted(filter(is_person, speakers))
    if not hints.query or not 0 < len(people) <= MOST_SPEAKERS:
        return None
    named = {mention.name for mention in find_mentions(hints.query, people)}
    return named.pop() if len(named) == 1 else None
