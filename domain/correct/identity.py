"""Merging and splitting entities: which relationship moves where, what meets there, and how it is taken back.

Pure. A relationship is never changed to name another entity: a new row says so, and the old one stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from commonlore.domain.ids import NewId
from commonlore.domain.ledger.relationship import Statement

SupportKey = tuple[UUID, int, int]
CurrentScope = tuple[UUID, str, str, datetime | None, str | None]
Stated = tuple[datetime, UUID]
Effect = Literal["repointed", "joined", "displaced"]


@dataclass(slots=True)
class Held:
    """A relationship as it stands. `supports` are those that count, `revoked` those that were taken back, each by its place.

    `withheld` are granted supports whose evidence does not count now and may count again; `alias_of` is the relationship that it
    stands for.
    """

    relationship_id: UUID
    owner_profile_id: UUID
    statement: Statement
    status: str
    version: int
    valid_to: datetime | None
    known_from: datetime
    known_to: datetime | None
    relationship_kind: str
    current_cardinality: str
    predicate_version: int
    subject_name: str
    object_name: str
    supports: dict[SupportKey, UUID] = field(default_factory=dict)
    revoked: dict[SupportKey, UUID] = field(default_factory=dict)
    withheld: dict[SupportKey, UUID] = field(default_factory=dict)
    copied_from: dict[UUID, UUID] = field(default_factory=dict)
    all_supports: set[UUID] = field(default_factory=set)
    decided_at: dict[UUID, datetime] = field(default_factory=dict)
    alias_of: UUID | None = None

    @property
    def identity(self) -> tuple[UUID, Statement]:
        return self.owner_profile_id, self.statement

    @property
    def is_current(self) -> bool:
        return self.current_cardinality == "one" and self.status == "active"


@dataclass(slots=True)
class Move:
    """One relationship and the one that takes its place; `created` tells whether that one is made for it."""

    source: Held
    target: Held
    created: bool
    target_before: tuple[str, datetime | None, datetime | None]
    status_before: str
    known_to_before: datetime | None
    copied: list[tuple[UUID, UUID]] = field(default_factory=list)
    reinstated: list[UUID] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """What a merge or split changes. `displaced` gave way to a later statement about the one current object of their author."""

    moves: list[Move] = field(default_factory=list)
    displaced: list[tuple[Held, str, datetime | None]] = field(default_factory=list)

    @property
    def joined(self) -> list[Move]:
        return [move for move in self.moves if not move.created]


def repoint(statement: Statement, from_id: UUID, to_id: UUID) -> Statement:
    """The statement with one entity in place of another, at both ends."""
    return replace(
        statement,
        subject_entity_id=to_id if statement.subject_entity_id == from_id else statement.subject_entity_id,
        object_entity_id=to_id if statement.object_entity_id == from_id else statement.object_entity_id,
    )


def plan_moves(moving: Sequence[Held], others: Sequence[Held], *, from_id: UUID, to_id: UUID, to_name: str, new_id: NewId, now: datetime) -> Plan:
    """Move each relationship of `from_id` to `to_id`, the earliest first.

    One that its author states of `to_id` already is joined: it gains the supports, and is active if either was. Where an author
    would hold two current objects, the later statement stays; what was not active and gives way to it keeps its end.
    """
    plan = Plan()
    before = {held.relationship_id: (held.status, held.known_to, held.valid_to) for held in others}
    index = {held.identity: held for held in others}
    current = {(held.owner_profile_id, held.statement.current_scope): (held, _stated(held)) for held in others if held.is_current}
    for source in sorted(moving, key=_stated):
        statement = repoint(source.statement, from_id, to_id)
        target = index.get((source.owner_profile_id, statement))
        created = target is None
        if target is None:
            target = _made(source, statement, from_id, to_id, to_name, new_id(), now)
            index[target.identity] = target
        was = before.setdefault(target.relationship_id, (target.status, target.known_to, target.valid_to))
        move = Move(source, target, created, was, source.status, source.known_to)
        if source.status == "active":
            if target.status != "active":
                target.status, target.known_to, target.valid_to = "active", None, source.valid_to
            if target.is_current:
                _give_way(plan, current, target, _stated(source), now)
        _copy(move, new_id)
        plan.moves.append(move)
    for move in plan.moves:
        # One that was revived and gave way in the same step never counted: it ends as it did.
        if move.target.status == move.target_before[0] != "active":
            _, move.target.known_to, move.target.valid_to = move.target_before
    return plan


def _stated(held: Held) -> Stated:
    return held.known_from, held.relationship_id


def _made(source: Held, statement: Statement, from_id: UUID, to_id: UUID, to_name: str, relationship_id: UUID, now: datetime) -> Held:
    return Held(
        relationship_id=relationship_id,
        owner_profile_id=source.owner_profile_id,
        statement=statement,
        status=source.status,
        version=0,
        valid_to=source.valid_to,
        known_from=now,
        known_to=source.known_to,
        relationship_kind=source.relationship_kind,
        current_cardinality=source.current_cardinality,
        predicate_version=source.predicate_version,
        subject_name=to_name if source.statement.subject_entity_id == from_id else source.subject_name,
        object_name=to_name if source.statement.object_entity_id == from_id else source.object_name,
    )


def _give_way(plan: Plan, current: dict[tuple[UUID, CurrentScope], tuple[Held, Stated]], target: Held, stated: Stated, now: datetime) -> None:
    scope = (target.owner_profile_id, target.statement.current_scope)
    rival, since = current.get(scope, (target, stated))
    if rival is target:
        current[scope] = (target, max(stated, since))
        return
    loser = rival if stated > since else target
    if loser is rival:
        current[scope] = (target, stated)
        if not any(rival is move.target for move in plan.moves):
            plan.displaced.append((rival, rival.status, rival.known_to))
    loser.status, loser.known_to = "superseded", now


def _copy(move: Move, new_id: NewId) -> None:
    """A support whose text is held goes over as well: it counts for the target once its text is released."""
    target = move.target
    for found, known in ((move.source.supports, target.supports), (move.source.withheld, target.withheld)):
        for place, support_id in found.items():
            if place in target.revoked:
                move.reinstated.append(target.revoked.pop(place))
            elif place not in known:
                move.copied.append((new_id(), support_id))
            known.setdefault(place, support_id)


@dataclass(frozen=True, slots=True)
class Done:
    """One item of a correction that is taken back, with how its rows stand now.

    `own_supports` are supports of the target that count and were not copied by the correction, `said_since` those of them that
    were decided after it; None where all were.
    """

    effect: Effect
    source: Held
    status_before: str
    known_to_before: datetime | None
    target: Held | None
    target_before: tuple[str, datetime | None, datetime | None] | None
    target_status_after: str | None
    own_supports: int
    said_since: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a relationship stands after the reversal; `alias_of` is the one that it stands for."""

    relationship_id: UUID
    from_status: str
    status: str
    version: int
    valid_to: datetime | None
    known_to: datetime | None
    alias_of: UUID | None


