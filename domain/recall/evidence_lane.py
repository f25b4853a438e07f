"""The evidence lane: rank, fuse over spaces, hydrate, admit, until the lane is full or nothing is left.

A lane that stays short looks deeper. What it holds by then keeps its place, so that the lane for a smaller limit is
always the beginning of the lane for a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import is_
from uuid import UUID

from commonlore.domain.degradation import Degradation
from commonlore.domain.recall.context import assemble, part_numbers
from commonlore.domain.recall.contract import EVIDENCE_CONTRACTS
from commonlore.domain.recall.fusion import SpaceSignals, by_signal, comparable_signals, interleave
from commonlore.domain.recall.gate import admit
from commonlore.domain.recall.relationship_lane import foresee_groups
from commonlore.domain.recall.rerank import BLOCK, Ranked, rerank
from commonlore.domain.recall.result import EvidenceItem, EvidenceRow, SupportPath
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, RelationshipBranches
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space


@dataclass(frozen=True, slots=True)
class Kept:
    """An admitted candidate: the parts that were hit, and the support paths that count in the view."""

    space: Space
    row: EvidenceRow
    hits: tuple[int, ...]
    paths: tuple[SupportPath, ...]


# The space, the id, and the parts that were hit.
_Candidate = tuple[Space, UUID, tuple[int, ...]]


@dataclass(slots=True)
class _Lane:
    wanted: int
    kept: list[Kept] = field(default_factory=list)
    considered: set[tuple[UUID, int]] = field(default_factory=set)
    texts: set[tuple[UUID, bytes]] = field(default_factory=set)


async def fill_evidence_lane(state: RecallState, fetched: dict[UUID, Fetched]) -> list[EvidenceItem]:
    """At most `limit` items. The semantic groups of their active paths become covered.

    A branch that gave as much as it was asked for may have more: it is asked for twice as much, up to the policy's cap,
    which is then stated.
    """
    lane, depth = _Lane(_wanted(state)), state.policy.depth_rows
    while True:
        await _fill(state, lane, fetched)
        cut = any(found.evidence is not None and found.evidence.full for found in fetched.values())
        if len(lane.kept) >= lane.wanted or not cut:
            break
        if depth >= state.policy.depth_cap_rows:
            if len(lane.kept) < state.request.limit:
                state.degradations.add(Degradation("evidence", "evidence_bound_reached"))
            break
        depth = min(2 * depth, state.policy.depth_cap_rows)
        fetched = await state.fetch(depth, lane="evidence")
    if any(found.evidence is None for found in fetched.values()):
        state.degradations.add(Degradation("evidence", "space_branch_unavailable"))
    if any(found.evidence is not None and found.evidence.vector_failed for found in fetched.values()):
        state.degradations.add(Degradation("evidence", "evidence_vector_failed"))
    if state.plan.reads_hints:
        with state.record.step("rank"):
            _rerank(state, lane)
    del lane.kept[state.request.limit :]
    for rank, kept in enumerate(lane.kept):
        for path in kept.paths:
            state.said.setdefault(path.semantic_group_key, rank)
    state.covered.update(state.said)
    with state.record.step("assemble"):
        return [_item(state, kept, rank) for rank, kept in enumerate(lane.kept, start=1)]


def _wanted(state: RecallState) -> int:
    """The limit, up to a whole block where blocks are reranked: an item of the block may take the place of a shown one."""
    return -(-state.request.limit // BLOCK) * BLOCK if state.plan.reads_hints else state.request.limit


def _rerank(state: RecallState, lane: _Lane) -> None:
    """Every block anew, and what moved noted for a trace. Admitted items alone are read, so no hidden row moves anything."""
    spaces = {plan.space.space_id: place for place, plan in enumerate(state.plan.spaces)}
    for start in range(0, len(lane.kept), BLOCK):
        block = lane.kept[start : start + BLOCK]
        found = rerank([_ranked(kept, spaces) for kept in block], state.intent.hints, state.intent.view.valid_at)
        for moved in found.moves:
            key = block[moved.item].row.evidence_id
            state.moves.setdefault(key, []).append(replace(moved, before=start + moved.before, after=start + moved.after))
        lane.kept[start : start + BLOCK] = [block[place] for place in found.order]


def _ranked(kept: Kept, spaces: Mapping[UUID, int]) -> Ranked:
    row, best = kept.row, kept.hits[0] if kept.hits else 0
    text = next((part.text for part in row.parts if part.part_no == best), "")
    return Ranked(text, row.speaker, row.session, row.occurred_at, spaces.get(kept.space.space_id, 0))


async def _fill(state: RecallState, lane: _Lane, fetched: dict[UUID, Fetched]) -> None:
    """Go on with the candidates that were not considered yet. Equal texts of one space take one slot."""
    order = (entry for entry in _in_order(state, fetched) if (entry[0].space_id, entry[1].int) not in lane.considered)
    size = lane.wanted - len(lane.kept)
    while len(lane.kept) < lane.wanted and (batch := list(islice(order, size))):
        size *= 2  # where many are refused, a round trip for each place would add up
        await _admit(state, lane, batch)
    del lane.kept[lane.wanted :]


@dataclass(frozen=True, slots=True)
class FirstRows:
    """`Foresight` of a recall: the rows of its first candidates, and of the groups that are likely to be shown."""

    state: RecallState

    def evidence(self, found: Mapping[UUID, EvidenceBranches]) -> dict[Space, dict[UUID, Sequence[int]]]:
        fetched = {space_id: Fetched(branches, RelationshipBranches()) for space_id, branches in found.items()}
        return _by_space(islice(_in_order(self.state, fetched), _wanted(self.state)))

    def groups(self, found: Mapping[UUID, Fetched]) -> dict[Space, list[str]]:
        return foresee_groups(self.state, found)


def _in_order(state: RecallState, fetched: Mapping[UUID, Fetched]) -> Iterator[_Candidate]:
    """The candidates of all spaces, best first, each with the parts that were hit."""
    with state.record.step("rank"):
        ranked = rank_evidence(state, fetched)
    with state.record.step("fuse_spaces"):
        hits = {space_id: _hit_parts(found.evidence or EvidenceBranches()) for space_id, found in fetched.items()}
        order = fuse_evidence(state, fetched, ranked)
    return ((space, key, _parts_of(key, hits[space.space_id])) for space, key in order)


def _by_space(batch: Iterable[_Candidate]) -> dict[Space, dict[UUID, Sequence[int]]]:
    wanted: dict[Space, dict[UUID, Sequence[int]]] = {}
    for space, key, parts in batch:
        wanted.setdefault(space, {})[key] = parts
    return wanted


def rank_evidence(state: RecallState, fetched: Mapping[UUID, Fetched]) -> list[list[tuple[Space, UUID]]]:
    """The candidates of each space, best first, in the order of the spaces. What was ranked last is not ranked again."""
    contract = EVIDENCE_CONTRACTS[state.policy.evidence_contract]
    found = [fetched[plan.space.space_id].evidence or EvidenceBranches() for plan in state.plan.spaces]
    if state.ranked_evidence is not None and all(map(is_, state.ranked_evidence[0], found)):
        return state.ranked_evidence[1]
    ranked = []
    for plan, branches in zip(state.plan.spaces, found, strict=True):
        scale = replace(branches.scale, hints=state.intent.hints) if state.plan.reads_hints else branches.scale
        ranked.append([(plan.space, key) for key in contract(branches.lexical, branches.vector, scale)])
    state.ranked_evidence = found, ranked
    return ranked


def fuse_evidence(
    state: RecallState, fetched: Mapping[UUID, Fetched], ranked: Sequence[Sequence[tuple[Space, UUID]]]
) -> Iterator[tuple[Space, UUID]]:
    """The ranked candidates of all spaces as one list, by the policy's rule; one space alone keeps its order under any."""
    if state.policy.space_fusion == "spaces-rrf-1" or len(ranked) < 2:
        return interleave(ranked)
    spaces = []
    for plan in state.plan.spaces:
        branches, weights = fetched[plan.space.space_id].evidence or EvidenceBranches(), plan.evidence_lexical.weights
        weighed = dict(zip(weights.terms, weights.weights, strict=True))
        scale = branches.scale
        spaces.append(SpaceSignals(branches.lexical, branches.vector, plan.parts, plan.texts, weighed, scale.dense_mean, scale.dense_deviation))
    signals = comparable_signals(spaces)
    return by_signal(ranked, [[found[key.int] for _, key in lane] for lane, found in zip(ranked, signals, strict=True)])


