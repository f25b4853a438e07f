"""What a decision about a case changes, or why it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn
from uuid import UUID

from commonlore.domain.checks import read_instant
from commonlore.domain.conflict.request import ResolveConflictRequest
from commonlore.domain.errors import Conflict, NotVisible, invalid


@dataclass(frozen=True, slots=True)
class Side:
    """What stands for a position now: relationships, and the earliest moment from which it holds by them."""

    relationship_ids: tuple[UUID, ...] = ()
    effective_at: datetime | None = None
    effective_time_basis: str = "recorded_at"


@dataclass(frozen=True, slots=True)
class Resolution:
    """`losing` are the relationships that end; a dismissal has none and leaves every statement as it is."""

    status: str
    losing: tuple[UUID, ...] = ()
    preferred_position_id: UUID | None = None
    effective_at: datetime | None = None
    effective_time_basis: str | None = None


def require_version(status: str, version: int, expected: int) -> None:
    """
    Raises:
        Conflict: `stale_input`, the case is closed or has moved on.
    """
    if status not in ("open", "overdue") or version != expected:
        raise stale()


def stale() -> Conflict:
    return Conflict("stale_input", "the conflict is no open case of this version")


def absent() -> NoReturn:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    raise NotVisible("not_found", "no conflict of this id is visible to this credential")


def resolve(request: ResolveConflictRequest, sides: Mapping[UUID, Side], *, of_texts: bool, now: datetime) -> Resolution:
    """The decision of a person on an open case whose version was checked.

    The preferred position counts from `effective_at` on: as stated, else from when it holds by its supports.

    Raises:
        Incorrect: the position is none of the case, or nothing stands for it; the time is to come.
    """
    if request.action == "dismiss":
        return Resolution("dismissed")
    assert request.preferred_position_id is not None
    preferred = sides.get(request.preferred_position_id)
    if preferred is None or not (preferred.relationship_ids or of_texts):
        raise invalid("/preferred_position_id", "expected a position of this case that something stands for")
    stated = read_instant("/effective_at", request.effective_at)
    if stated is not None and stated > now:
        raise invalid("/effective_at", "expected a time that has come")
    effective_at, basis = (stated, "stated") if stated is not None else (preferred.effective_at or now, preferred.effective_time_basis)
    losing = sorted(key for position_id, side in sides.items() if position_id != request.preferred_position_id for key in side.relationship_ids)
    return Resolution("resolved", tuple(losing), request.preferred_position_id, effective_at, basis)


def sides_of(rows: Sequence[Mapping[str, object]]) -> dict[UUID, Side]:
    """Sides by position, from rows of (position_id, relationship_id, effective_at, effective_time_basis), earliest first."""
    found: dict[UUID, Side] = {}
    for row in rows:
        position_id, relationship_id = row["position_id"], row["relationship_id"]
        assert isinstance(position_id, UUID)
        side = found.get(position_id, Side())
        if isinstance(relationship_id, UUID):
            at, basis = row["effective_at"], row["effective_time_basis"]
            assert isinstance(at, datetime) and isinstance(basis, str)
            ids = tuple(dict.fromkeys((*side.relationship_ids, relationship_id)))
            side = Side(ids, at, basis) if side.effective_at is None else Side(ids, side.effective_at, side.effective_time_basis)
        found[position_id] = side
    return found
