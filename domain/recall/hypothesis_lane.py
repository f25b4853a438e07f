"""The hypothesis lane: what nobody said and what is said suggests, beside the answer and never in it.

It is filled when every other lane is. No hypothesis is evidence, changes a rank, or says what another lane says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from msgspec import UNSET

from commonlore.domain.degradation import Degradation
from commonlore.domain.hypothesis.result import HypothesisItem
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.recall.hypothesis import HypothesisRow, Touched
from commonlore.domain.recall.result import CommunityItem, EntityRef, RelationshipItem
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space

HYPOTHESES_SHOWN = 5


async def fill_hypothesis_lane(
    state: RecallState, relationships: Sequence[RelationshipItem], communities: Sequence[CommunityItem]
) -> list[HypothesisItem]:
    """At most `HYPOTHESES_SHOWN` of the present, the nearest first over all spaces.

    Asks nothing where no space has one. A recall that is narrowed by a filter has none, for no hypothesis can meet it.
    """
    spaces = [plan.space for plan in state.plan.spaces if plan.has_hypotheses]
    if not spaces or state.intent.filter.narrows_relationships or state.intent.filter.narrows_evidence:
        return []
    if not state.intent.view.is_present:
        state.degradations.add(Degradation("hypotheses", "hypothesis_temporal_not_supported"))
        return []
    touched = _touched(state, relationships, communities)
    found: list[tuple[int, Space, HypothesisRow]] = []
    for place, space in enumerate(spaces):
        with state.record.step("suggest"):
            rows = await state.snapshot.read_hypotheses(space, touched, most=HYPOTHESES_SHOWN)
        if rows is None:
            state.degradations.add(Degradation("hypotheses", "related_hypotheses_unavailable"))
            continue
        found += [(place, space, row) for row in rows if _group_key(row) not in state.covered]
    found.sort(key=_order)
    return [hypothesis_item(row, space, rank=rank) for rank, (_, space, row) in enumerate(found[:HYPOTHESES_SHOWN], start=1)]


def _order(found: tuple[int, Space, HypothesisRow]) -> tuple[int, int, int, int, float, UUID]:
    """Class, place in it, the space, the likeliest, the newest, the id: total, and that of each space's rows."""
    place, _, row = found
    return (*row.nearness, place, -row.likelihood, -row.updated_at.timestamp(), row.hypothesis_id)


def _touched(state: RecallState, relationships: Sequence[RelationshipItem], communities: Sequence[CommunityItem]) -> Touched:
    said = sorted(state.said, key=lambda key: (state.said[key], key))
    known = sorted(state.covered - state.said.keys() - state.nested)
    shown = [*relationships, *(item for community in communities for item in community.relationships)]
    return Touched(
        group_keys=[*said, *known],
        relationship_ids=[item.relationship_id for item in shown],
        entity_ids=list(dict.fromkeys((*state.intent.expand_from_entity_ids, *_entities(shown)))),
        terms=list(dict.fromkeys(state.intent.terms)),
    )


def _entities(relationships: Iterable[RelationshipItem]) -> Iterator[UUID]:
    for item in relationships:
        yield item.subject.entity_id
        if isinstance(item.object, EntityRef):
            yield item.object.entity_id


def _group_key(row: HypothesisRow) -> str:
    """The group that would say the hypothesis."""
    return Statement(row.subject_entity_id, row.predicate_key, row.object_entity_id, None, "+", row.said.scope, None).semantic_group_key


def hypothesis_item(row: HypothesisRow, space: Space, *, rank: int | None = None) -> HypothesisItem:
    return HypothesisItem(
        hypothesis_id=row.hypothesis_id,
        subject_entity_id=row.subject_entity_id,
        predicate_key=row.predicate_key,
        object_entity_id=row.object_entity_id,
        statement=row.said.sentence,
        status=row.status,
        likelihood=row.likelihood / 1000,
        confidence=row.confidence / 1000,
        source_relationship_ids=list(row.relationship_ids),
        source_evidence_ids=list(row.evidence_ids),
        lane="graph",
        generator_kind="deterministic",
        generator_version=row.generator_version,
        created_at=row.known_from,
        space_kind=space.public_kind,
        rank=UNSET if rank is None else rank,
        scope=UNSET if row.said.scope is None else row.said.scope,
        space=UNSET if space.name is None else space.name,
    )
