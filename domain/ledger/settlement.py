"""What becomes of a relationship when its supports, or the evidence of them, changed.

Pure: the same relationships and the same cause give the same changes. `support_count` and `source_group_count` of a row
are what it carries; `effective` and `effective_groups` are what its events say now.

| status | effective supports | becomes |
|---|---|---|
| active | none, the author retracted the evidence | retracted |
| active | none, for any other cause | pending_evidence |
| pending_evidence, retracted | some | active, or superseded where the author holds another current object |
| any other | any | itself |

A row whose counts or status differ takes a new version and one transition; any other row is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.domain.ledger.relationship import Status

Cause = Literal[
    "evidence_retracted", "evidence_superseded", "source_revised", "evidence_quarantined", "evidence_released", "evidence_erased", "support_decided"
]
Scope = tuple[UUID, UUID, str, str, datetime | None, str | None]


@dataclass(frozen=True, slots=True)
class Touched:
    """A relationship as it is stored, with what its events say of its supports.

    `stated_at` is when its newest effective support became known. `has_current_sibling`: another relationship of the same
    author, outside the touched ones, is the current object of the same scope. `is_alias`: it stands for another row.
    """

    relationship_id: UUID
    owner_profile_id: UUID
    scope: Scope
    current_cardinality: str
    status: Status
    version: int
    valid_to: datetime | None
    known_to: datetime | None
    support_count: int
    source_group_count: int
    effective: int
    effective_groups: int
    stated_at: datetime | None = None
    has_current_sibling: bool = False
    is_alias: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What a relationship becomes: one new version, one transition."""

    relationship_id: UUID
    from_status: Status
    status: Status
    version: int
    valid_to: datetime | None
    known_to: datetime | None
    support_count: int
    source_group_count: int
    reason: str


def settle_all(touched: Iterable[Touched], *, cause: Cause, actor_profile_id: UUID | None, now: datetime) -> list[Settled]:
    """The changes, by id. What loses its support is decided first, so that a place it held is free for what regains one.

    Where several regain the one current place of a scope, the one that was stated last takes it; ties go to the later id.
    """
    items = list(touched)
    losing = [item for item in items if item.effective == 0]
    held = {
        item.scope for item in items if item.current_cardinality == "one" and item.status == "active" and item.effective > 0 and not item.is_alias
    }
    decided: dict[UUID, Status] = {item.relationship_id: _without_support(item, cause, actor_profile_id) for item in losing}
    for item in _latest_first([item for item in items if item.effective > 0]):
        decided[item.relationship_id] = _with_support(item, held)
    changes = [_change(item, decided[item.relationship_id], cause, now) for item in items]
    return sorted((change for change in changes if change is not None), key=lambda change: change.relationship_id)


def _latest_first(items: Sequence[Touched]) -> list[Touched]:
    return sorted(items, key=lambda item: (item.stated_at.timestamp() if item.stated_at else 0.0, item.relationship_id), reverse=True)


def _without_support(item: Touched, cause: Cause, actor_profile_id: UUID | None) -> Status:
    if item.status != "active" or item.is_alias:
        return item.status
    own = cause == "evidence_retracted" and actor_profile_id == item.owner_profile_id
    return "retracted" if own else "pending_evidence"


def _with_support(item: Touched, held: set[Scope]) -> Status:
    if item.status not in ("pending_evidence", "retracted") or item.is_alias:
        return item.status
    if item.current_cardinality != "one":
        return "active"
    if item.has_current_sibling or item.scope in held:
        return "superseded"
    held.add(item.scope)
    return "active"


def _change(item: Touched, status: Status, cause: Cause, now: datetime) -> Settled | None:
    counts = (item.effective, item.effective_groups)
    if status == item.status and counts == (item.support_count, item.source_group_count):
        return None
    known_to = item.known_to if status == item.status else None if status == "active" else now
    return Settled(
        relationship_id=item.relationship_id,
        from_status=item.status,
        status=status,
        version=item.version + 1,
        valid_to=item.valid_to,
        known_to=known_to,
        support_count=item.effective,
        source_group_count=item.effective_groups,
        reason=cause,
    )
