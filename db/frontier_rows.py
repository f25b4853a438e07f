"""The rows of one space's branches as the domain has them: how many there may be, and whether there may be more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from psycopg.rows import TupleRow

from commonlore.db.pipeline import Asked
from commonlore.db.resident import Moments
from commonlore.domain.recall.contract import SpaceScale
from commonlore.domain.recall.fusion import BranchHit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.plan import RetrievalPlan, SpacePlan
from commonlore.domain.recall.snapshot import EvidenceBranches, RelationshipBranches
from commonlore.domain.recall.utterance import Utterance

# Parts a vector branch looks at for each evidence it returns: a long text may hold several of the nearest parts.
PARTS_PER_EVIDENCE = 2
# Documents it looks at for each relationship it returns: some are of relationships that no longer count.
DOCUMENTS_PER_RELATIONSHIP = 2
_ALL = 2_147_483_647
Rows = Asked[TupleRow] | Sequence[TupleRow] | None
Near = tuple[Sequence[TupleRow], Moments]


def documents_looked_at(plan: RetrievalPlan, depth: int) -> int:
    """Documents whose relationships are looked up. A filter or another time may refuse most of them, so then it is all."""
    selective = plan.intent.expand_from_entity_ids or plan.intent.filter.narrows_relationships or not plan.intent.view.is_present
    return _ALL if selective else depth * DOCUMENTS_PER_RELATIONSHIP


def parts_looked_at(space_plan: SpacePlan, depth: int) -> int:
    """Parts a vector branch looks at."""
    return depth if space_plan.parts <= space_plan.texts else depth * PARTS_PER_EVIDENCE


async def _rows(source: Rows) -> Sequence[TupleRow]:
    if source is None:
        return []
    return await source.fetchall() if isinstance(source, Asked) else source


async def evidence_branches(space_plan: SpacePlan, lexical: Rows, near: Rows | Near, depth: int) -> EvidenceBranches:
    """A vector branch is also cut when the parts it looked at were not all there are."""
    first, (second, scale) = await _rows(lexical), near if isinstance(near, tuple) else _split_near(await _rows(near))
    cut = max(len(first), len(second)) >= depth or (near is not None and space_plan.parts > parts_looked_at(space_plan, depth))
    mean, deviation = scale if second else (None, None)
    return EvidenceBranches(
        cast(Sequence[BranchHit], first), cast(Sequence[BranchHit], second), full=cut, scale=SpaceScale(space_plan.texts, mean, deviation)
    )


def _split_near(rows: Sequence[TupleRow]) -> Near:
    """The hits of a vector branch, and the mean and the deviation that stand in each row."""
    return [row[:3] for row in rows], Moments(*rows[0][3:]) if rows else Moments(None, None)


async def relationship_branches(plan: RetrievalPlan, space_plan: SpacePlan, lexical: Rows, near: Rows, depth: int) -> RelationshipBranches:
    """A vector branch is also cut when the documents it looked at were not all there are."""
    first, second = await _rows(lexical), await _rows(near)
    if space_plan.relationships_failed:
        return RelationshipBranches(failed=True)
    unseen = near is not None and space_plan.relationship_vector and space_plan.documents > documents_looked_at(plan, depth)
    cut = max(len(first), len(second)) >= depth or unseen
    return RelationshipBranches(cast(Sequence[RelationshipHit], first), cast(Sequence[RelationshipHit], second), full=cut)


def with_turns(plan: RetrievalPlan, evidence: EvidenceBranches, rows: Sequence[TupleRow]) -> EvidenceBranches:
    if plan.reads_hints:
        said = {key.int: Utterance(*of_it) for key, *of_it in rows}
        return replace(evidence, scale=replace(evidence.scale, said=said))
    turns = {key.int: (session, sequence) for key, session, sequence in rows}
    return replace(evidence, scale=replace(evidence.scale, turns=turns))
