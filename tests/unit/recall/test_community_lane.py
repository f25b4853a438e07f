"""The seven steps of the ranking page over a snapshot in memory: seeds, ranks, members, drops and what remains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from commonlore.domain.community.gate import CommunityGate
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.community import CommunityRow, CommunitySeeds, SeededGroup
from commonlore.domain.recall.community_lane import fill_community_lane, rank_communities
from commonlore.domain.recall.plan import parse_intent
from commonlore.domain.recall.record import Recorder
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import CommunityItem, EntityRef, RelationshipRow
from commonlore.domain.recall.snapshot import Fetched, RelationshipBranches
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space

SHARED, PRIVATE = Space(UUID(int=2), "team_shared"), Space(UUID(int=1), "credential_private")
NOW = datetime(2026, 7, 1, tzinfo=UTC)
GATE = CommunityGate(UUID(int=9), NOW, "completed", None)
E = EntityRef(entity_id=UUID(int=5), name="Atlas")


class Snapshot:
    """Communities by their number, as groups in the order of their places; `gone` groups have no eligible relationship."""

    def __init__(self, *communities: str, gone: str = "", broken: str = "") -> None:
        self.communities = {number: list(groups) for number, groups in enumerate(communities, start=1)}
        self.gone, self.broken, self.calls = set(gone), broken, []  # type: ignore[var-annotated]

    async def read_seeded(self, space: Space, snapshot_id: UUID, seeds: CommunitySeeds) -> list[SeededGroup] | None:
        self.calls.append("read_seeded")
        if self.broken == "read_seeded":
            return None
        return [
            SeededGroup("group", place, key, number, UUID(int=100 + number))
            for place, key in enumerate(seeds.group_keys, start=1)
            for number, groups in self.communities.items()
            if key in groups
        ]

    async def read_communities(
        self, space: Space, snapshot_id: UUID, numbers: Sequence[int], *, without: Sequence[str], most: int
    ) -> list[CommunityRow] | None:
        self.calls.append("read_communities")
        if self.broken == "read_communities":
            return None
        return [
            _row(number, [key for key in self.communities[number] if key not in without and key not in self.gone][:most]) for number in numbers[::-1]
        ]

    async def hydrate_groups(self, intent: Any, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        return {key: [_relationship(key)] for keys in wanted.values() for key in keys if key not in self.gone}


def _row(number: int, keys: Sequence[str]) -> CommunityRow:
    return CommunityRow(number, UUID(int=200 + number), UUID(int=100 + number), (E,), ("p",), ("Quoted.",), 3, 4, tuple(keys))


def _relationship(key: str) -> RelationshipRow:
    return RelationshipRow(UUID(int=ord(key)), key, NOW, E, "p", E, "+", None, None, None, (UUID(int=7),), "current")


def a_state(snapshot: Snapshot, *, said: str = "", covered: str = "", gates: Any = None, **request: Any) -> RecallState:
    asked = RecallRequest(query="q", **request)
    plans = [SimpleNamespace(space=space, communities=gate) for space, gate in (gates or [(SHARED, GATE)])]
    state = RecallState(
        snapshot,  # type: ignore[arg-type]
        asked,
        parse_intent(asked),
        RankingPolicy(),
        None,  # type: ignore[arg-type]
        SimpleNamespace(spaces=plans),  # type: ignore[arg-type]
        Recorder(lambda: 0.0),
    )
    state.said.update({key: rank for rank, key in enumerate(said)})
    state.covered |= {*said, *covered}
    return state


def found(candidates: str, space: Space = SHARED) -> dict[UUID, Fetched]:
    hits = [(UUID(int=ord(key)), key, NOW) for key in candidates]
    return {space.space_id: Fetched(None, RelationshipBranches(lexical=hits))}  # type: ignore[arg-type]


async def fill(state: RecallState, candidates: str = "") -> list[CommunityItem]:
    return await fill_community_lane(state, found(candidates))


def shown(lane: Sequence[CommunityItem]) -> list[str]:
    """The groups of each community, as one word each."""
    return ["".join(chr(item.relationship_id.int) for item in community.relationships) for community in lane]


async def test_seed_lanes_come_before_ranks_and_ranks_before_counts() -> None:
    """Returned evidence, then what matches the query; in a lane the best seed, then more seeds, then the logical id."""
    snapshot = Snapshot("abc", "def", "ghij", "klm")

    assert ["ef", "bc", "ghij", "lkm"] == shown(await fill(a_state(snapshot, said="da", community_limit=10), "ghlk"))


async def test_more_seeds_break_a_tie_of_ranks_and_the_logical_id_breaks_the_rest() -> None:
    rows = [
        [SeededGroup("known_evidence", 1, "a", 1, UUID(int=3)), SeededGroup("known_evidence", 1, "b", 2, UUID(int=2))],
        [
            SeededGroup("known_evidence", 1, "c", 1, UUID(int=1)),
            SeededGroup("known_evidence", 1, "d", 2, UUID(int=0)),
            SeededGroup("entity", 9, "e", 2, UUID(int=0)),
        ],
    ]
    ranked = rank_communities(rows, said={}, candidates=[], known_evidence=1)

    assert [(1, 2), (0, 2), (0, 1), (1, 1)] == [(item.space_place, item.community_no) for item in ranked]


def test_known_relationships_come_after_known_evidence_and_entities_after_candidates() -> None:
    rows = [
        [
            SeededGroup("entity", 1, "x", 1, UUID(int=1)),
            SeededGroup("group", 1, "c", 2, UUID(int=2)),
            SeededGroup("known_relationship", 1, "y", 3, UUID(int=3)),
            SeededGroup("known_evidence", 2, "z", 4, UUID(int=4)),
            SeededGroup("known_evidence", 1, "r", 5, UUID(int=5)),
        ]
    ]
    ranked = rank_communities(rows, said={"r": 9}, candidates=[(SHARED, "b"), (SHARED, "c")], known_evidence=2)

    assert [5, 4, 3, 2, 1] == [item.community_no for item in ranked]
    assert [(0, 9), (1, 1), (1, 2), (2, 1), (2, 2)] == [(item.lane, item.best_rank) for item in ranked]


async def test_members_are_ordered_by_direct_match_then_place() -> None:
    assert ["cabd"] == shown(await fill(a_state(Snapshot("abcd")), "c"))


async def test_a_community_with_nothing_new_is_dropped_and_the_next_one_takes_its_place() -> None:
    """Covered whole, or with members that no longer count: the lane goes on until it is full or nothing is left."""
    state = a_state(Snapshot("ab", "cd", "ef", "gh", gone="d"), said="abceg", community_limit=1)
    lane = await fill(state)

    assert ([1], ["f"]) == ([item.rank for item in lane], shown(lane))
    assert {"f"} == state.nested and "f" in state.covered


async def test_limits_cut_and_say_so() -> None:
    state = a_state(Snapshot("abcdef", "ghi"), said="ag", community_limit=2, community_relationship_limit=2)
    lane = await fill(state)

    assert (["bc", "hi"], [True, False]) == (shown(lane), [item.relationships_truncated for item in lane])
    assert set("bchi") == state.nested


async def test_what_is_nested_is_covered_and_what_is_cut_is_not() -> None:
    """The direct lane takes what a community was not allowed to show."""
    state = a_state(Snapshot("abcd"), said="a", community_relationship_limit=1)
    await fill(state, "bc")

    assert {"a", "b"} == state.covered


async def test_off_asks_nothing() -> None:
    """A limit of 0, no gate, another time, nothing published: not one question, and only what has to be said."""
    later = "2026-08-01T00:00:00Z"
    for state, said in (
        (a_state(Snapshot("ab"), said="a", community_limit=0), set()),
        (a_state(Snapshot("ab"), said="a", community_limit=0, valid_at=later), set()),
        (a_state(Snapshot("ab"), said="a", gates=[(SHARED, None)]), set()),
        (a_state(Snapshot("ab"), said="a", gates=[(SHARED, None)], known_at=later), set()),
        (a_state(Snapshot("ab"), said="a", known_at=later), {"community_temporal_not_supported"}),
        (a_state(Snapshot("ab"), said="a", gates=[(SHARED, CommunityGate(None, None, None, None))]), {"community_snapshot_unavailable"}),
    ):
        assert [] == await fill(state)
        assert (said, []) == ({item.code for item in state.degradations}, state.snapshot.calls)  # type: ignore[attr-defined]


async def test_the_last_good_snapshot_is_served_whatever_became_of_the_run() -> None:
    for status, stale, codes in (
        ("failed", None, {"community_detection_failed"}),
        ("too_large", None, {"community_graph_too_large"}),
        ("running", None, set()),
        ("completed", NOW, {"community_snapshot_stale"}),
    ):
        state = a_state(Snapshot("ab"), said="a", gates=[(SHARED, CommunityGate(UUID(int=9), NOW, status, stale))])  # type: ignore[arg-type]

        assert (["b"], codes) == (shown(await fill(state)), {item.code for item in state.degradations})


async def test_a_snapshot_that_cannot_be_read_leaves_the_other_lanes() -> None:
    for broken in ("read_seeded", "read_communities"):
        state = a_state(Snapshot("ab", broken=broken), said="a")

        assert ([], {"community_discovery_unavailable"}) == (await fill(state), {item.code for item in state.degradations})


async def test_spaces_have_communities_of_their_own_and_private_ones_win_ties() -> None:
    state = a_state(Snapshot("ab"), said="a", gates=[(PRIVATE, GATE), (SHARED, GATE)], community_limit=10)
    lane = await fill_community_lane(state, found("") | found("", PRIVATE))

    assert ["private", "team_shared"] == [item.space_kind for item in lane]
