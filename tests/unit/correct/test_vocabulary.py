"""The next version of a predicate."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.domain.correct.vocabulary import DefinePredicateRequest, next_definition
from commonlore.domain.errors import Conflict, Incorrect
from commonlore.domain.ledger.predicate import Predicate

USES = Predicate("uses", version=2, aliases=("depends_on",))


def defined(key: str = "uses", version: int = 2, **fields: Any) -> Predicate:
    return next_definition(
        DefinePredicateRequest(key=key, expected_version=version, reason="a test", **fields), {"uses": USES, "likes": Predicate("likes")}
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"add_aliases": ["Needs It"]}, Predicate("uses", 3, ("depends_on", "needs_it"))),
        ({"subject_kinds": ["project", "project"]}, Predicate("uses", 3, ("depends_on",), subject_kinds=("project",))),
        ({"current_cardinality": "one"}, Predicate("uses", 3, ("depends_on",), current_cardinality="one")),
        ({"lifecycle_state": "retired"}, Predicate("uses", 3, ("depends_on",), lifecycle_state="retired")),
    ],
)
def test_what_is_left_out_stays(fields: dict[str, Any], expected: Predicate) -> None:
    assert expected == defined(**fields)


def test_a_seed_begins_as_the_seed() -> None:
    assert Predicate("released", 1, ("shipped", "came_out"), (), ("date", "date_time", "string"), "event") == defined(
        "released", 0, add_aliases=["came out"]
    )


def test_another_version_is_stale() -> None:
    for key, version in (("uses", 1), ("uses", 0), ("unheard", 1)):
        with pytest.raises(Conflict):
            defined(key, version)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "/key"),
        ({"add_aliases": ["ok", "likes"]}, "/add_aliases/1"),
        ({"add_aliases": ["uses"]}, "/add_aliases/0"),
        ({"add_aliases": ["7"]}, "/add_aliases/0"),
        ({"subject_kinds": ["number"]}, "/subject_kinds/0"),
        ({"object_kinds": ["number", "thing"]}, "/object_kinds/1"),
    ],
)
def test_what_no_definition_may_be(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Incorrect) as caught:
        defined(**fields)

    assert pointer == caught.value.problems[0].pointer
