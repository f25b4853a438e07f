"""The recall as a straight line, inside one snapshot.

    parse_intent -> read_statistics -> make_plan -> fetch -> rank -> fuse_spaces -> hydrate -> admit -> cover
    -> group -> subtract -> fall_back -> conclude

Evidence is ranked and cut before relationships are looked at, so that no relationship can change it. Every step but the
snapshot's own methods is a pure function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from commonlore.domain.degradation import Degradation, SearchState, combine
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.context import assemble, part_numbers
from commonlore.domain.recall.fusion import EVIDENCE_CONTRACTS, BranchHit, interleave
from commonlore.domain.recall.gate import admit
from commonlore.domain.recall.grouping import RelationshipHit, rank_groups
from commonlore.domain.recall.plan import QueryVector, RecallIntent, RetrievalPlan, SpaceStatistics, make_plan, parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import (
    EvidenceItem,
    EvidenceRow,
    RecallResult,
    RelationshipItem,
    RelationshipRow,
    SupportPath,
    render_degradations,
)
from commonlore.domain.tenancy.actor import Actor, Space


@dataclass(frozen=True, slots=True)
class EvidenceBranches:
    """Best first, gated in the search itself. `full` tells whether a branch gave as much as was asked for."""

    lexical: Sequence[BranchHit] = ()
    vector: Sequence[BranchHit] = ()
    full: bool = False
    vector_failed: bool = False


@dataclass(frozen=True, slots=True)
class RelationshipBranches:
    lexical: Sequence[RelationshipHit] = ()
    vector: Sequence[RelationshipHit] = ()
    full: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The branches of one space; None where the space's evidence could not be read."""

    evidence: EvidenceBranches | None
    relationships: RelationshipBranches


@dataclass(frozen=True, slots=True)
class KnownCoverage:
    """Semantic groups that the caller has already: of visible known evidence and of visible known relationships."""

    groups: frozenset[str]


