"""From a patch to a statement, or the reason why it is none."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.domain.correct.amend import Ambiguous, Amended, Source, amend, prepare_patch
from commonlore.domain.correct.reasons import Rejected
from commonlore.domain.correct.request import CorrectionSelection, CorrectRequest
from commonlore.domain.errors import Incorrect
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.remember.resolve import KnownEntity, NameState
from commonlore.domain.remember.standing import Relationship

MARK, ATLAS = NamedEntity(UUID(int=1), "person", "Mark"), NamedEntity(UUID(int=2), "project", "Atlas")
APPLES = [NamedEntity(UUID(int=number), kind, "Apple") for number, kind in ((3, "person"), (4, "organization"))]
WORKS_ON = Predicate("works_on", subject_kinds=("person",))
SOURCE = Source(
    Relationship(UUID(int=9), Statement(MARK.entity_id, "works_on", ATLAS.entity_id, None, "+", "office", None), "active", 1, None, None),
    UUID(int=8), MARK, ATLAS, None, None, WORKS_ON, (),
)  # fmt: skip


def request(patch: dict[str, Any]) -> CorrectRequest:
    return msgspec.convert({"relationship_id": str(UUID(int=9)), "expected_version": 1, "patch": patch}, CorrectRequest)


def amended(patch: dict[str, Any], selection: CorrectionSelection | None = None) -> Amended | Ambiguous:
    entities = (MARK, ATLAS, *APPLES)
    names = NameState(predicates={"works_on": WORKS_ON, "old": Predicate("old", lifecycle_state="retired")})
    for item in entities:
        names.by_id[item.entity_id] = KnownEntity(item, (item.canonical_name,))
        names.by_key.setdefault(item.canonical_name.lower(), []).append(item)
    return amend(SOURCE, prepare_patch(request(patch)), names, selection)


@pytest.mark.parametrize(("patch", "scope"), [({"polarity": "-"}, "office"), ({"scope": None}, None), ({"scope": "home"}, "home")])
def test_what_is_left_out_stays_and_null_clears(patch: dict[str, Any], scope: str | None) -> None:
    found = amended(patch)

    assert isinstance(found, Amended)
    assert (scope, MARK, ATLAS) == (found.scope, found.subject, found.target)


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({}, "no_change"),
        ({"object_entity": {"name": "ATLAS", "entity_kind": "project"}}, "no_change"),
        ({"object_entity": {"name": "Nowhere"}}, "entity_not_found"),
        ({"object_entity": {"entity_id": str(UUID(int=77))}}, "entity_not_found"),
        ({"subject_entity": {"entity_id": str(ATLAS.entity_id)}}, "predicate_subject_kind_mismatch"),
        ({"predicate": {"key": "released"}}, "predicate_object_kind_mismatch"),
        ({"predicate": {"key": "old"}}, "predicate_not_found"),
        ({"predicate": {"key": "unheard"}}, "predicate_not_found"),
        ({"valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}, "validity_reversed"),
    ],
)
def test_a_patch_that_makes_no_statement_says_why(patch: dict[str, Any], code: str) -> None:
    with pytest.raises(Rejected) as caught:
        amended(patch)

    assert code == caught.value.code


def test_an_ambiguous_end_is_settled_by_a_candidate_only() -> None:
    patch = {"object_entity": {"name": "Apple"}}
    found = amended(patch)
    settled = amended(patch, CorrectionSelection(object_entity_id=APPLES[1].entity_id))

    assert Ambiguous((), tuple(APPLES)) == found
    assert isinstance(settled, Amended) and APPLES[1] == settled.target
    for chosen in (None, MARK.entity_id):
        with pytest.raises(Rejected) as caught:
            amended(patch, CorrectionSelection(object_entity_id=chosen))
        assert ("persistent_ambiguity", True) == (caught.value.code, caught.value.concludes)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"patch": {"object_entity": {"name": "x"}, "object_value": {"type": "number", "value": 1}}}, "/patch/object_value"),
        ({"patch": {"object_entity": {}}}, "/patch/object_entity"),
        ({"patch": {"object_entity": {"entity_id": str(UUID(int=1)), "create_if_missing": True}}}, "/patch/object_entity/create_if_missing"),
        ({"patch": {"valid_to": "yesterday"}}, "/patch/valid_to"),
        ({"patch": None}, "/patch"),
        ({"expected_version": None}, "/expected_version"),
        ({"confirmation_token": "x"}, "/confirmation_token"),
        ({"action": "confirm"}, "/submission_id"),
    ],
)
def test_a_request_that_is_wrong_names_its_field(fields: dict[str, Any], pointer: str) -> None:
    plain = {"relationship_id": str(UUID(int=9)), "expected_version": 1, "patch": {"polarity": "-"}}
    with pytest.raises(Incorrect) as caught:
        msgspec.convert({**plain, **fields}, CorrectRequest).validate()

    assert pointer == caught.value.problems[0].pointer
