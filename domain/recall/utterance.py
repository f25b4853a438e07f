"""What is known of a candidate beside its words: who said it, when, where in a talk, and whether it only asks.

Nothing here says whether a claim is true, current or supported; that is the gate's matter alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """What candidates gain: by their speaker in their own score, which their neighbours share, or in their total alone.

    `people` are the speakers that are no roles.
    """

    people: frozenset[str]
    by_speaker: Mapping[str, tuple[Factor, float]]
    by_total: Mapping[int, float]


def asks(text: str) -> bool:
    """Whether a text ends in a question mark of any script."""
    return text.rstrip().endswith(QUESTION_MARKS)


def preferences(said: Mapping[int, Utterance], hints: QueryHints) -> Preferences:
    """The gains; only those that gain or lose are named.

    In its own score: 0.5 if it was said by the one person among the candidates' speakers that the query names, 2 if the
    query is in the first person and it was said by one whose role is to ask. In its total: 2 if it was said in a time that
    the query names, -1 if a person only asks in it.
    """
    speakers = {of_it[2] for of_it in said.values()}
    people = frozenset(speaker for speaker in speakers if speaker is not None and is_person(speaker))
    by_speaker: dict[str, tuple[Factor, float]] = {}
    if (named := named_speaker(people, hints)) is not None:
        by_speaker[named] = ("named_speaker", NAMED_SPEAKER)
    if hints.first_person:
        by_speaker |= {speaker: ("asker", ASKER) for speaker in speakers if speaker is not None and role_of(speaker) in ASKING_ROLES}
    by_total = {key: QUESTION for key, of_it in said.items() if of_it[4] and of_it[2] in people}
    if hints.periods:
        for key in _in_a_period(said, hints):
            by_total[key] = by_total.get(key, 0.0) + NAMED_PERIOD
    return Preferences(people, by_speaker, by_total)


def factors(said: Mapping[int, Utterance], hints: QueryHints) -> dict[int, list[Factor]]:
    """Which of the gains each candidate had, by their names, for a trace."""
    gains, periods = preferences(said, hints), _in_a_period(said, hints)
    found: dict[int, list[Factor]] = {}
    for key, of_it in said.items():
        names: list[Factor] = []
        if of_it.speaker is not None and of_it.speaker in gains.by_speaker:
            names.append(gains.by_speaker[of_it.speaker][0])
        if key in periods:
            names.append("named_period")
        if of_it.asks and of_it.speaker in gains.people:
            names.append("question")
        if names:
            found[key] = names
    return found


def _in_a_period(said: Mapping[int, Utterance], hints: QueryHints) -> set[int]:
    holds = [period.holds for period in hints.periods]
    return {key for key, of_it in said.items() if of_it[3] is not None and any(hold(of_it[3]) for hold in holds)} if holds else set()


def named_speaker(people: frozenset[str], hints: QueryHints) -> str | None:
    """The one of `people` that the query names as a word of its own; None if it names none or several."""
    if not hints.query or not 0 < len(people) <= MOST_SPEAKERS:
        return None
    named = {mention.name for mention in find_mentions(hints.query, sorted(people))}
    return named.pop() if len(named) == 1 else None