async def _admit(state: RecallState, lane: _Lane, batch: Sequence[_Candidate]) -> None:
    lane.considered.update((space.space_id, key.int) for space, key, _ in batch)
    with state.record.step("hydrate"):
        rows = await state.snapshot.hydrate_evidence(state.intent, _by_space(batch))
    with state.record.step("admit"):
        for space, key, parts in batch:
            row = rows.get(key)
            if row is None or (space.space_id, row.content_sha256) in lane.texts:
                continue
            admission = admit(row, unclaimed=state.snapshot.actor.unclaimed_evidence)
            if admission.reason is None:
                lane.texts.add((space.space_id, row.content_sha256))
                lane.kept.append(Kept(space, row, parts, admission.active_paths))


def _hit_parts(branches: EvidenceBranches) -> tuple[dict[int, int], dict[int, int]]:
    """The best part of each evidence by the number of its id, in the lexical and in the vector branch."""
    return {key.int: part_no for key, part_no, _ in branches.lexical}, {key.int: part_no for key, part_no, _ in branches.vector}


def _parts_of(key: UUID, hits: tuple[dict[int, int], dict[int, int]]) -> tuple[int, ...]:
    """The parts of one evidence that were hit, lexical first, each once."""
    return tuple(dict.fromkeys(branch[key.int] for branch in hits if key.int in branch))


def _item(state: RecallState, kept: Kept, rank: int) -> EvidenceItem:
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
