"""The hypothesis lane over rows in memory: order, bounds, what it leaves out and what it asks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from commonlore.domain.degradation import Degradation
from commonlore.domain.hypothesis.wording import Said
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.hypothesis import HypothesisRow, Touched
from commonlore.domain.recall.hypothesis_lane import HYPOTHESES_SHOWN, fill_hypothesis_lane
from commonlore.domain.recall.plan import parse_intent
from commonlore.domain.recall.record import Recorder
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import EntityRef, RelationshipItem
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space

PRIVATE, SHARED = Space(UUID(int=1), "credential_private"), Space(UUID(int=2), "team_shared")
NOW = datetime(2026, 7, 1, tzinfo=UTC)


def a_row(number: int, nearness: tuple[int, int] = (0, 1), likelihood: int = 500, age: int = 0) -> HypothesisRow:
    return HypothesisRow(
        nearness, UUID(int=number), UUID(int=100 + number), "uses", UUID(int=200 + number), Said(f"S{number}", "uses", "O"), "proposed", likelihood,
        0, (UUID(int=300), UUID(int=301)), (UUID(int=302),), "v", NOW, NOW - timedelta(days=age),
    )  # fmt: skip


class Snapshot:
    def __init__(self, rows: dict[Space, list[HypothesisRow] | None]) -> None:
        self.rows, self.asked = rows, list[tuple[Space, Touched, int]]()

    async def read_hypotheses(self, space: Space, touched: Touched, *, most: int) -> list[HypothesisRow] | None:
        self.asked.append((space, touched, most))
        return self.rows[space]


def a_state(snapshot: Snapshot, *, without: tuple[Space, ...] = (), **request: Any) -> RecallState:
    asked = RecallRequest(query="Who uses Redis?", **request)
    plans = [SimpleNamespace(space=space, has_hypotheses=space not in without) for space in (PRIVATE, SHARED)]
    plan: Any = SimpleNamespace(spaces=plans)
    return RecallState(snapshot, asked, parse_intent(asked), RankingPolicy(), None, plan, Recorder(lambda: 0.0))  # type: ignore[arg-type]


def a_relationship(number: int) -> RelationshipItem:
    return RelationshipItem(
        relationship_id=UUID(int=number), equivalent_relationship_ids=[], subject=EntityRef(entity_id=UUID(int=number + 1), name="a"), predicate="p",
        object=EntityRef(entity_id=UUID(int=number + 2), name="b"), polarity="+", evidence_ids=[], search_state="current", space_kind="team_shared",
    )  # fmt: skip


async def shown(state: RecallState, relationships: tuple[RelationshipItem, ...] = ()) -> list[int]:
    return [item.hypothesis_id.int for item in await fill_hypothesis_lane(state, relationships, [])]


async def test_the_order_is_class_place_space_likelihood_age_id() -> None:
    shared = [a_row(1, (0, 2)), a_row(2, (1, 1)), a_row(3, (1, 1), 600), a_row(4, (1, 1), 500, age=1), a_row(6, (0, 1))]
    private = [a_row(5, (0, 2))]

    assert [6, 5, 1, 3, 2] == await shown(a_state(Snapshot({SHARED: shared, PRIVATE: private})))
    again = a_state(Snapshot({SHARED: [a_row(9, age=1), a_row(8), a_row(7)], PRIVATE: []}))
    assert [7, 8, 9] == await shown(again)


async def test_at_most_five_over_all_spaces_with_ranks() -> None:
    rows: dict[Space, list[HypothesisRow] | None] = {
        PRIVATE: [a_row(number) for number in range(1, 5)],
        SHARED: [a_row(number) for number in range(5, 9)],
    }
    lane = await fill_hypothesis_lane(a_state(Snapshot(rows)), [], [])

    assert ([1, 2, 3, 4, 5], ["private"] * 4 + ["team_shared"]) == ([item.rank for item in lane], [item.space_kind for item in lane])
    assert 5 == HYPOTHESES_SHOWN


async def test_what_another_lane_covers_is_not_said_again() -> None:
    row = a_row(1)
    state = a_state(Snapshot({PRIVATE: [], SHARED: [row, a_row(2)]}))
    state.covered.add(Statement(row.subject_entity_id, "uses", row.object_entity_id, None, "+", None, None).semantic_group_key)

    assert [2] == await shown(state)


async def test_what_is_asked_is_what_the_answer_holds_the_nearest_first() -> None:
    """Groups of the results by their rank, then what is covered and not nested; entities that were asked for before those that are shown."""
    snapshot = Snapshot({PRIVATE: [], SHARED: []})
    state = a_state(snapshot, without=(PRIVATE,), expand_from_entity_ids=[UUID(int=50)])
    state.said.update({"sg:b": 0, "sg:a": 1})
    state.covered |= {"sg:a", "sg:b", "sg:known", "sg:nested"}
    state.nested.add("sg:nested")
    await shown(state, (a_relationship(10),))
    [(space, touched, most)] = snapshot.asked

    assert (SHARED, ["sg:b", "sg:a", "sg:known"], 5) == (space, touched.group_keys, most)
    assert ([UUID(int=10)], [UUID(int=50), UUID(int=11), UUID(int=12)]) == (touched.relationship_ids, touched.entity_ids)
    assert list(state.intent.terms) == touched.terms and touched.terms


async def test_nothing_is_asked_where_there_is_nothing() -> None:
    snapshot = Snapshot({})
    for state in (a_state(snapshot, without=(PRIVATE, SHARED)), a_state(snapshot, without=(PRIVATE, SHARED), valid_at="2026-01-01T00:00:00Z")):
        assert ([], set()) == (await shown(state), state.degradations)
    assert [] == snapshot.asked


async def test_another_time_and_a_space_that_cannot_be_read_are_stated() -> None:
    past = a_state(Snapshot({}), known_at="2026-01-01T00:00:00Z")
    broken = a_state(Snapshot({PRIVATE: None, SHARED: [a_row(1)]}))

    assert ([], {Degradation("hypotheses", "hypothesis_temporal_not_supported")}) == (await shown(past), past.degradations)
    assert ([1], {Degradation("hypotheses", "related_hypotheses_unavailable")}) == (await shown(broken), broken.degradations)
