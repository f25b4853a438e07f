"""What a conflict is about: statements of one scope, of which only one object can be current."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from uuid import UUID

from commonlore.domain.ledger.relationship import Statement

MIN_POSITIONS = 2
MAX_POSITIONS = 10
QUESTION_CHARS = 512


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What a position says: an entity or a value, by its id."""

    object_id: UUID
    is_entity: bool = True


@dataclass(frozen=True, slots=True)
class ConflictScope:
    """Subject, predicate, polarity and scope of statements that exclude each other where the cardinality is one."""

    subject_entity_id: UUID
    predicate_key: str
    polarity: str
    scope_key: str | None

    @classmethod
    def of(cls, statement: Statement) -> ConflictScope:
        return cls(statement.subject_entity_id, statement.predicate_key, statement.polarity, statement.scope_key)

    @property
    def semantic_scope_key(self) -> str:
        """`cs:` and the hex SHA-256 of the four, joined by NUL. Entities are of one space, and so is the key."""
        slots = (str(self.subject_entity_id), self.predicate_key, self.polarity, self.scope_key or "")
        return "cs:" + hashlib.sha256("\0".join(slots).encode("utf-8")).hexdigest()

    def question(self, subject: str) -> str:
        """What a person is asked, the same text for the same scope; at most `QUESTION_CHARS`."""
        wording = self.predicate_key.replace("_", " ")
        where = f" ({self.scope_key})" if self.scope_key else ""
        asked = f"What is the current {wording} of {subject}{where}?"
        if self.polarity == "-":
            asked = f"What is not the current {wording} of {subject}{where}?"
        return asked if len(asked) <= QUESTION_CHARS else asked[: QUESTION_CHARS - 2] + "…?"


@dataclass(frozen=True, slots=True)
class Standing:
    """One effective support of an active state relationship of cardinality one, as it stands after a write."""

    relationship_id: UUID
    owner_profile_id: UUID
    target: Target
    predicate_version: int
    valid_from: datetime | None
    valid_to: datetime | None
    support_id: UUID
    verification_event_id: UUID
    evidence_id: UUID
    source_group_key: str
    authority: str
    accepted_at: datetime

    @property
    def effective_at(self) -> datetime:
        """When the statement begins to hold, else when its support was accepted."""
        return self.valid_from or self.accepted_at

    @property
    def effective_time_basis(self) -> str:
        return "valid_from" if self.valid_from else "recorded_at"

    @property
    def order(self) -> tuple[datetime, UUID]:
        return self.accepted_at, self.support_id

    def contradicts(self, other: Standing) -> bool:
        """Another object of another author, at a time for which both speak. An author's own change of mind is no conflict."""
        return (
            self.target != other.target
            and self.owner_profile_id != other.owner_profile_id
            and _overlap(self.valid_from, self.valid_to, other.valid_from, other.valid_to)
        )


def _overlap(first_from: datetime | None, first_to: datetime | None, second_from: datetime | None, second_to: datetime | None) -> bool:
    """Half-open periods; None is without an end on that side. An empty period overlaps nothing."""
    begins = max((start for start in (first_from, second_from) if start is not None), default=None)
    ends = min((end for end in (first_to, second_to) if end is not None), default=None)
    return begins is None or ends is None or begins < ends


def contested(standing: Iterable[Standing], settled: Iterable[frozenset[Target]]) -> set[Target]:
    """The objects that contradict another one. `settled` are the objects of cases that a person dismissed: among
    themselves they stand side by side."""
    settled = list(settled)
    found: set[Target] = set()
    # One support a relationship decides: the others say the same.
    sides = list({item.relationship_id: item for item in standing}.values())
    for first, second in combinations(sides, 2):
        if first.contradicts(second) and not any(first.target in side and second.target in side for side in settled):
            found |= {first.target, second.target}
    return found
