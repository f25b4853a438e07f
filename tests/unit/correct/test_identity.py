"""Which relationship moves where when two entities become one, and how it is taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from commonlore.domain.correct.identity import Done, Held, Plan, Standing, plan_moves, repoint, take_back
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.relationship import Statement
from tests.support.memory import START

GONE, KEPT, ZIG, OWNER, OTHER = (UUID(int=number) for number in range(1, 6))
NOW = START + timedelta(days=1)


def held(number: int, subject: UUID, target: UUID, *, owner: UUID = OWNER, **fields: Any) -> Held:
    statement = Statement(subject, fields.pop("predicate", "uses"), target, None, "+", None, None)
    plain: dict[str, Any] = {
        "status": "active", "version": 1, "valid_to": None, "known_from": START + timedelta(hours=number), "known_to": None,
        "relationship_kind": "state", "current_cardinality": "many", "predicate_version": 1, "subject_name": "s", "object_name": "o",
        "supports": {(UUID(int=100 + number), 0, 5): UUID(int=200 + number)},
    }  # fmt: skip
    return Held(UUID(int=10 + number), owner, statement, **{**plain, **fields})


def planned(moving: list[Held], others: list[Held]) -> Plan:
    return plan_moves(moving, others, from_id=GONE, to_id=KEPT, to_name="Kept", new_id=new_id, now=NOW)


def test_both_ends_are_repointed() -> None:
    moved = repoint(Statement(GONE, "knows", GONE, None, "+", None, None), GONE, KEPT)

    assert (KEPT, KEPT) == (moved.subject_entity_id, moved.object_entity_id)


def test_a_statement_of_its_own_gets_a_new_row_with_its_supports() -> None:
    plan = planned([held(1, GONE, ZIG)], [])

    (move,) = plan.moves
    assert (True, "active", KEPT, "Kept", "o") == (
        move.created,
        move.target.status,
        move.target.statement.subject_entity_id,
        move.target.subject_name,
        move.target.object_name,
    )
    assert [UUID(int=201)] == [source for _, source in move.copied]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ("active", "superseded", "active"),
        ("active", "active", "active"),
        ("pending_evidence", "active", "active"),
        ("retracted", "superseded", "superseded"),
    ],
)
def test_the_same_statement_is_joined_and_active_if_either_was(mine: str, theirs: str, expected: str) -> None:
    """Another author's is not the same row."""
    plan = planned([held(1, GONE, ZIG, status=mine)], [held(2, KEPT, ZIG, status=theirs), held(3, KEPT, ZIG, owner=OTHER)])

    (move,) = plan.moves
    assert (False, UUID(int=12), expected, (theirs, None, None)) == (
        move.created,
        move.target.relationship_id,
        move.target.status,
        move.target_before,
    )


def test_a_support_that_was_revoked_is_reinstated_and_one_that_is_there_is_not_copied() -> None:
    place, there = (UUID(int=101), 0, 5), (UUID(int=102), 0, 5)
    source = held(1, GONE, ZIG, supports={place: UUID(int=201), there: UUID(int=202)})
    target = held(2, KEPT, ZIG, supports={there: UUID(int=302)}, revoked={place: UUID(int=301)})

    (move,) = planned([source], [target]).moves

    assert ([UUID(int=301)], []) == (move.reinstated, move.copied)


def test_a_support_whose_text_is_held_goes_over_and_counts_no_sooner() -> None:
    place, there = (UUID(int=101), 0, 5), (UUID(int=102), 0, 5)
    source = held(1, GONE, ZIG, status="pending_evidence", supports={}, withheld={place: UUID(int=201), there: UUID(int=202)})
    target = held(2, KEPT, ZIG, supports={}, withheld={there: UUID(int=302)})

    (move,) = planned([source], [target]).moves

    assert ([UUID(int=201)], {}) == ([origin for _, origin in move.copied], move.target.supports)


def test_what_gave_way_before_it_was_joined_is_remembered_as_it_stood() -> None:
    """The first statement displaces the row of the second, which then meets it."""
    one = {"predicate": "primary_database", "current_cardinality": "one"}
    theirs = held(1, KEPT, ZIG, **one)
    plan = planned([held(2, GONE, OTHER, **one), held(3, GONE, ZIG, status="superseded", **one)], [theirs])

    assert [("active", None, None)] == [move.target_before for move in plan.moves if not move.created]
    assert "superseded" == theirs.status


@pytest.mark.parametrize(("number", "moved", "displaced"), [(5, "active", 1), (1, "superseded", 0)])
def test_the_later_statement_keeps_the_one_current_place(number: int, moved: str, displaced: int) -> None:
    one = {"predicate": "primary_database", "current_cardinality": "one"}
    plan = planned([held(number, GONE, ZIG, **one)], [held(3, KEPT, OTHER, **one)])

    assert (moved, displaced) == (plan.moves[0].target.status, len(plan.displaced))


