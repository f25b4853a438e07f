"""A case as it is seen from a moment, and what a decision may say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonlore.domain.conflict.request import ResolveConflictRequest
from commonlore.domain.conflict.resolution import Side, require_version, resolve, sides_of
from commonlore.domain.conflict.view import CaseRow, Event, Object, Support, show, state_at
from commonlore.domain.errors import Conflict, Incorrect
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import TemporalView

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
RED, BLUE = UUID(int=1), UUID(int=2)
SPACE = Space(UUID(int=7), "team_shared")


def an_event(action: str, **fields: Any) -> Event:
    return Event(**{"action": action, "version": 1, "reason": "written", "known_from": NOON, **fields})


OPENED, OVERDUE = an_event("opened"), an_event("marked_overdue")
RESOLVED = an_event("resolved", position_id=RED, effective_at=NOON)


@pytest.mark.parametrize(
    ("events", "valid_at", "expected"),
    [
        ([OPENED], None, ("open", "candidate", "candidate")),
        ([OPENED, OVERDUE], None, ("overdue", "candidate", "candidate")),
        ([OPENED, RESOLVED], None, ("resolved", "preferred", "suppressed_current")),
        ([OPENED, RESOLVED], NOON, ("resolved", "preferred", "suppressed_current")),
        ([OPENED, RESOLVED], NOON - timedelta(microseconds=1), ("open", "candidate", "candidate")),
        ([OPENED, OVERDUE, RESOLVED], NOON - timedelta(days=1), ("overdue", "candidate", "candidate")),
        ([OPENED, an_event("dismissed")], NOON, ("dismissed", "candidate", "candidate")),
    ],
)
def test_the_state_is_that_of_the_view(events: list[Event], valid_at: datetime | None, expected: tuple[str, str, str]) -> None:
    """A decision counts from its moment on, the moment included."""

    state = state_at(events, TemporalView(valid_at=valid_at))

    assert expected == (state.status, state.disposition(RED), state.disposition(BLUE))


def a_case(supports: list[Support], *events: Event) -> CaseRow:
    return CaseRow(
        conflict_id=new_id(),
        kind="cross_profile_current_state",
        question="Which?",
        review_due_at=NOON,
        known_from=NOON,
        version=3,
        events=[OPENED, *events],
        positions=[
            Object(position_id=RED, entity_id=UUID(int=11), name="Red"),
            Object(position_id=BLUE, value_id=UUID(int=12), type="string", value="b"),
        ],
        supports=supports,
    )


def a_support(position: UUID, profile: int, *, authority: str = "unknown", minute: int = 0) -> Support:
    return Support(
        position_id=position,
        relationship_id=UUID(int=1000 + profile),
        profile_id=UUID(int=profile),
        profile_name=f"p{profile}",
        evidence_id=new_id(),
        authority=authority,
        accepted_at=NOON + timedelta(minutes=minute),
        effective_at=NOON,
    )


def test_many_supporters_are_counted_and_cut() -> None:
    """Twenty are shown, all are counted, and the cut is said."""

    item = show(a_case([*(a_support(RED, number) for number in range(25)), a_support(BLUE, 99)]), TemporalView(), SPACE)
    assert item is not None
    first = item.positions[0]

    assert (25, 20, True, 20, True) == (
        first.supporter_count,  # type: ignore[union-attr]
        len(first.supporters),  # type: ignore[union-attr]
        first.supporters_truncated,  # type: ignore[union-attr]
        len(first.relationship_ids),  # type: ignore[union-attr]
        first.relationships_truncated,  # type: ignore[union-attr]
    )


def test_a_profile_supports_once_with_its_strongest_text() -> None:
    """And since its first."""

    weak, strong = a_support(RED, 1, minute=1), a_support(RED, 1, authority="primary", minute=2)
    item = show(a_case([weak, strong, a_support(BLUE, 2)]), TemporalView(), SPACE, results={strong.evidence_id})
    assert item is not None
    position = item.positions[0]

    assert [("primary", strong.evidence_id, weak.accepted_at)] == [
        (one.strongest_authority, one.evidence_id, one.accepted_at)
        for one in position.supporters  # type: ignore[union-attr]
    ]
    assert [strong.evidence_id] == position.result_evidence_ids  # type: ignore[union-attr]


def test_a_side_that_does_not_stand_in_the_view_makes_no_case() -> None:
    """One position alone asks nothing; a trace shows it all the same."""

    row = a_case([a_support(RED, 1)])
    whole = show(row, TemporalView(), SPACE, everything=True)

    assert (None, 2) == (show(row, TemporalView(), SPACE), len(whole.positions) if whole else 0)


def test_a_dismissed_case_is_shown_in_its_history_alone() -> None:
    row = a_case([a_support(RED, 1), a_support(BLUE, 2)], an_event("dismissed"))
    whole = show(row, TemporalView(), SPACE, everything=True)

    assert (None, "dismissed") == (show(row, TemporalView(), SPACE), whole.status if whole else "")


# -- decisions


def a_request(**fields: Any) -> ResolveConflictRequest:
    plain = {"conflict_id": new_id(), "expected_version": 1, "action": "resolve", "reason": "r", "preferred_position_id": RED}
    return ResolveConflictRequest(**{**plain, **fields})


SIDES = {RED: Side((UUID(int=21),), NOON, "valid_from"), BLUE: Side((UUID(int=23), UUID(int=22)), NOON)}


def test_the_losing_sides_are_every_other_position() -> None:
    """In the order of their ids; the preferred one counts from when it holds."""

    found = resolve(a_request(), SIDES, of_texts=False, now=NOON)

    assert ("resolved", (UUID(int=22), UUID(int=23)), NOON, "valid_from") == (
        found.status,
        found.losing,
        found.effective_at,
        found.effective_time_basis,
    )


def test_a_dismissal_ends_nothing() -> None:
    assert () == resolve(a_request(action="dismiss", preferred_position_id=None), SIDES, of_texts=False, now=NOON).losing


@pytest.mark.parametrize("sides", [{BLUE: SIDES[BLUE]}, {RED: Side(), BLUE: SIDES[BLUE]}], ids=["none of the case", "nothing stands for it"])
def test_a_position_that_cannot_be_preferred_is_refused(sides: dict[UUID, Side]) -> None:
    with pytest.raises(Incorrect):
        resolve(a_request(), sides, of_texts=False, now=NOON)


@pytest.mark.parametrize(("status", "version"), [("open", 2), ("resolved", 1), ("dismissed", 1)])
def test_another_version_or_a_closed_case_is_stale(status: str, version: int) -> None:
    with pytest.raises(Conflict):
        require_version(status, version, 1)


def test_an_overdue_case_can_be_decided() -> None:
    require_version("overdue", 1, 1)


def test_sides_are_read_from_rows() -> None:
    """Each relationship once, the earliest moment first, and a position that nothing stands for."""

    later = NOON + timedelta(days=1)
    found = sides_of(
        [
            {"position_id": RED, "relationship_id": UUID(int=5), "effective_at": NOON, "effective_time_basis": "valid_from"},
            {"position_id": RED, "relationship_id": UUID(int=5), "effective_at": later, "effective_time_basis": "recorded_at"},
            {"position_id": BLUE, "relationship_id": None, "effective_at": None, "effective_time_basis": None},
        ]
    )

    assert {RED: Side((UUID(int=5),), NOON, "valid_from"), BLUE: Side()} == found
