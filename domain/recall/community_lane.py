"""The community lane: communities that the answer already touches, each with relationships that nobody has said yet.

The steps of the ranking page, "Community Frontier": covered groups and ranked candidates come in; communities are seeded,
ranked, filled and dropped when they have nothing to add; what they show becomes covered, so that the direct lane shows
what remains. A summary has no search of its own, and nothing here changes evidence or the rank of a relationship.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.summary import compose
from commonlore.domain.degradation import Degradation
from commonlore.domain.recall.community import CommunityRow, CommunitySeeds, SeededGroup
from commonlore.domain.recall.relationship_lane import ranked_groups, relationship_item
from commonlore.domain.recall.result import CommunityItem, RelationshipItem, RelationshipRow
from commonlore.domain.recall.snapshot import Fetched
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space

# Lanes of seeds, the nearest to the question first.
RETURNED, KNOWN, CANDIDATE = 0, 1, 2
_POLICY = CommunityPolicy()


@dataclass(frozen=True, slots=True)
class Served:
    """A space whose published snapshot may be read."""

    space: Space
    snapshot_id: UUID
    published_at: datetime


@dataclass(frozen=True, slots=True)
class Ranked:
    """A community that was seeded, with the place of its space in the order of the spaces."""

    lane: int
    best_rank: int
    seeds: int
    space_place: int
    logical_community_id: UUID
    community_no: int

    @property
    def order(self) -> tuple[int, int, int, int, UUID]:
        """Seed lane, best rank in it, more matching seeds first, the space, the logical id: total."""
        return (self.lane, self.best_rank, -self.seeds, self.space_place, self.logical_community_id)


async def fill_community_lane(state: RecallState, fetched: Mapping[UUID, Fetched]) -> list[CommunityItem]:
    """At most `community_limit`, each with at most `community_relationship_limit` relationships that nobody has said yet.

    Asks nothing where no space has communities on, and nothing where nothing is published.
    """
    if state.request.community_limit == 0:
        return []
    gates = [(plan.space, plan.communities) for plan in state.plan.spaces if plan.communities is not None]
    if not gates:
        return []
    if not state.intent.view.is_present:
        state.degradations.add(Degradation("communities", "community_temporal_not_supported"))
        return []
    state.degradations.update(Degradation("communities", code) for _, gate in gates for code in gate.degradations())
    served = [Served(space, gate.snapshot_id, gate.published_at) for space, gate in gates if gate.snapshot_id and gate.published_at]
    if not served:
        return []
    candidates = _novel_candidates(state, fetched)
    with state.record.step("seed_communities"):
        seeded = await _seed(state, served, candidates)
    if seeded is None:
        state.degradations.add(Degradation("communities", "community_discovery_unavailable"))
        return []
    with state.record.step("rank_communities"):
        ranked = rank_communities(seeded, said=state.said, candidates=candidates, known_evidence=len(state.intent.known_evidence_ids))
    direct = _matching(seeded, candidates)
    lane: list[CommunityItem] = []
    place = 0
    while len(lane) < state.request.community_limit and place < len(ranked):
        batch = ranked[place : place + state.request.community_limit - len(lane)]
        place += len(batch)
        with state.record.step("fill_communities"):
            if not await _fill(state, served, batch, direct, lane):
                state.degradations.add(Degradation("communities", "community_discovery_unavailable"))
                break
    return lane


def _novel_candidates(state: RecallState, fetched: Mapping[UUID, Fetched]) -> list[tuple[Space, str]]:
    """Groups that match the query and that nobody has said, best first over all spaces."""
    if not state.intent.relationships_wanted:
        return []
    return [(space, group) for space, group in ranked_groups(state, fetched) if group not in state.covered]


async def _seed(state: RecallState, served: Sequence[Served], candidates: Sequence[tuple[Space, str]]) -> list[list[SeededGroup]] | None:
    """The seeds that lie in a community, by space; None where a snapshot could not be read."""
    intent, found = state.intent, []
    for space in served:
        keys = dict.fromkeys([*state.said, *(group for owner, group in candidates if owner == space.space)])
        seeds = CommunitySeeds(list(keys), intent.known_evidence_ids, intent.known_relationship_ids, intent.expand_from_entity_ids)
        rows = await state.snapshot.read_seeded(space.space, space.snapshot_id, seeds)
        if rows is None:
            return None
        found.append(rows)
    return found


def rank_communities(
    seeded: Sequence[Sequence[SeededGroup]], *, said: Mapping[str, int], candidates: Sequence[tuple[Space, str]], known_evidence: int
) -> list[Ranked]:
    """Communities of every space, best first. `said`: the rank of the result that says each group. Ranks count from 0.

    A group that is a seed in several ways counts in the nearest lane, and once among the matching seeds.
    """
    rank_of = {group: rank for rank, (_, group) in enumerate(candidates)}
    ranked = []
    for space_place, rows in enumerate(seeded):
        by_community: dict[int, list[SeededGroup]] = defaultdict(list)
        for row in rows:
            by_community[row.community_no].append(row)
        for number, members in by_community.items():
            lane, best = min(_place(row, said, rank_of, known_evidence) for row in members)
            matching = len({row.semantic_group_key for row in members})
            ranked.append(Ranked(lane, best, matching, space_place, members[0].logical_community_id, number))
    return sorted(ranked, key=lambda item: item.order)


def _place(row: SeededGroup, said: Mapping[str, int], rank_of: Mapping[str, int], known_evidence: int) -> tuple[int, int]:
    """The seed lane and the rank in it. Entities that were asked for come after the candidates."""
    if row.semantic_group_key in said:
        return RETURNED, said[row.semantic_group_key]
    if row.origin == "known_evidence":
        return KNOWN, row.place - 1
    if row.origin == "known_relationship":
        return KNOWN, known_evidence + row.place - 1
    if row.origin == "entity":
        return CANDIDATE, len(rank_of) + row.place - 1
    return CANDIDATE, rank_of[row.semantic_group_key]


async def _fill(
    state: RecallState, served: Sequence[Served], batch: Sequence[Ranked], direct: Mapping[tuple[int, int], Sequence[str]], lane: list[CommunityItem]
) -> bool:
    """Read the communities of the batch and append those that have something to say, in its order; False where they could not be read."""
    most = state.request.community_relationship_limit
    filled: dict[tuple[int, int], tuple[CommunityRow, list[str]]] = {}
    for place, space in enumerate(served):
        numbers = [item.community_no for item in batch if item.space_place == place]
        if numbers:
            matching = [key for number in numbers for key in direct.get((place, number), ())]
            rows = await state.snapshot.read_communities(
                space.space, space.snapshot_id, numbers, without=[*sorted(state.covered), *matching], most=most + 1
            )
            if rows is None:
                return False
            for row in rows:
                # The candidates have passed the filter of a narrowed recall, the other members have not met it.
                others = () if state.intent.filter.narrows_relationships else row.member_keys
                filled[place, row.community_no] = row, [*direct.get((place, row.community_no), ()), *others]
    wanted: dict[Space, list[str]] = defaultdict(list)
    for (place, _), (_, keys) in filled.items():
        wanted[served[place].space].extend(keys[:most])
    groups = await state.snapshot.hydrate_groups(state.intent, wanted) if any(wanted.values()) else {}
    for item in batch:
        row, keys = filled[item.space_place, item.community_no]
        relationships = _relationships(served[item.space_place].space, keys[:most], groups)
        if relationships:
            state.nested.update(key for key in keys[:most] if groups.get(key))
            lane.append(_item(row, served[item.space_place], len(lane) + 1, relationships, truncated=len(keys) > most))
    state.covered |= state.nested
    return True


def _matching(seeded: Sequence[Sequence[SeededGroup]], candidates: Sequence[tuple[Space, str]]) -> dict[tuple[int, int], list[str]]:
    """Members of each community that match the query and that nobody has said, best first; by the place of the space and the number."""
    rank_of = {group: rank for rank, (_, group) in enumerate(candidates)}
    found: dict[tuple[int, int], set[str]] = defaultdict(set)
    for place, rows in enumerate(seeded):
        for row in rows:
            if row.semantic_group_key in rank_of:
                found[place, row.community_no].add(row.semantic_group_key)
    return {key: sorted(groups, key=rank_of.__getitem__) for key, groups in found.items()}


def _relationships(space: Space, keys: Iterable[str], groups: Mapping[str, Sequence[RelationshipRow]]) -> list[RelationshipItem]:
    return [relationship_item(space, groups[key]) for key in keys if groups.get(key)]


def _item(row: CommunityRow, served: Served, rank: int, relationships: list[RelationshipItem], *, truncated: bool) -> CommunityItem:
    entities = list(row.entities[: _POLICY.shown_entities])
    space = served.space.name
    return CommunityItem(
        community_id=row.community_id,
        logical_community_id=row.logical_community_id,
        rank=rank,
        summary=compose(row.quotes, [entity.name for entity in entities], row.predicates, _POLICY),
        top_entities=entities,
        top_predicates=list(row.predicates),
        entity_count=row.entity_count,
        relationship_count=row.relationship_count,
        relationships=relationships,
        relationships_truncated=truncated,
        published_at=served.published_at,
        space_kind=served.space.public_kind,
        **({"space": space} if space is not None else {}),
    )
