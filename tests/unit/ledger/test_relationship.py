"""The identity of statements."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from commonlore.domain.ledger.relationship import STATUS_OF_VERDICT, Statement

ONES, TWOS = UUID("11111111-1111-1111-1111-111111111111"), UUID("22222222-2222-2222-2222-222222222222")
PLAIN = Statement(ONES, "works_on", TWOS, None, "+", None, None)
JULY = datetime(2026, 7, 1, tzinfo=UTC)


def test_the_group_key_is_that_of_the_page() -> None:
    """The two vectors of dense-mem 4."""
    scoped = replace(PLAIN, scope_key="dense-mem project", valid_from=JULY)

    assert "sg:d3edf59c2e8cd6bfd4b5c7af304e2627376c600638ea8f6a9bd78776aaf00726" == PLAIN.semantic_group_key
    assert "sg:6cce220874dc490450002612cc66d08c419af9a3d50820da9ba11a7c5c882f87" == scoped.semantic_group_key


@pytest.mark.parametrize(
    "change",
    [
        {"subject_entity_id": TWOS},
        {"predicate_key": "uses"},
        {"object_entity_id": None, "object_value_id": TWOS},
        {"polarity": "-"},
        {"scope_key": "x"},
        {"valid_from": JULY},
    ],
)
def test_every_slot_counts(change: dict[str, object]) -> None:
    """An entity and a value of one id are two objects."""
    assert PLAIN.semantic_group_key != replace(PLAIN, **change).semantic_group_key  # type: ignore[arg-type]


def test_one_instant_in_two_zones_is_one_key() -> None:
    elsewhere = JULY.astimezone(timezone(timedelta(hours=9)))

    assert replace(PLAIN, valid_from=JULY).semantic_group_key == replace(PLAIN, valid_from=elsewhere).semantic_group_key


def test_the_current_scope_leaves_the_object_out() -> None:
    assert PLAIN.current_scope == replace(PLAIN, object_entity_id=None, object_value_id=ONES).current_scope
    assert PLAIN.current_scope != replace(PLAIN, scope_key="x").current_scope


def test_verdicts_lead_to_their_status() -> None:
    assert {"entailed": "active", "insufficient": "pending_evidence", "contradicted": "rejected"} == STATUS_OF_VERDICT