def test_what_is_revived_and_gives_way_at_once_ends_as_it_did() -> None:
    one = {"predicate": "primary_database", "current_cardinality": "one"}
    ended = held(2, KEPT, ZIG, status="superseded", known_to=START, valid_to=START, **one)
    (move,) = planned([held(1, GONE, ZIG, **one)], [ended, held(3, KEPT, OTHER, **one)]).moves

    assert ended is move.target
    assert ("superseded", START, START) == move.target_before == (ended.status, ended.known_to, ended.valid_to)


def test_what_was_replaced_with_a_text_of_its_own_is_replaced_again() -> None:
    """Its own text was there before the correction; one that was said since keeps it as it is."""
    target = held(2, KEPT, ZIG, version=4)
    moved = held(1, GONE, ZIG, status="superseded", known_to=NOW)

    def after(said_since: int) -> Standing:
        item = Done("joined", moved, "active", None, target, ("superseded", START, START), "active", 1, said_since)
        return take_back([item], held_scopes={}, now=NOW)[0]

    assert ("superseded", START, START) == (after(0).status, after(0).known_to, after(0).valid_to)
    assert ("active", None, None) == (after(1).status, after(1).known_to, after(1).valid_to)


def done(
    effect: Any = "repointed",
    *,
    own: int = 0,
    source: Held | None = None,
    target_status: str = "active",
    after: str = "active",
    before: str = "active",
) -> Done:
    target = held(2, KEPT, ZIG, status=target_status, version=4)
    moved = source or held(1, GONE, ZIG, status="superseded", version=3, known_to=NOW)
    return Done(effect, moved, "active", None, target, (before, None, None), after, own)


@pytest.mark.parametrize(
    ("item", "target", "source"),
    [
        (done(), ("superseded", True), "active"),
        (done(own=1), ("active", False), "active"),
        (done(target_status="superseded"), ("superseded", True), "superseded"),
        (done("joined", before="superseded"), ("superseded", False), "active"),
        (done("joined", before="superseded", own=1), ("active", False), "active"),
        (done("joined", target_status="retracted"), ("retracted", False), "retracted"),
        (done(source=held(1, GONE, ZIG, status="superseded", supports={})), ("superseded", True), "pending_evidence"),
    ],
)
def test_what_is_taken_back_stands_as_before_but_for_what_happened_since(item: Done, target: tuple[str, bool], source: str) -> None:
    first, second = take_back([item], held_scopes={}, now=NOW)

    assert (target, source) == ((first.status, first.alias_of is not None), second.status)
    assert (5, item.source.version + 1, None) == (first.version, second.version, second.alias_of)


def test_two_that_met_in_one_target_change_it_once() -> None:
    first, second = done(), done("joined", source=held(9, GONE, ZIG, status="superseded"))

    assert (
        3
        == len({standing.relationship_id for standing in take_back([first, second], held_scopes={}, now=NOW)})
        == len(take_back([first, second], held_scopes={}, now=NOW))
    )


def test_a_current_place_that_is_taken_stays_taken() -> None:
    source = held(1, GONE, ZIG, status="superseded", current_cardinality="one")

    standing = take_back([done(source=source)], held_scopes={(OWNER, source.statement.current_scope): OTHER}, now=NOW)[-1]

    assert ("superseded", NOW) == (standing.status, standing.known_to)


def test_several_that_come_back_to_one_place_leave_the_one_that_went_on() -> None:
    """One was active before; the other's target was stated anew since, so it is the later statement."""
    one = {"predicate": "primary_database", "current_cardinality": "one", "status": "superseded"}
    before = Done("repointed", held(1, GONE, ZIG, **one), "active", None, held(11, KEPT, ZIG, **one), ("active", None, None), "superseded", 0)
    anew = held(12, KEPT, OTHER, predicate="primary_database", current_cardinality="one")
    went_on = Done("repointed", held(2, GONE, OTHER, **one), "superseded", NOW, anew, ("superseded", None, None), "superseded", 1)

    standings = {row.relationship_id: row.status for row in take_back([before, went_on], held_scopes={}, now=NOW)}

    assert ["superseded", "active"] == [standings[item.source.relationship_id] for item in (before, went_on)]
    assert "active" == standings[anew.relationship_id]


def test_a_joined_row_comes_back_to_its_place_only_where_it_is_free() -> None:
    item = done("joined", target_status="superseded", after="superseded", own=1)
    assert item.target is not None
    item.target.current_cardinality = "one"

    (first, _) = take_back([item], held_scopes={(OWNER, item.target.statement.current_scope): OTHER}, now=NOW)

    assert ("superseded", NOW) == (first.status, first.known_to)


def test_a_joined_row_that_only_copies_carried_waits_for_a_text() -> None:
    (first, _) = take_back([done("joined")], held_scopes={}, now=NOW)

    assert ("pending_evidence", NOW) == (first.status, first.known_to)
