"""The conflict lane: what it asks, in which order it answers, and what it says of its bound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from commonlore.domain.conflict.view import CaseRow, Event, Object, Quote, Support
from commonlore.domain.degradation import Degradation
from commonlore.domain.ids import new_id
from commonlore.domain.recall.conflict_lane import CONFLICTS_SHOWN, fill_conflict_lane
from commonlore.domain.recall.result import EvidenceItem
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import TemporalView

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
SPACE = Space(UUID(int=7), "team_shared")


class Snapshot:
    """Cases given beforehand, and how often they were asked for."""

    def __init__(self, rows: Sequence[CaseRow]) -> None:
        self.rows = rows
        self.asked = 0

    async def read_conflicts(self, *_: object, **__: object) -> list[tuple[Space, CaseRow]]:
        self.asked += 1
        return [(SPACE, row) for row in self.rows]


def a_state(snapshot: Snapshot, *, has_conflicts: bool = True) -> RecallState:
    plan = SimpleNamespace(spaces=(SimpleNamespace(space=SPACE, has_conflicts=has_conflicts),))
    return cast(RecallState, SimpleNamespace(snapshot=snapshot, plan=plan, intent=SimpleNamespace(view=TemporalView()), degradations=set()))


def results(*ids: UUID) -> list[EvidenceItem]:
    return [cast(EvidenceItem, SimpleNamespace(evidence_id=key)) for key in ids]


def a_case(evidence_id: UUID, *events: Event) -> CaseRow:
    """Two sides; the text is a support of the first."""
    sides = [new_id(), new_id()]
    supports = [
        Support(
            position_id=side,
            relationship_id=new_id(),
            profile_id=new_id(),
            profile_name="n",
            evidence_id=evidence_id if place == 0 else new_id(),
            authority="unknown",
            accepted_at=NOON,
            effective_at=NOON,
        )
        for place, side in enumerate(sides)
    ]
    opened = Event(action="opened", version=1, reason="written", known_from=NOON)
    return CaseRow(
        conflict_id=new_id(),
        kind="cross_profile_current_state",
        question="Which?",
        review_due_at=NOON,
        known_from=NOON,
        version=1,
        events=[opened, *events],
        positions=[Object(position_id=side, entity_id=new_id(), name="n") for side in sides],
        supports=supports,
    )


def a_text_case(evidence_id: UUID) -> CaseRow:
    fields: dict[str, Any] = {"quote": "q", "span_start": 0, "span_end": 1, "authority": "unknown", "submitted": True, "owner_profile_id": new_id()}
    return CaseRow(
        conflict_id=new_id(),
        kind="evidence_conflict",
        question="Which?",
        review_due_at=NOON,
        known_from=NOON,
        version=1,
        events=[Event(action="opened", version=1, reason="written", known_from=NOON)],
        quotes=[Quote(position_id=new_id(), evidence_id=key, **fields) for key in (evidence_id, new_id())],
    )


async def test_nothing_is_asked_where_no_space_has_a_case() -> None:
    """Nor where nothing was found."""

    snapshot = Snapshot([])
    await fill_conflict_lane(a_state(snapshot, has_conflicts=False), results(new_id()))
    await fill_conflict_lane(a_state(snapshot), [])

    assert 0 == snapshot.asked


async def test_statements_come_first_then_the_undecided_then_by_rank() -> None:
    """Whatever the order of the rows."""

    first, second = new_id(), new_id()
    decided = Event(action="resolved", version=2, reason="r", known_from=NOON, position_id=new_id(), effective_at=NOON)
    texts, late, early, closed = a_text_case(first), a_case(second), a_case(first), a_case(first, decided)
    lane = await fill_conflict_lane(a_state(Snapshot([texts, closed, late, early])), results(first, second))

    assert [row.conflict_id for row in (early, late, closed, texts)] == [item.conflict_id for item in lane]


async def test_more_cases_than_are_shown_are_stated() -> None:
    """Twenty, and the degradation; exactly twenty are no loss."""

    key = new_id()
    full, more = (
        a_state(Snapshot([a_case(key) for _ in range(CONFLICTS_SHOWN)])),
        a_state(Snapshot([a_case(key) for _ in range(CONFLICTS_SHOWN + 1)])),
    )
    shown = [len(await fill_conflict_lane(state, results(key))) for state in (full, more)]

    assert ([20, 20], set(), {Degradation("conflicts", "conflict_bound_reached")}) == (shown, full.degradations, more.degradations)
