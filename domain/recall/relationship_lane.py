"""The relationship lane: group, subtract what is covered, fall back to what remains, until the lane is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from commonlore.domain.degradation import Degradation
from commonlore.domain.recall.fusion import interleave
from commonlore.domain.recall.grouping import rank_groups
from commonlore.domain.recall.result import RelationshipItem, RelationshipRow
from commonlore.domain.recall.snapshot import Fetched
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space


async def cover_known(state: RecallState) -> None:
    """What the caller has counts as said, in every lane that follows."""
    with state.record.step("cover"):
        known = await state.snapshot.read_known(state.intent, [plan.space for plan in state.plan.spaces])
    state.covered |= known.groups


async def fill_relationship_lane(state: RecallState, fetched: dict[UUID, Fetched]) -> list[RelationshipItem]:
    """At most `relationship_limit` groups that neither the evidence lane, a community nor the caller has said.

    Looks deeper as the evidence lane does; what the lane holds by then keeps its place.
    """
    lane: list[RelationshipItem] = []
    considered: set[str] = set()
    depth = state.policy.depth_rows
    while True:
        await _fill(state, lane, considered, fetched)
        if len(lane) >= state.request.relationship_limit or not any(found.relationships.full for found in fetched.values()):
            break
        if depth >= state.policy.depth_cap_rows:
            state.degradations.add(Degradation("relationships", "relationship_bound_reached"))
            break
        depth = min(2 * depth, state.policy.depth_cap_rows)
        fetched = await state.fetch(depth, lane="relationships")
    if any(found.relationships.failed for found in fetched.values()):
        state.degradations.add(Degradation("relationships", "relationship_discovery_unavailable"))
    return lane


async def _fill(state: RecallState, lane: list[RelationshipItem], considered: set[str], fetched: dict[UUID, Fetched]) -> None:
    order = ranked_groups(state, fetched)
    with state.record.step("subtract"):
        novel = [(space, group) for space, group in order if group not in state.covered and group not in considered]
    place = 0
    while len(lane) < state.request.relationship_limit and place < len(novel):
        batch = novel[place : place + state.request.relationship_limit - len(lane)]
        place += len(batch)
        considered.update(group for _, group in batch)
        wanted: dict[Space, list[str]] = {}
        for space, group in batch:
            wanted.setdefault(space, []).append(group)
        with state.record.step("fall_back"):
            members = await state.snapshot.hydrate_groups(state.intent, wanted)
            lane.extend(relationship_item(space, members[group]) for space, group in batch if members.get(group))


def foresee_groups(state: RecallState, fetched: Mapping[UUID, Fetched]) -> dict[Space, list[str]]:
    """The groups that the lane will want, and half as many more: some of the first are said by the evidence."""
    if not state.intent.relationships_wanted:
        return {}
    likely: dict[Space, list[str]] = {}
    for space, group in ranked_groups(state, fetched)[: state.request.relationship_limit + state.request.relationship_limit // 2 + 1]:
        likely.setdefault(space, []).append(group)
    return likely


def ranked_groups(state: RecallState, fetched: Mapping[UUID, Fetched]) -> list[tuple[Space, str]]:
    """The semantic groups of all spaces, best first. What was ranked last is not ranked again."""
    if state.ranked is None or state.ranked[0] is not fetched:
        with state.record.step("group"):
            state.ranked = fetched, list(interleave(rank_relationships(state, fetched)))
    return state.ranked[1]


def rank_relationships(state: RecallState, fetched: Mapping[UUID, Fetched]) -> list[list[tuple[Space, str]]]:
    """The semantic groups of each space, best first, in the order of the spaces."""
    found = [(plan.space, fetched[plan.space.space_id].relationships) for plan in state.plan.spaces]
    return [[(space, group) for group in rank_groups(branches.lexical, branches.vector)] for space, branches in found]


def relationship_item(space: Space, members: Sequence[RelationshipRow]) -> RelationshipItem:
    """The earliest member speaks for the group; the others stay traceable by id."""
    first = members[0]
    fields = {"scope": first.scope, "valid_from": first.valid_from, "valid_to": first.valid_to, "space": space.name}
    return RelationshipItem(
        relationship_id=first.relationship_id,
        equivalent_relationship_ids=sorted(member.relationship_id for member in members[1:]),
        subject=first.subject,
        predicate=first.predicate,
        object=first.object,
        polarity=first.polarity,
        evidence_ids=sorted({key for member in members for key in member.evidence_ids}),
        search_state=first.search_state,
        space_kind=space.public_kind,
        **{name: value for name, value in fields.items() if value is not None},  # type: ignore[arg-type]
    )
