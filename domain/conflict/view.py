"""A case as it is seen from a moment: its state from the events that were known by then, its sides from who stood for them.

A decision prefers one position from its `effective_at` on. A view of a time before that sees the case undecided, with
every position as an alternative, whatever was decided later. A dismissed case is shown by trace and in its own history
alone: for a recall the statements stand by ordinary rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.conflict.policy import AUTHORITY_RANK, PolicyRules, Verdict, Vote, examine
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import TemporalView

Kind = Literal["cross_profile_current_state", "evidence_conflict"]
Disposition = Literal["candidate", "preferred", "suppressed_current"]
MOST_SHOWN = 20
MOST_EVENTS = 500
_CLOSING = ("resolved", "dismissed")


class Event(Struct, frozen=True, kw_only=True):
    action: str
    version: int
    reason: str
    known_from: datetime
    position_id: UUID | None = None
    evidence_id: UUID | None = None
    effective_at: datetime | None = None
    effective_time_basis: str | None = None
    actor_profile_id: UUID | None = None


class Object(Struct, frozen=True, kw_only=True):
    """What a position says; the fields of an entity or those of a value."""

    position_id: UUID
    entity_id: UUID | None = None
    name: str | None = None
    value_id: UUID | None = None
    type: str | None = None
    value: str | None = None
    display: str | None = None
    unit: str | None = None

    @property
    def shown(self) -> dict[str, object]:
        names = ("entity_id", "name") if self.entity_id is not None else ("value_id", "type", "value", "display", "unit")
        return {name: part for name in names if (part := getattr(self, name)) is not None}


class Support(Struct, frozen=True, kw_only=True):
    position_id: UUID
    relationship_id: UUID
    profile_id: UUID
    profile_name: str
    evidence_id: UUID
    authority: str
    accepted_at: datetime
    effective_at: datetime


class Quote(Struct, frozen=True, kw_only=True):
    """`quote` is None where the text was withdrawn."""

    position_id: UUID
    evidence_id: UUID
    owner_profile_id: UUID
    quote: str | None
    span_start: int
    span_end: int
    authority: str
    submitted: bool


class CaseRow(Struct, frozen=True, kw_only=True):
    """A case as it was read for one view."""

    conflict_id: UUID
    kind: Kind
    question: str
    review_due_at: datetime
    known_from: datetime
    version: int
    events: list[Event]
    positions: list[Object] | None = None
    supports: list[Support] | None = None
    quotes: list[Quote] | None = None


class Supporter(Struct, frozen=True, kw_only=True):
    profile_id: UUID
    profile_name: str
    strongest_authority: str
    evidence_id: UUID
    accepted_at: datetime


class StatementPosition(Struct, frozen=True, kw_only=True):
    """One object with whoever stands for it. Lists are cut at their bounds; `supporter_count` is whole."""

    position_id: UUID
    disposition: Disposition
    object: dict[str, object]
    supporter_count: int
    supporters: list[Supporter]
    supporters_truncated: bool
    relationship_ids: list[UUID]
    relationships_truncated: bool
    owner_profile_ids: list[UUID]
    result_evidence_ids: list[UUID]


class QuotePosition(Struct, frozen=True, kw_only=True):
    position_id: UUID
    disposition: Disposition
    evidence_id: UUID
    occurrence_id: UUID | None
    quote: str | None
    span_start: int
    span_end: int
    authority: str
    submitted: bool


class ConflictItem(Struct, frozen=True, kw_only=True):
    """One case. The order of positions is that in which they came; it prefers nothing, and neither does a cut."""

    conflict_id: UUID
    version: int
    kind: Kind
    status: str
    question: str
    review_due_at: datetime
    effective_at: datetime | None
    effective_time_basis: str | None
    preferred_position_id: UUID | None
    positions: list[StatementPosition] | list[QuotePosition]
    positions_truncated: bool
    space_kind: str
    space: str | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class State:
    """The state of a case in a view."""

    status: str
    decision: Event | None = None

    def disposition(self, position_id: UUID) -> Disposition:
        if self.decision is None:
            return "candidate"
        return "preferred" if position_id == self.decision.position_id else "suppressed_current"


def read_case(row: Mapping[str, Any]) -> CaseRow:
    return msgspec.convert(row, CaseRow, strict=False)


def state_at(events: Sequence[Event], view: TemporalView) -> State:
    """The last state by known time. A decision that begins to count after `valid_at` is not made for that time yet."""
    last = [event for event in events if event.action in ("opened", "marked_overdue", *_CLOSING)][-1]
    if last.action == "resolved":
        if view.valid_at is None or last.effective_at is None or view.valid_at >= last.effective_at:
            return State("resolved", last)
        return State("overdue" if any(event.action == "marked_overdue" for event in events) else "open")
    return State({"opened": "open", "marked_overdue": "overdue"}.get(last.action, last.action))


def show(row: CaseRow, view: TemporalView, space: Space, *, results: Collection[UUID] = (), everything: bool = False) -> ConflictItem | None:
    """The case for an answer; None where it is none in this view: dismissed, or fewer than two sides stand there.

    `results` are the texts of the answer. `everything` shows dismissed cases and sides that nothing stands for, too.
    """
    state = state_at(row.events, view)
    positions: list[StatementPosition] | list[QuotePosition]
    if row.kind == "evidence_conflict":
        positions = [_quote(item, state) for item in row.quotes or ()]
    else:
        positions = [_statement(item, row.supports or (), state, results) for item in row.positions or ()]
        if not everything:
            positions = [item for item in positions if item.supporter_count]
    if not everything and (state.status == "dismissed" or len(positions) < 2):
        return None
    decision = state.decision
    return ConflictItem(
        conflict_id=row.conflict_id,
        version=row.version,
        kind=row.kind,
        status=state.status,
        question=row.question,
        review_due_at=row.review_due_at,
        effective_at=decision.effective_at if decision else None,
        effective_time_basis=decision.effective_time_basis if decision else None,
        preferred_position_id=decision.position_id if decision else None,
        positions=positions,
        positions_truncated=any(event.action == "positions_truncated" for event in row.events),
        space_kind=space.public_kind,
        space=space.name if space.name is not None else UNSET,
    )


def show_whole(row: CaseRow, space: Space) -> ConflictItem:
    """The case as it stands now, whatever its state."""
    item = show(row, TemporalView(), space, everything=True)
    assert item is not None
    return item


def preview(row: CaseRow, rules: PolicyRules, now: datetime) -> Verdict | None:
    """What the review would say of an open case of statements now; None for any other case. A member is one identity."""
    if row.kind != "cross_profile_current_state" or state_at(row.events, TemporalView()).status not in ("open", "overdue"):
        return None
    votes = [Vote(item.profile_id, item.position_id, item.authority, item.accepted_at, item.effective_at) for item in row.supports or ()]
    positions = [item.position_id for item in row.positions or ()]
    return examine(positions, votes, now=now, review_due_at=row.review_due_at, rules=rules)


def history(row: CaseRow) -> dict[str, Any]:
    """What happened to a case, in order; supports that joined or left are told by its version alone."""
    return {"events": row.events[:MOST_EVENTS], "events_truncated": len(row.events) > MOST_EVENTS}


def _quote(item: Quote, state: State) -> QuotePosition:
    return QuotePosition(
        position_id=item.position_id,
        disposition=state.disposition(item.position_id),
        evidence_id=item.evidence_id,
        occurrence_id=None,
        quote=item.quote,
        span_start=item.span_start,
        span_end=item.span_end,
        authority=item.authority,
        submitted=item.submitted,
    )


def _statement(item: Object, supports: Sequence[Support], state: State, results: Collection[UUID]) -> StatementPosition:
    own = [support for support in supports if support.position_id == item.position_id]
    supporters = _supporters(own)
    relationships = list(dict.fromkeys(support.relationship_id for support in own))
    return StatementPosition(
        position_id=item.position_id,
        disposition=state.disposition(item.position_id),
        object=item.shown,
        supporter_count=len(supporters),
        supporters=supporters[:MOST_SHOWN],
        supporters_truncated=len(supporters) > MOST_SHOWN,
        relationship_ids=relationships[:MOST_SHOWN],
        relationships_truncated=len(relationships) > MOST_SHOWN,
        owner_profile_ids=[supporter.profile_id for supporter in supporters[:MOST_SHOWN]],
        result_evidence_ids=sorted({support.evidence_id for support in own if support.evidence_id in results}),
    )


def _supporters(own: Sequence[Support]) -> list[Supporter]:
    """One a profile, by its first acceptance, with its strongest text; equal ones by acceptance, as `own` is."""
    strongest: dict[UUID, Support] = {}
    first: dict[UUID, datetime] = {}
    for support in own:
        first.setdefault(support.profile_id, support.accepted_at)
        held = strongest.get(support.profile_id)
        if held is None or AUTHORITY_RANK.get(support.authority, 4) < AUTHORITY_RANK.get(held.authority, 4):
            strongest[support.profile_id] = support
    return [
        Supporter(
            profile_id=key,
            profile_name=item.profile_name,
            strongest_authority=item.authority,
            evidence_id=item.evidence_id,
            accepted_at=first[key],
        )
        for key, item in strongest.items()
    ]
