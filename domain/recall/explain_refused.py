"""Explain, for relationships that matched and do not count: each with its reason, from its own rows and events.

Named only to the member that stated them and to keys with the scope `admin`; what rests on an erased text to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from commonlore.domain.recall.eligibility import RelationshipHistory, refuse
from commonlore.domain.recall.explanation import TraceGroup
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.reasons import RelationshipExclusion
from commonlore.domain.recall.snapshot import RelationshipBranches
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Actor, Space

# Of each space and branch.
MOST_REFUSED = 200


async def refused_groups(state: RecallState) -> list[TraceGroup]:
    """By space, then by the earliest id. A group that has a member which counts is told by that member alone."""
    if not state.intent.relationships_wanted:
        return []
    embedded = (await state.vector).under(state.plan.contract_key)
    hits = [hit for note in state.record.fetches for fetched in note.fetched.values() for hit in _hits(fetched.relationships)]
    known, counted = {hit[0] for hit in hits}, {hit[1] for hit in hits}
    shown: list[TraceGroup] = []
    for plan in state.plan.spaces:
        items = await state.snapshot.read_histories(state.intent, plan, embedded, known=known, most=MOST_REFUSED)
        shown += _groups(state, plan.space, (item for item in items if item.semantic_group_key not in counted))
    return shown


def _groups(state: RecallState, space: Space, items: Iterable[RelationshipHistory]) -> list[TraceGroup]:
    groups: dict[str, list[tuple[RelationshipHistory, RelationshipExclusion]]] = {}
    for item in items:
        reason = refuse(item, state.intent.view)
        if reason is not None and _may_be_named(item, state.snapshot.actor):
            groups.setdefault(item.semantic_group_key, []).append((item, reason))
    return [
        TraceGroup(
            relationship_id=str(members[0][0].relationship_id),
            equivalent_relationship_ids=[str(item.relationship_id) for item, _ in members[1:]],
            outcome=members[0][1],
            space_kind=space.public_kind,
            space=space.name if space.name is not None else UNSET,
        )
        for members in groups.values()
    ]


def _may_be_named(item: RelationshipHistory, actor: Actor) -> bool:
    rests_on_erased = any(support.evidence.is_erased for support in item.supports)
    return not rests_on_erased and ("admin" in actor.scopes or item.owner_profile_id == actor.profile_id)


def _hits(branches: RelationshipBranches) -> Iterable[RelationshipHit]:
    return (*branches.lexical, *branches.vector)
