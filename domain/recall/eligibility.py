"""What counts in a view, decided from authoritative rows with all their events: relationships, and what supports them.

The search and the hydration decide the same in SQL, in `hydrate.sql` for the present and in `history.sql` for another time;
a property test compares both with this module. A trace takes its reasons from here.

| view | what counts |
|---|---|
| the present | what is active and supported now |
| `known_at` | everything as it was known then; nothing that became known later |
| `valid_at` alone | what was known at that time as it stood then, what became known only later as it stands now |

A period has its start and not its end, and an event counts from its own instant on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.domain.recall.reasons import Exclusion, RelationshipExclusion
from commonlore.domain.time import TemporalView


@dataclass(frozen=True, slots=True)
class Event:
    """What was said of a row, and when it became known. Histories hold them in the order in which they count."""

    known_from: datetime
    what: str


@dataclass(frozen=True, slots=True)
class Transition:
    version: int
    known_from: datetime
    to_status: str
    reason: str
    # The end of validity that the relationship had after it.
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class EvidenceHistory:
    """`ended`: supersede or retract. `security`: quarantine or released. `revised_from`: when its source had a newer revision."""

    evidence_id: UUID
    known_from: datetime
    is_erased: bool = False
    ended: tuple[Event, ...] = ()
    security: tuple[Event, ...] = ()
    revised_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class SupportHistory:
    """`decisions`: grant, reinstate or revoke."""

    known_from: datetime
    decisions: tuple[Event, ...]
    evidence: EvidenceHistory


@dataclass(frozen=True, slots=True)
class RelationshipHistory:
    """The row as it stands, with its transitions by version and its supports.

    `suppressed_from` is from when a decided conflict prefers another statement.
    """

    relationship_id: UUID
    semantic_group_key: str
    owner_profile_id: UUID
    owner_active: bool
    known_from: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    status: str
    support_count: int
    transitions: tuple[Transition, ...]
    supports: tuple[SupportHistory, ...] = ()
    is_alias: bool = False
    is_corrected: bool = False
    suppressed_from: datetime | None = None


def withdrawn_in(evidence: EvidenceHistory, view: TemporalView) -> Exclusion | None:
    """Why evidence does not count by itself in a view. What is erased never comes back."""
    horizon = _horizon(view, evidence.known_from)
    if evidence.is_erased:
        return "erased"
    if (ended := _last(evidence.ended, horizon)) is not None:
        return "superseded" if ended == "supersede" else "retracted"
    if _last(evidence.security, horizon) == "quarantine":
        return "quarantined"
    if evidence.revised_from is not None and _by(evidence.revised_from, horizon):
        return "source_revised"
    return None


def is_effective(support: SupportHistory, view: TemporalView) -> bool:
    """Whether a support counts in a view: known, granted by its last decision, and of evidence that counts (dense-mem 22.3)."""
    known = _known(view, support.known_from) and _known(view, support.evidence.known_from)
    granted = _last(support.decisions, _horizon(view, support.known_from)) in ("grant", "reinstate")
    return known and granted and withdrawn_in(support.evidence, view) is None


def refuse(item: RelationshipHistory, view: TemporalView) -> RelationshipExclusion | None:
    """Why a relationship does not count in a view; None when it does.

    Source: ranking page, "Eligibility" and "Conflict Disposition"; dense-mem 22.2.
    """
    if not item.owner_active:
        return "owner_inactive"
    if not _known(view, item.known_from):
        return "not_yet_known"
    if item.is_alias and view.known_at is None:
        return "merged"
    return _refused_by_status(item, view) or _refused_by_validity(item, view) or _refused_by_support(item, view)


def _refused_by_status(item: RelationshipHistory, view: TemporalView) -> RelationshipExclusion | None:
    last = item.transitions[-1]
    if view.is_present:
        return None if item.status == "active" else _ended(item.status, last.reason)
    if view.known_at is None and item.status == "superseded":
        # Both say what held, not what was known: they reach back.
        if item.is_corrected:
            return "corrected"
        if last.reason == "conflict_resolved" and item.suppressed_from is not None and not _suppressed_later(item, view):
            return "suppressed"
    found = _transition_in(item, view)
    if found is None:
        return "not_yet_known"
    if found.to_status == "active":
        return None
    if found.to_status == "superseded" and view.valid_at is not None and _held_until_it_ended(item, found, view):
        return None
    return _ended(found.to_status, found.reason)


def _transition_in(item: RelationshipHistory, view: TemporalView) -> Transition | None:
    """The last transition of the view. What was never active by `valid_at` is known since it became so."""
    horizon = view.known_at
    if horizon is None and any(change.to_status == "active" and _by(change.known_from, view.valid_at) for change in item.transitions):
        horizon = view.valid_at
    return next((change for change in reversed(item.transitions) if _by(change.known_from, horizon)), None)


def _held_until_it_ended(item: RelationshipHistory, change: Transition, view: TemporalView) -> bool:
    """A replaced statement holds for the time that it states itself, a suppressed one until the decision begins to count."""
    if change.reason == "conflict_resolved":
        return _suppressed_later(item, view)
    return change.reason not in ("corrected", "identity_moved") and _end(item, view) is not None and not item.is_alias


def _suppressed_later(item: RelationshipHistory, view: TemporalView) -> bool:
    return item.suppressed_from is not None and view.valid_at is not None and view.valid_at < item.suppressed_from


def _ended(status: str, reason: str) -> RelationshipExclusion:
    if status == "superseded":
        reasons: dict[str, RelationshipExclusion] = {"corrected": "corrected", "conflict_resolved": "suppressed", "identity_moved": "merged"}
        return reasons.get(reason, "superseded")
    return status  # type: ignore[return-value]  # the other statuses are reasons of the closed list


def _refused_by_validity(item: RelationshipHistory, view: TemporalView) -> RelationshipExclusion | None:
    if view.valid_at is None:
        return None
    if item.valid_from is not None and view.valid_at < item.valid_from:
        return "not_yet_valid"
    end = _end(item, view)
    return "no_longer_valid" if end is not None and view.valid_at >= end else None


def _end(item: RelationshipHistory, view: TemporalView) -> datetime | None:
    """The end of validity as the view knows it."""
    if view.known_at is None:
        return item.valid_to
    return next((change.valid_to for change in reversed(item.transitions) if change.known_from <= view.known_at), None)


def _refused_by_support(item: RelationshipHistory, view: TemporalView) -> RelationshipExclusion | None:
    supported = item.support_count > 0 if view.is_present else any(is_effective(support, view) for support in item.supports)
    return None if supported else "unsupported"


def _known(view: TemporalView, known_from: datetime) -> bool:
    return view.known_at is None or known_from <= view.known_at


def _horizon(view: TemporalView, known_from: datetime) -> datetime | None:
    """The last instant whose events of a row count; None: all of them."""
    if view.known_at is not None:
        return view.known_at
    return view.valid_at if view.valid_at is not None and known_from <= view.valid_at else None


def _by(instant: datetime, horizon: datetime | None) -> bool:
    return horizon is None or instant <= horizon


def _last(events: Sequence[Event], horizon: datetime | None) -> str | None:
    return next((event.what for event in reversed(events) if _by(event.known_from, horizon)), None)
