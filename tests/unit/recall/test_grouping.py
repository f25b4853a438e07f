"""Relationships of equal meaning take one slot, at the rank of their best member."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from commonlore.domain.recall.grouping import RelationshipHit, rank_groups

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def a_hit(number: int, group: str, *, age: int = 0) -> RelationshipHit:
    return RelationshipHit(UUID(int=number), group, NOON - timedelta(hours=age))


def test_a_group_stands_where_its_best_member_does() -> None:
    assert ["a", "b"] == rank_groups([a_hit(1, "a"), a_hit(2, "b"), a_hit(3, "a")], [])


def test_two_branches_beat_one() -> None:
    assert ["b", "a", "c"] == rank_groups([a_hit(1, "a"), a_hit(2, "b")], [a_hit(3, "c"), a_hit(2, "b")])


def test_members_do_not_add_up() -> None:
    """Three authors of one statement do not outrank one better match: popularity is no rank."""
    assert ["best", "crowd"] == rank_groups([a_hit(1, "best"), a_hit(2, "crowd"), a_hit(3, "crowd"), a_hit(4, "crowd")], [])


def test_the_tie_goes_to_the_earliest_then_to_the_lowest_id() -> None:
    """Equal score and rank, in either branch: creation, then id."""
    young, old, twin = a_hit(1, "young"), a_hit(9, "old", age=3), a_hit(8, "twin", age=3)

    assert ["old", "young"] == rank_groups([young], [old]) == rank_groups([old], [young])
    assert ["twin", "old"] == rank_groups([old], [twin]) == rank_groups([twin], [old])


def test_no_hits_no_groups() -> None:
    assert [] == rank_groups([], [])
