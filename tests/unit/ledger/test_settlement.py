"""What becomes of a relationship when its supports changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args
from uuid import UUID

import pytest

from commonlore.domain.ids import new_id
from commonlore.domain.ledger.relationship import Status
from commonlore.domain.ledger.settlement import Cause, Touched, settle_all
from tests.support.memory import START

AUTHOR, STRANGER = UUID(int=1), UUID(int=2)
NOW = START + timedelta(days=1)


def touched(**fields: Any) -> Touched:
    """An active relationship with two supports that still count."""
    plain: dict[str, Any] = {
        "relationship_id": new_id(),
        "owner_profile_id": AUTHOR,
        "scope": (AUTHOR, UUID(int=9), "likes", "+", None, None),
        "current_cardinality": "many",
        "status": "active",
        "version": 3,
        "valid_to": None,
        "known_to": None,
        "support_count": 2,
        "source_group_count": 2,
        "effective": 2,
        "effective_groups": 2,
        "stated_at": START,
    }
    return Touched(**{**plain, **fields})


def statuses(*items: Touched, cause: Cause = "evidence_released", actor: UUID | None = AUTHOR) -> list[str | None]:
    """The new status of each item, in the order given; None where it is left alone."""
    changes = {change.relationship_id: change.status for change in settle_all(items, cause=cause, actor_profile_id=actor, now=NOW)}
    return [changes.get(item.relationship_id) for item in items]


@pytest.mark.parametrize(
    ("cause", "actor", "expected"),
    [
        ("evidence_retracted", AUTHOR, "retracted"),
        ("evidence_retracted", STRANGER, "pending_evidence"),
        ("evidence_superseded", AUTHOR, "pending_evidence"),
        ("source_revised", AUTHOR, "pending_evidence"),
        ("evidence_quarantined", AUTHOR, "pending_evidence"),
        ("evidence_quarantined", None, "pending_evidence"),
        ("support_decided", AUTHOR, "pending_evidence"),
    ],
)
def test_an_active_one_without_support_ends(cause: Cause, actor: UUID | None, expected: str) -> None:
    """Retracted where its own author took the evidence back, else waiting for evidence."""

    assert [expected] == statuses(touched(effective=0, effective_groups=0), cause=cause, actor=actor)


@pytest.mark.parametrize("status", ["pending_evidence", "retracted"])
@pytest.mark.parametrize(("cardinality", "sibling", "expected"), [("many", False, "active"), ("one", False, "active"), ("one", True, "superseded")])
def test_support_that_is_back_counts_again(status: Status, cardinality: str, sibling: bool, expected: str) -> None:
    """Active, unless the author meanwhile says another current object."""
    item = touched(status=status, support_count=0, source_group_count=0, current_cardinality=cardinality, has_current_sibling=sibling)

    assert [expected] == statuses(item)


@pytest.mark.parametrize("status", sorted(set(get_args(Status)) - {"active", "pending_evidence", "retracted"}))
@pytest.mark.parametrize("effective", [0, 2])
def test_any_other_status_stays(status: Status, effective: int) -> None:
    """What was replaced, disputed, rejected or is under review changes its counts only."""
    item = touched(status=status, support_count=1, source_group_count=1, effective=effective, effective_groups=effective)
    change = settle_all([item], cause="evidence_retracted", actor_profile_id=AUTHOR, now=NOW)[0]

    assert (status, 4, effective) == (change.status, change.version, change.support_count)


def test_nothing_changed_makes_no_version() -> None:
    """The counts and the status agree with the events already."""

    assert [None, None] == statuses(
        touched(), touched(status="pending_evidence", support_count=0, source_group_count=0, effective=0, effective_groups=0)
    )


def test_one_support_less_is_a_version_and_a_transition_to_itself() -> None:
    item = touched(effective=1, effective_groups=1)
    change = settle_all([item], cause="source_revised", actor_profile_id=AUTHOR, now=NOW)[0]

    assert ("active", "active", 4, 1, "source_revised") == (change.from_status, change.status, change.version, change.support_count, change.reason)


def test_a_row_that_ends_says_when_and_one_that_begins_again_does_not() -> None:
    ended = settle_all([touched(effective=0, effective_groups=0)], cause="source_revised", actor_profile_id=AUTHOR, now=NOW)[0]
    again = settle_all([touched(status="retracted", known_to=NOW, support_count=0)], cause="evidence_released", actor_profile_id=None, now=NOW)[0]

    assert (NOW, None) == (ended.known_to, again.known_to)


def test_of_several_that_regain_one_place_the_last_stated_takes_it() -> None:
    """The order in which they are given does not matter."""
    old = touched(status="pending_evidence", current_cardinality="one", support_count=0)
    new = replace(old, relationship_id=new_id(), stated_at=START + timedelta(hours=1))

    assert ["superseded", "active"] == statuses(old, new)
    assert ["active", "superseded"] == statuses(new, old)


def test_a_touched_one_that_stays_current_keeps_its_place() -> None:
    current = touched(current_cardinality="one", support_count=1)
    back = touched(status="pending_evidence", current_cardinality="one", support_count=0, stated_at=START + timedelta(hours=1))

    assert ["active", "superseded"] == statuses(current, back)


def test_a_place_that_is_lost_in_the_same_moment_is_free() -> None:
    losing = touched(current_cardinality="one", effective=0, effective_groups=0)
    back = touched(status="pending_evidence", current_cardinality="one", support_count=0)

    assert ["pending_evidence", "active"] == statuses(losing, back)


def test_an_alias_of_another_row_keeps_its_status() -> None:
    """It stands for that row, which is settled by itself."""

    assert ["active", "retracted"] == statuses(
        touched(is_alias=True, effective=0, effective_groups=0), touched(is_alias=True, status="retracted", support_count=0)
    )


def test_changes_come_by_id() -> None:
    """Rows are locked and written in one order."""
    items = [touched(effective=1) for _ in range(5)][::-1]
    changes = settle_all(items, cause="source_revised", actor_profile_id=None, now=NOW)

    assert sorted(item.relationship_id for item in items) == [change.relationship_id for change in changes]
