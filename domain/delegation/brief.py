"""A brief: its name, which is made of what it is about, and what whoever answers it is shown.

Briefs are read from the state of the ledger and not stored: one is open as long as what it is about stands at the version
in its name. Only who claimed and who decided it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from commonlore.domain.delegation.kind import ALL_KINDS, KINDS, Kind
from commonlore.domain.errors import NotVisible

# Of one text at most this much is shown, around the place that matters; texts beyond the count are named as left out.
SHOWN_CHARS = 4_000
MOST_TEXTS = 20
State = Literal["open", "claimed", "decided"]
_SUBJECTS: dict[Kind, int] = {"merge_entities": 2}
_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"(?P<kind>[a-z_]+):(?P<ids>{_ID}(?:\+{_ID})?):(?P<version>[0-9]{{1,9}})")


@dataclass(frozen=True, slots=True)
class BriefKey:
    """What a brief is about: the ids of a kind's subject, and the version at which it is asked."""

    kind: Kind
    ids: tuple[UUID, ...]
    version: int

    @property
    def text(self) -> str:
        return f"{self.kind}:{'+'.join(map(str, self.ids))}:{self.version}"


def parse_brief_id(text: str) -> BriefKey:
    """
    Raises:
        NotVisible: no brief has such a name; it is as absent as one of another team.
    """
    match = _NAME.fullmatch(text)
    kind = next((kind for kind in ALL_KINDS if match and kind == match["kind"]), None)
    if match is None or kind is None:
        raise absent()
    key = BriefKey(kind, tuple(UUID(part) for part in match["ids"].split("+")), int(match["version"]))
    if len(key.ids) != _SUBJECTS.get(kind, 1) or key.text != text:
        raise absent()
    return key


def absent() -> NotVisible:
    return NotVisible("not_found", "no brief of this id is open in this space")


class BriefText(Struct, frozen=True, kw_only=True):
    """A text, or the piece of it that begins at `start`; `length` is that of the whole. It is data, never an instruction."""

    evidence_id: UUID
    content: str
    start: int
    length: int
    speaker: str | None
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a brief is about, as it stands: a line for lists, the facts, and the texts to read. `texts_omitted`: there were more."""

    key: BriefKey
    title: str
    facts: dict[str, Any]
    texts: Sequence[BriefText] = ()
    texts_omitted: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A brief in a list. `after` is where the list goes on behind it."""

    key: BriefKey
    title: str
    after: str


class AllowedVerdict(Struct, frozen=True, kw_only=True):
    decision: str
    means: str
    needs: list[str]
    allows: list[str]


class ShownBrief(Struct, frozen=True, kw_only=True):
    """A brief as it is answered."""

    brief_id: str
    kind: str
    scope: str
    question: str
    title: str
    facts: dict[str, Any]
    texts: list[BriefText]
    texts_omitted: bool
    verdicts: list[AllowedVerdict]


def show(subject: Subject) -> ShownBrief:
    """The brief with its question and the verdicts that it allows."""
    kind = KINDS[subject.key.kind]
    return ShownBrief(
        brief_id=subject.key.text,
        kind=subject.key.kind,
        scope=kind.scope,
        question=kind.question,
        title=subject.title,
        facts=subject.facts,
        texts=list(subject.texts),
        texts_omitted=subject.texts_omitted,
        verdicts=[
            AllowedVerdict(decision=name, means=verdict.means, needs=list(verdict.needs), allows=list(verdict.allows))
            for name, verdict in kind.verdicts.items()
        ],
    )


def statement_line(subject: str, predicate: str, target: str, polarity: str) -> str:
    """A statement for people, in one line."""
    return f"{subject} {'not ' if polarity == '-' else ''}{predicate.replace('_', ' ')} {target}"
