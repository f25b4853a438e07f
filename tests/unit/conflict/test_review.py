"""What a write opens, adds to, takes from and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonlore.domain.conflict.review import OpenCase, Review, review
from commonlore.domain.conflict.scope import ConflictScope, Standing, Target, contested
from commonlore.domain.ids import new_id

START = datetime(2026, 7, 1, tzinfo=UTC)
ANN, BEN, CAT = (UUID(int=number) for number in (1, 2, 3))
RED, BLUE, GREEN = (Target(UUID(int=number)) for number in (11, 12, 13))
SCOPE = ConflictScope(UUID(int=9), "primary_database", "+", None)


def a_standing(owner: UUID, target: Target, *, at: int = 0, **fields: Any) -> Standing:
    """A support that was accepted `at` seconds after the start."""
    plain: dict[str, Any] = {
        "relationship_id": new_id(),
        "owner_profile_id": owner,
        "target": target,
        "predicate_version": 1,
        "valid_from": None,
        "valid_to": None,
        "support_id": new_id(),
        "verification_event_id": new_id(),
        "evidence_id": new_id(),
        "source_group_key": "g",
        "authority": "unknown",
        "accepted_at": START + timedelta(seconds=at),
    }
    return Standing(**{**plain, **fields})


def a_case(found: Review, **fields: Any) -> OpenCase:
    """The case that a review opened."""
    plain: dict[str, Any] = {
        "conflict_id": new_id(),
        "version": 1,
        "positions": {target: new_id() for target in found.targets},
        "members": frozenset(item.support_id for item in found.joined),
        "positions_truncated": found.positions_truncated,
    }
    return OpenCase(**{**plain, **fields})


def test_two_owners_and_two_objects_open_a_case() -> None:
    """Positions in the order of acceptance, with every support as a member."""

    first, second = a_standing(ANN, RED, at=1), a_standing(BEN, BLUE, at=2)

    assert Review("open", (RED, BLUE), (first, second)) == review(None, [second, first])


@pytest.mark.parametrize(
    "sides",
    [
        [a_standing(ANN, RED)],
        [a_standing(ANN, RED), a_standing(ANN, BLUE)],
        [a_standing(ANN, RED), a_standing(BEN, RED)],
        [a_standing(ANN, RED, valid_to=START), a_standing(BEN, BLUE, valid_from=START)],
        [],
    ],
    ids=["one side", "one owner", "one object", "one after the other", "nothing"],
)
def test_what_is_no_conflict_opens_nothing(sides: list[Standing]) -> None:
    """One object, one author, or times that do not meet."""

    assert Review("nothing") == review(None, sides)


def test_only_those_who_take_part_become_positions() -> None:
    """What had ended before the other side began is left out."""

    old = a_standing(ANN, GREEN, valid_to=START)
    found = review(None, [old, a_standing(ANN, RED, valid_from=START), a_standing(BEN, BLUE, valid_from=START)])

    assert {RED, BLUE} == set(found.targets)


def test_a_later_supporter_joins() -> None:
    """Of a position that stands, and of one that is new."""

    sides = [a_standing(ANN, RED), a_standing(BEN, BLUE)]
    case = a_case(review(None, sides))
    same, other = a_standing(CAT, RED, at=5), a_standing(CAT, GREEN, at=5)

    assert [Review("change", (), (same,)), Review("change", (GREEN,), (other,))] == [review(case, [*sides, same]), review(case, [*sides, other])]


def test_a_write_that_changes_nothing_makes_no_version() -> None:
    """The same statements give the same case."""

    sides = [a_standing(ANN, RED), a_standing(BEN, BLUE)]

    assert Review("nothing") == review(a_case(review(None, sides)), sides)


def test_a_side_that_goes_ends_the_case() -> None:
    """The other one then stands alone, as it would have without the case."""

    sides = [a_standing(ANN, RED), a_standing(BEN, BLUE)]
    case = a_case(review(None, sides))

    assert Review("dismiss", left=(sides[1].support_id,)) == review(case, sides[:1])


def test_a_supporter_that_goes_leaves_while_the_others_stand() -> None:
    """Its position stays with the rest."""

    sides = [a_standing(ANN, RED), a_standing(BEN, BLUE), a_standing(CAT, BLUE)]
    case = a_case(review(None, sides))

    assert Review("change", left=(sides[2].support_id,)) == review(case, sides[:2])


def test_what_a_person_let_stand_is_not_asked_again() -> None:
    """Until another object comes; and that pair alone is new."""

    sides = [a_standing(ANN, RED), a_standing(BEN, BLUE)]
    third = a_standing(CAT, GREEN)
    settled = [frozenset((RED, BLUE))]

    assert (Review("nothing"), {RED, BLUE, GREEN}) == (review(None, sides, settled), contested([*sides, third], settled))


def test_positions_beyond_ten_are_stated() -> None:
    """The earliest ten are kept, and the case says that there are more."""

    sides = [a_standing(UUID(int=100 + number), Target(UUID(int=200 + number)), at=number) for number in range(12)]
    found = review(None, sides)

    assert ([item.target for item in sides[:10]], True, 10) == (list(found.targets), found.positions_truncated, len(found.joined))
    assert Review("nothing") == review(a_case(found), sides)


def test_the_time_is_that_of_the_statement_else_of_its_acceptance() -> None:
    """With what it was taken from."""

    plain = a_standing(ANN, RED, at=3)
    dated = replace(plain, valid_from=START)

    assert [(plain.accepted_at, "recorded_at"), (START, "valid_from")] == [(item.effective_at, item.effective_time_basis) for item in (plain, dated)]


def test_a_question_is_the_same_for_the_same_scope_and_bounded() -> None:
    """Whatever the names."""

    scoped = ConflictScope(SCOPE.subject_entity_id, "primary_database", "-", "s" * 256)

    assert "What is the current primary database of Orion?" == SCOPE.question("Orion")
    assert 512 == len(ConflictScope(SCOPE.subject_entity_id, "p" * 128, "+", "s" * 256).question("n" * 256))
    assert scoped.question("Orion").startswith("What is not the current primary database of Orion (sss")


def test_a_scope_has_a_key_of_its_own() -> None:
    """Every slot counts."""

    others = [
        replace(SCOPE, subject_entity_id=UUID(int=8)),
        replace(SCOPE, predicate_key="uses"),
        replace(SCOPE, polarity="-"),
        replace(SCOPE, scope_key="x"),
    ]

    assert 5 == len({item.semantic_scope_key for item in [SCOPE, *others]})
    assert SCOPE.semantic_scope_key == replace(SCOPE).semantic_scope_key
