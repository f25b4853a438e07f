"""Why a relationship does not count in a view, one reason at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from commonlore.domain.recall.eligibility import (
    Event,
    EvidenceHistory,
    RelationshipHistory,
    SupportHistory,
    Transition,
    is_effective,
    refuse,
    withdrawn_in,
)
from commonlore.domain.time import TemporalView
from tests.support.memory import START


def day(number: int) -> datetime:
    return START + timedelta(days=number)


NOW = TemporalView()
TEXT = EvidenceHistory(UUID(int=1), day(1))
SUPPORT = SupportHistory(day(1), (Event(day(1), "grant"),), TEXT)
PLAIN = RelationshipHistory(
    relationship_id=UUID(int=2),
    semantic_group_key="sg:a",
    owner_profile_id=UUID(int=3),
    owner_active=True,
    known_from=day(1),
    valid_from=None,
    valid_to=None,
    status="active",
    support_count=1,
    transitions=(Transition(1, day(1), "active", "verification:entailed"),),
    supports=(SUPPORT,),
)


def ended(reason: str, **fields: Any) -> RelationshipHistory:
    """Superseded on the third day, with the end of validity that it had by then."""
    last = Transition(2, day(3), "superseded", reason, fields.get("valid_to"))
    return replace(PLAIN, status="superseded", transitions=(*PLAIN.transitions, last), **fields)


def at(valid: int | None = None, known: int | None = None) -> TemporalView:
    return TemporalView(None if valid is None else day(valid), None if known is None else day(known))


@pytest.mark.parametrize(
    ("item", "view", "reason"),
    [
        (PLAIN, NOW, None),
        (replace(PLAIN, owner_active=False), NOW, "owner_inactive"),
        (replace(PLAIN, support_count=0), NOW, "unsupported"),
        (replace(PLAIN, is_alias=True), NOW, "merged"),
        (replace(PLAIN, is_alias=True), at(known=2), None),
        (PLAIN, at(known=1), None),
        (PLAIN, at(known=0), "not_yet_known"),
        (PLAIN, at(valid=0), None),
        *(
            (replace(PLAIN, status=status), NOW, status)
            for status in ("pending_evidence", "needs_review", "quarantined", "disputed", "retracted", "rejected")
        ),
        (replace(PLAIN, valid_from=day(2)), at(valid=1), "not_yet_valid"),
        (replace(PLAIN, valid_from=day(2)), at(valid=2), None),
        (replace(PLAIN, valid_to=day(2)), at(valid=1), None),
        (replace(PLAIN, valid_to=day(2)), at(valid=2), "no_longer_valid"),
        (replace(PLAIN, valid_to=day(2)), NOW, None),
        (ended("replaced"), NOW, "superseded"),
        (ended("replaced"), at(known=2), None),
        (ended("replaced"), at(known=3), "superseded"),
        (ended("replaced"), at(valid=2), None),
        (ended("replaced"), at(valid=3), "superseded"),
        (ended("replaced"), at(valid=0), "superseded"),
        (ended("replaced", valid_to=day(5)), at(valid=4), None),
        (ended("replaced", valid_to=day(5)), at(valid=4, known=4), None),
        (ended("replaced", valid_to=day(5)), at(known=4), "superseded"),
        (ended("replaced", valid_to=day(5)), at(valid=6, known=2), None),
        (ended("replaced", valid_to=day(5)), at(valid=6, known=3), "no_longer_valid"),
        (ended("corrected", is_corrected=True), NOW, "corrected"),
        (ended("corrected", is_corrected=True), at(valid=2), "corrected"),
        (ended("corrected", is_corrected=True), at(known=2), None),
        (ended("conflict_resolved", suppressed_from=day(2)), NOW, "suppressed"),
        (ended("conflict_resolved", suppressed_from=day(2)), at(valid=1), None),
        (ended("conflict_resolved", suppressed_from=day(2)), at(valid=2), "suppressed"),
        (ended("conflict_resolved", suppressed_from=day(2)), at(valid=2, known=2), None),
        (ended("conflict_resolved", suppressed_from=day(2)), at(valid=1, known=3), None),
        (ended("identity_moved"), at(known=4), "merged"),
        (replace(PLAIN, supports=()), at(known=2), "unsupported"),
    ],
)
def test_the_reason(item: RelationshipHistory, view: TemporalView, reason: str | None) -> None:
    assert reason == refuse(item, view)


def test_what_was_never_active_is_known_since_it_became_so() -> None:
    """Stated on the first day, carried by a text on the third: by valid time alone it counts for the second, known then it did not."""
    waiting = Transition(1, day(1), "pending_evidence", "verification:insufficient")
    item = replace(PLAIN, transitions=(waiting, Transition(2, day(3), "active", "reactivated")))

    assert (None, "pending_evidence") == (refuse(item, at(valid=2)), refuse(item, at(known=2)))


@pytest.mark.parametrize(
    ("text", "view", "reason"),
    [
        (replace(TEXT, ended=(Event(day(3), "retract"),)), at(known=2), None),
        (replace(TEXT, ended=(Event(day(3), "retract"),)), at(known=3), "retracted"),
        (replace(TEXT, ended=(Event(day(3), "supersede"),)), at(valid=2), None),
        (replace(TEXT, ended=(Event(day(3), "supersede"),)), at(valid=0), "superseded"),
        (replace(TEXT, security=(Event(day(2), "quarantine"), Event(day(3), "released"))), at(known=2), "quarantined"),
        (replace(TEXT, security=(Event(day(2), "quarantine"), Event(day(3), "released"))), at(known=3), None),
        (replace(TEXT, revised_from=day(3)), at(known=3), "source_revised"),
        (replace(TEXT, revised_from=day(3)), at(valid=2), None),
        (replace(TEXT, is_erased=True), at(known=1), "erased"),
    ],
)
def test_a_text_that_does_not_count_supports_nothing(text: EvidenceHistory, view: TemporalView, reason: str | None) -> None:
    assert (reason, reason is None) == (withdrawn_in(text, view), is_effective(replace(SUPPORT, evidence=text), view))


@pytest.mark.parametrize(
    ("view", "counts"), [(at(known=1), True), (at(known=2), False), (at(known=3), True), (at(valid=2), False), (at(valid=0), True)]
)
def test_the_last_decision_counts(view: TemporalView, counts: bool) -> None:
    decisions = (Event(day(1), "grant"), Event(day(2), "revoke"), Event(day(3), "reinstate"))

    assert counts == is_effective(replace(SUPPORT, decisions=decisions), view)