class RecallSnapshot(Protocol):
    """One state of the database, for one actor. Ids and rows of other spaces or teams never leave it."""

    actor: Actor

    async def read_statistics(self, intent: RecallIntent) -> list[tuple[Space, SpaceStatistics]]: ...

    async def fetch(self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int) -> dict[UUID, Fetched]:
        """By space id. `vector` is awaited only after the lexical branches were asked."""
        ...

    async def hydrate_evidence(self, intent: RecallIntent, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]]) -> dict[UUID, EvidenceRow]:
        """Authoritative rows with the parts around the hits that `wanted` names, and up to one more equivalent than is shown."""
        ...

    async def read_known(self, intent: RecallIntent, spaces: Sequence[Space]) -> KnownCoverage: ...

    async def hydrate_groups(self, intent: RecallIntent, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        """Every eligible member of the groups, by earliest creation, then id."""
        ...


@dataclass(slots=True)
class _Recall:
    """What one recall has found so far."""

    snapshot: RecallSnapshot
    request: RecallRequest
    intent: RecallIntent
    policy: RankingPolicy
    vector: Awaitable[QueryVector]
    plan: RetrievalPlan
    degradations: set[Degradation] = field(default_factory=set)
    covered: set[str] = field(default_factory=set)


async def recall(
    request: RecallRequest, *, snapshot: RecallSnapshot, vector: Awaitable[QueryVector], policy: RankingPolicy, recall_id: str
) -> RecallResult:
    """Answer one request from one snapshot. `vector` must be cheap to await again.

    Raises:
        Forbidden: the key lacks the scope read.
        CommonloreError: the evidence of the team's shared space, or the rows behind a candidate, could not be read.
    """
    snapshot.actor.require("read")
    intent = parse_intent(request)
    statistics = await snapshot.read_statistics(intent)
    plan = make_plan(intent, statistics, policy)
    state = _Recall(snapshot, request, intent, policy, vector, plan)
    fetched = await snapshot.fetch(plan, vector, depth=policy.depth_rows)
    results = await _evidence_lane(state, fetched)
    relationships = await _relationship_lane(state, fetched) if intent.relationships_wanted else []
    embedded = (await vector).under(plan.contract_key)
    _state_vectors(state, embedded, statistics)
    return RecallResult(
        recall_id=recall_id,
        results=results,
        conflicts=[],
        related_relationships=relationships,
        related_communities=[],
        related_hypotheses=[],
        search_states=_search_states(intent, statistics, fetched),
        degradations=render_degradations(state.degradations),
        suggested_actions=[],
    )


# --- evidence


async def _evidence_lane(state: _Recall, fetched: dict[UUID, Fetched]) -> list[EvidenceItem]:
    """Fuse, hydrate and admit until the lane is full or nothing is left; deeper when the branches were cut."""
    depth = state.policy.depth_rows
    while True:
        lane, exhausted = await _fill_evidence(state, fetched)
        cut = any(found.evidence is not None and found.evidence.full for found in fetched.values())
        if not exhausted or not cut:
            break
        if depth >= state.policy.depth_cap_rows:
            state.degradations.add(Degradation("evidence", "evidence_bound_reached"))
            break
        depth = min(2 * depth, state.policy.depth_cap_rows)
        fetched = await state.snapshot.fetch(state.plan, state.vector, depth=depth)
    for space_plan in state.plan.spaces:
        if fetched[space_plan.space.space_id].evidence is None:
            state.degradations.add(Degradation("evidence", "space_branch_unavailable"))
    if any(found.evidence is not None and found.evidence.vector_failed for found in fetched.values()):
        state.degradations.add(Degradation("evidence", "evidence_vector_failed"))
    state.covered.update(path.semantic_group_key for kept in lane for path in kept.paths)
    return [_evidence_item(state, kept, rank) for rank, kept in enumerate(lane, start=1)]


@dataclass(frozen=True, slots=True)
class _Kept:
    space: Space
    row: EvidenceRow
    hits: tuple[int, ...]
    paths: tuple[SupportPath, ...]


async def _fill_evidence(state: _Recall, fetched: dict[UUID, Fetched]) -> tuple[list[_Kept], bool]:
    """The lane, and whether the candidates ran out before it was full. Equal texts of one space take one slot."""
    contract = EVIDENCE_CONTRACTS[state.policy.evidence_contract]
    spaces = [plan.space for plan in state.plan.spaces]
    branches = {space: fetched[space.space_id].evidence or EvidenceBranches() for space in spaces}
    order = list(interleave([[(space, key) for key in contract(branches[space].lexical, branches[space].vector)] for space in spaces]))
    hits = {space.space_id: _hit_parts(branches[space]) for space in spaces}
    lane: list[_Kept] = []
    texts: set[tuple[UUID, bytes]] = set()
    place = 0
    while len(lane) < state.request.limit and place < len(order):
        batch = order[place : place + state.request.limit - len(lane)]
        place += len(batch)
        wanted: dict[Space, dict[UUID, Sequence[int]]] = {}
        for space, key in batch:
            wanted.setdefault(space, {})[key] = hits[space.space_id][key.int]
        rows = await state.snapshot.hydrate_evidence(state.intent, wanted)
        for space, key in batch:
            row = rows.get(key)
            if row is None or (space.space_id, row.content_sha256) in texts:
                continue
            admission = admit(row, unclaimed=state.snapshot.actor.unclaimed_evidence)
            if admission.reason is None:
                texts.add((space.space_id, row.content_sha256))
                lane.append(_Kept(space, row, hits[space.space_id][key.int], admission.active_paths))
    return lane, len(lane) < state.request.limit


def _hit_parts(branches: EvidenceBranches) -> dict[int, tuple[int, ...]]:
    """The best part of each evidence in each branch, lexical first, each once; by the number of its id."""
    parts: dict[int, tuple[int, ...]] = {}
    for branch in (branches.lexical, branches.vector):
        for key, part_no, _ in branch:
            found = parts.get(key.int, ())
            if part_no not in found:
                parts[key.int] = (*found, part_no)
    return parts


def _evidence_item(state: _Recall, kept: _Kept, rank: int) -> EvidenceItem:
    row = kept.row
    preferred = part_numbers(kept.hits, row.part_count)
    context = assemble(row.parts, preferred, part_count=row.part_count, budget_chars=state.policy.context_chars)
    fields = {"source": row.source, "speaker": row.speaker, "session": row.session, "occurred_at": row.occurred_at, "space": kept.space.name}
    return EvidenceItem(
        evidence_id=row.evidence_id,
        context=context.text,
        rank=rank,
        space_kind=kept.space.public_kind,
        equivalent_evidence_ids=list(row.equivalents[: state.policy.equivalents_limit]),
        equivalents_truncated=len(row.equivalents) > state.policy.equivalents_limit,
        relationship_ids=sorted({path.relationship_id for path in kept.paths}),
        source_type=row.source_type,
        authority=row.authority,
        created_at=row.known_from,
        context_truncated=context.truncated,
        **{name: value for name, value in fields.items() if value is not None},  # type: ignore[arg-type]
    )


# --- relationships


async def _relationship_lane(state: _Recall, fetched: dict[UUID, Fetched]) -> list[RelationshipItem]:
    """Group, subtract what is covered, and fill the lane; deeper when the branches were cut."""
    known = await state.snapshot.read_known(state.intent, [plan.space for plan in state.plan.spaces])
    state.covered |= known.groups
    depth = state.policy.depth_rows
    while True:
        lane = await _fill_relationships(state, fetched)
        if len(lane) >= state.request.relationship_limit or not any(found.relationships.full for found in fetched.values()):
            break
        if depth >= state.policy.depth_cap_rows:
            state.degradations.add(Degradation("relationships", "relationship_bound_reached"))
            break
        depth = min(2 * depth, state.policy.depth_cap_rows)
        fetched = await state.snapshot.fetch(state.plan, state.vector, depth=depth)
    if any(found.relationships.failed for found in fetched.values()):
        state.degradations.add(Degradation("relationships", "relationship_discovery_unavailable"))
    return lane


async def _fill_relationships(state: _Recall, fetched: dict[UUID, Fetched]) -> list[RelationshipItem]:
    spaces = [plan.space for plan in state.plan.spaces]
    branches = {space: fetched[space.space_id].relationships for space in spaces}
    order = interleave([[(space, group) for group in rank_groups(branches[space].lexical, branches[space].vector)] for space in spaces])
    novel = [(space, group) for space, group in order if group not in state.covered]
    lane: list[RelationshipItem] = []
    place = 0
    while len(lane) < state.request.relationship_limit and place < len(novel):
        batch = novel[place : place + state.request.relationship_limit - len(lane)]
        place += len(batch)
        wanted: dict[Space, list[str]] = {}
        for space, group in batch:
            wanted.setdefault(space, []).append(group)
        members = await state.snapshot.hydrate_groups(state.intent, wanted)
        lane.extend(_relationship_item(space, members[group]) for space, group in batch if members.get(group))
    return lane


def _relationship_item(space: Space, members: Sequence[RelationshipRow]) -> RelationshipItem:
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


# --- states


def _state_vectors(state: _Recall, embedded: QueryVector, statistics: Sequence[tuple[Space, SpaceStatistics]]) -> None:
    if embedded.failure is not None:
        state.degradations.add(Degradation("evidence", embedded.failure))
    if not state.intent.relationships_wanted:
        return
    gates = {found.generation_state for _, found in statistics}
    if "failed" in gates:
        state.degradations.add(Degradation("relationships", "relationship_vector_failed"))
    elif "pending" in gates or embedded.failure is not None:
        state.degradations.add(Degradation("relationships", "relationship_vector_warming"))


def _search_states(
    intent: RecallIntent, statistics: Sequence[tuple[Space, SpaceStatistics]], fetched: Mapping[UUID, Fetched]
) -> dict[str, SearchState]:
    evidence = combine(tuple(found.evidence_state for _, found in statistics))
    if not intent.relationships_wanted:
        return {"evidence": evidence, "relationships": "not_required"}
    if any(found.relationships.failed for found in fetched.values()):
        return {"evidence": evidence, "relationships": "failed"}
    return {"evidence": evidence, "relationships": combine(tuple(found.generation_state for _, found in statistics))}
