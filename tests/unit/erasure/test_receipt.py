"""Receipts: one canonical form, a signature that any change breaks, and no id or word of what was erased."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from commonlore.db.erasure.hiding import fragments_of
from commonlore.db.erasure.signing import FILE, is_signed, receipt_key
from commonlore.domain.erasure.preview import Counted, added, target_sha256
from commonlore.domain.erasure.receipt import CarryingExport, Receipt, render, sign, signed_parts
from commonlore.domain.erasure.request import require_state, require_typed
from commonlore.domain.errors import Conflict, Incorrect, OperatorError

TEAM, TARGET, OTHER = (UUID(int=number) for number in (1, 2, 3))
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def a_receipt(**fields: Any) -> Receipt:
    plain: dict[str, Any] = {
        "erasure_id": OTHER,
        "team_id": TEAM,
        "target_kind": "evidence",
        "target_sha256": target_sha256(TEAM, "evidence", TARGET),
        "reason": "asked for",
        "actor_profile_id": OTHER,
        "actor_credential_id": OTHER,
        "requested_at": NOW,
        "finished_at": NOW,
        "deleted": {"evidence": 1, "a_table": 2},
        "left": {},
        "tables": 50,
        "samples": 3,
        "unclassified": (),
        "exports": (CarryingExport(OTHER, "backup", NOW, "found"),),
    }
    return Receipt(**{**plain, **fields})


def holds(document: dict[str, Any]) -> bool:
    parts = signed_parts(document)
    return parts is not None and is_signed(*parts)


def test_a_receipt_holds_until_anything_of_it_is_changed(tmp_path: Path) -> None:
    """Written as JSON and read again, in whatever order and layout."""
    signed = sign(render(a_receipt()), receipt_key(tmp_path))
    again = json.loads(json.dumps(signed, indent=3))

    assert holds(signed) and holds(dict(reversed(again.items())))
    for change in ({"reason": "another"}, {"complete": False}, {"deleted_rows": {"evidence": 2}}, {"more": 1}, {"format": 2}):
        assert not holds({**again, **change}), change
    assert not holds({**again, "signature": {**again["signature"], "value": again["signature"]["public_key"]}})
    assert signed_parts({**again, "signature": {**again["signature"], "value": "no base64"}}) is None
    assert signed_parts({}) is None


def test_a_receipt_has_no_id_of_what_was_erased() -> None:
    assert str(TARGET) not in str(render(a_receipt()))
    assert target_sha256(TEAM, "evidence", TARGET).hex() == render(a_receipt())["target_sha256"]


@pytest.mark.parametrize(("fields", "complete"), [({}, True), ({"left": {"evidence": 1}}, False), ({"unclassified": ("new",)}, False)])
def test_what_is_left_or_not_classified_is_no_complete_erasure(fields: dict[str, Any], complete: bool) -> None:
    assert complete == render(a_receipt(**fields))["complete"]


def test_the_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    first, second = receipt_key(tmp_path), receipt_key(tmp_path)

    assert first.public_key == second.public_key
    assert 0o600 == (tmp_path / FILE).stat().st_mode & 0o777
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(OperatorError, match="0600"):
        receipt_key(tmp_path)
    (tmp_path / FILE).chmod(0o600)
    (tmp_path / FILE).write_bytes(b"short")
    with pytest.raises(OperatorError, match="32 bytes"):
        receipt_key(tmp_path)


def counted(**fields: Any) -> Counted:
    plain: dict[str, Any] = {
        "target_kind": "evidence",
        "target_id": TARGET,
        "typed": str(TARGET),
        "counts": {"evidence": 1},
        "ids": frozenset((TARGET,)),
        "epochs": (1,),
    }
    return Counted(**{**plain, **fields})


def test_a_token_holds_for_one_state() -> None:
    """Tables without rows are no part of it, nor is the order in which anything was found."""
    same = counted(counts={"entity": 0, "evidence": 1}, epochs=(1,))

    assert counted().token == same.token
    for change in (
        {"counts": {"evidence": 2}},
        {"ids": frozenset((OTHER,))},
        {"epochs": (2,)},
        {"target_id": OTHER},
        {"target_kind": "source"},
        {"copies": (OTHER,)},
    ):
        assert counted().token != counted(**change).token, change
    require_state(same.token, counted().token)
    with pytest.raises(Conflict) as refused:
        require_state("0" * 64, counted().token)
    assert "stale_input" == refused.value.code


def test_what_is_typed_is_compared_exactly() -> None:
    require_typed("atlas", "atlas", "team")
    for typed in ("Atlas", "atlas ", ""):
        with pytest.raises(Incorrect):
            require_typed(typed, "atlas", "team")


def test_counts_are_added_by_table() -> None:
    assert {"a": 3, "b": 1} == added([{"b": 1, "a": 1}, {"a": 2, "c": 0}])


def test_fragments_stand_the_same_in_text_and_in_json() -> None:
    """Neither quotation marks nor line breaks; a short text is one itself, and what shows too little is none."""
    text = 'He said "no".\n' + "The quixotic zanzibar ledger belongs to somebody else, and more follows here."

    assert [] != fragments_of(text)
    assert all(fragment in text and fragment in json.dumps(text) for fragment in fragments_of(text))
    assert ["short text"] == fragments_of(" short text ")
    assert [] == fragments_of("tiny") == fragments_of('a "b" c\nd')