@dataclass(slots=True)
class _Restored:
    """A row of a reversal. `supports` are those that count then; `is_later`: what happened to its target since came over."""

    held: Held
    status: str
    known_to: datetime | None
    valid_to: datetime | None
    supports: int
    alias_of: UUID | None = None
    is_later: bool = False

    def standing(self) -> Standing:
        held = self.held
        return Standing(held.relationship_id, held.status, self.status, held.version + 1, self.valid_to, self.known_to, self.alias_of)


def take_back(items: Sequence[Done], *, held_scopes: Mapping[tuple[UUID, CurrentScope], UUID], now: datetime) -> list[Standing]:
    """The rows as they stood before, each at a new version.

    What happened to a target after the correction carries over to its source; what was stated of the target itself since then
    stays with the target. `held_scopes` are the current places that rows outside this correction hold now: what would be active
    beside them gives way, and so does all but the last of several in one place. What has no support left waits for one.
    """
    # Several may have met in one target; the item that it was made for says what becomes of it.
    targets = {item.target.relationship_id: item for item in sorted(items, key=lambda item: item.effect == "repointed") if item.target is not None}
    restored = [*(_target_after(item, now) for item in targets.values()), *(_source_after(item) for item in items)]
    _make_room(restored, set(held_scopes), now)
    return [row.standing() for row in restored]


def _target_after(item: Done, now: datetime) -> _Restored:
    target = item.target
    assert target is not None and item.target_before is not None
    row = _Restored(target, target.status, target.known_to, target.valid_to, item.own_supports)
    if item.effect == "repointed":
        if item.own_supports:
            return row
        row.alias_of = item.source.relationship_id
        if row.status == "active":
            row.status, row.known_to = "superseded", now
        return row
    before_status, before_known_to, before_valid_to = item.target_before
    said_since = item.own_supports if item.said_since is None else item.said_since
    moved_on = target.status != item.target_status_after or (before_status != "active" and said_since > 0)
    if not moved_on and before_status != target.status:
        row.status, row.known_to, row.valid_to = before_status, before_known_to, before_valid_to
    return row


def _source_after(item: Done) -> _Restored:
    source, target = item.source, item.target
    is_later = target is not None and target.status != item.target_status_after
    status, known_to = (target.status, target.known_to) if is_later and target is not None else (item.status_before, item.known_to_before)
    return _Restored(source, status, known_to, source.valid_to, len(source.supports), is_later=is_later)


def _make_room(restored: Sequence[_Restored], held_scopes: set[tuple[UUID, CurrentScope]], now: datetime) -> None:
    for row in sorted(restored, key=lambda row: (row.is_later, *_stated(row.held)), reverse=True):
        if row.status != "active":
            continue
        scope = (row.held.owner_profile_id, row.held.statement.current_scope)
        if not row.supports:
            row.status, row.known_to = "pending_evidence", now
        elif row.held.current_cardinality == "one" and scope in held_scopes:
            row.status, row.known_to = "superseded", now
        else:
            held_scopes.add(scope)
