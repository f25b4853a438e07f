"""Explain: what became of every candidate of a recall, said after the fact and from the same snapshot.

The lanes are filled by then, so a trace cannot change an answer. The fetches that the recorder kept are ranked again by
the same functions, and what the search itself left out is looked up once more without its gate.

A trace says nothing of rows that the caller may not see. Of the spaces that it may read these are what was excluded:
named only to the member that wrote it and to keys with the scope `admin`, and what was erased to nobody. Ranks and counts
are taken over the rest alone, so that no gap tells of a hidden row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from commonlore.domain.degradation import Degradation
from commonlore.domain.recall.evidence_lane import fuse_evidence, rank_evidence
from commonlore.domain.recall.explain_hints import factors_of, moves_of, show_hints
from commonlore.domain.recall.explain_refused import refused_groups
from commonlore.domain.recall.explanation import (
    EvidenceOutcome,
    GroupOutcome,
    RecallTrace,
    TraceDepth,
    TraceEvidence,
    TraceGroup,
    TraceLimit,
    TracePolicy,
    TraceSpace,
    TraceTerms,
)
from commonlore.domain.recall.fusion import interleave
from commonlore.domain.recall.gate import admit
from commonlore.domain.recall.grouping import RelationshipHit
from commonlore.domain.recall.plan import SpacePlan
from commonlore.domain.recall.relationship_lane import rank_relationships
from commonlore.domain.recall.result import EvidenceItem, EvidenceRow, RelationshipItem
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.text.analyse import terms

# Candidates of a lane that one trace names; two branches of five spaces at the first depth.
MOST_CANDIDATES = 2000


@dataclass(slots=True)
class _Findings:
    """What the caller may know of the candidates; `groups` are those that returned evidence says."""

    evidence: list[tuple[Space, UUID, EvidenceOutcome, bool]] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)


async def explain(state: RecallState, results: Sequence[EvidenceItem], relationships: Sequence[RelationshipItem]) -> RecallTrace:
    """The trace of a recall whose lanes are filled; `timings_ms` is left to the caller.

    Raises:
        CommonloreError: the rows behind the candidates could not be read.
    """
    listed = _in_order(_fused(state, note.fetched) for note in state.record.fetches if note.lane != "relationships")
    left_out = await _left_out_by_the_search(state, {key for _, key in listed})
    found = await _judge(state, listed, left_out, results)
    last = {lane: [note for note in state.record.fetches if note.lane in ("both", lane)] for lane in ("evidence", "relationships")}
    evidence = _Places(found, last["evidence"][-1].fetched)
    ranks, factors = {item.evidence_id: item.rank for item in results}, factors_of(state, last["evidence"])
    shown = [_evidence(state, evidence, entry, ranks, factors) for entry in found.evidence]
    groups, more_groups = await _groups(state, found.groups, relationships)
    groups += await refused_groups(state)
    policy = state.policy
    return RecallTrace(
        policy=TracePolicy(
            version=policy.version,
            evidence_contract=policy.evidence_contract,
            space_fusion=policy.space_fusion,
            depth_rows=policy.depth_rows,
            depth_cap_rows=policy.depth_cap_rows,
            postings_budget=policy.postings_budget,
        ),
        terms=_terms(state),
        hints=show_hints(state.intent.hints),
        depth={lane: TraceDepth(rows=notes[-1].depth, refills=len(notes) - 1) for lane, notes in last.items()},
        spaces=[_space(plan, evidence, last["relationships"][-1].fetched[plan.space.space_id]) for plan in state.plan.spaces],
        evidence=shown,
        relationships=groups,
        limits=_limits(state, shown, groups, results),
        truncated=more_groups or len(listed) + len(left_out) > MOST_CANDIDATES,
        timings_ms={},
    )


def _in_order(rankings: Iterable[Iterable[tuple[Space, Any]]]) -> list[tuple[Space, Any]]:
    """As the lanes considered them: the first fetch, then what each deeper one added."""
    return list(dict.fromkeys(pair for ranking in rankings for pair in ranking))


def _fused(state: RecallState, fetched: Mapping[UUID, Fetched]) -> Iterable[tuple[Space, UUID]]:
    return fuse_evidence(state, fetched, rank_evidence(state, fetched))


async def _left_out_by_the_search(state: RecallState, listed: set[UUID]) -> list[tuple[Space, UUID]]:
    """What matches and was refused where it was found: withdrawn evidence in the present view, and evidence that the caller has."""
    intent = state.intent
    if not intent.known_evidence_ids and not (intent.view.is_present and any(plan.has_exclusions for plan in state.plan.spaces)):
        return []
    spaces = tuple(replace(plan, has_exclusions=False, relationship_lexical=None, relationship_vector=False) for plan in state.plan.spaces)
    ungated = replace(state.plan, intent=replace(intent, known_evidence_ids=()), spaces=spaces)
    fetched = await state.snapshot.fetch(ungated, state.vector, depth=state.policy.depth_rows)
    return [(space, key) for space, key in _in_order([_fused(state, fetched)]) if key not in listed]


async def _judge(
    state: RecallState, listed: list[tuple[Space, UUID]], left_out: list[tuple[Space, UUID]], results: Sequence[EvidenceItem]
) -> _Findings:
    """The outcome of each candidate that the caller may see, by the same gate that filled the lane."""
    returned = {item.evidence_id for item in results}
    places = dict.fromkeys(pair for pair in listed if pair[1] in returned) | dict.fromkeys([*listed, *left_out][:MOST_CANDIDATES])
    wanted: dict[Space, dict[UUID, Sequence[int]]] = {}
    for space, key in places:
        wanted.setdefault(space, {})[key] = ()
    rows = await state.snapshot.hydrate_evidence(state.intent, wanted)
    ranked = set(listed)
    found, texts = _Findings(), {(space.space_id, rows[key].content_sha256) for space, key in places if key in returned}
    for space, key in [pair for pair in [*listed, *left_out] if pair in places and pair[1] in rows]:
        row = rows[key]
        admission = admit(row, unclaimed=state.snapshot.actor.unclaimed_evidence)
        outcome: EvidenceOutcome
        if key in returned:
            outcome = "returned"
            found.groups.update(path.semantic_group_key for path in admission.active_paths)
        elif admission.reason is not None:
            if not _may_be_named(row, admission.reason, state.snapshot.actor):
                continue
            outcome = admission.reason
        elif key in state.intent.known_evidence_ids:
            outcome = "already_known"
        else:
            text = (space.space_id, row.content_sha256)
            outcome = "equal_text" if text in texts else "beyond_limit"
            texts.add(text)
        found.evidence.append((space, key, outcome, (space, key) in ranked))
    return found


def _may_be_named(row: EvidenceRow, reason: EvidenceOutcome, actor: Actor) -> bool:
    return reason != "erased" and ("admin" in actor.scopes or row.owner_profile_id == actor.profile_id)


class _Places:
    """Places in the branches, counted over the candidates that the caller may see."""

    def __init__(self, found: _Findings, fetched: Any) -> None:
        seen = {key for _, key, _, ranked in found.evidence if ranked}
        self._places: dict[tuple[UUID, str], dict[UUID, int]] = {}
        for space_id, branches in ((space_id, part.evidence or EvidenceBranches()) for space_id, part in fetched.items()):
            for name, hits in (("lexical", branches.lexical), ("vector", branches.vector)):
                visible = [key for key, _, _ in hits if key in seen]
                self._places[space_id, name] = {key: place for place, key in enumerate(visible, start=1)}

    def of(self, space: Space, branch: str) -> dict[UUID, int]:
        return self._places[space.space_id, branch]


def _evidence(
    state: RecallState,
    places: _Places,
    entry: tuple[Space, UUID, EvidenceOutcome, bool],
    ranks: Mapping[UUID, int],
    factors: Mapping[int, list[str]],
) -> TraceEvidence:
    space, key, outcome, ranked = entry
    fields = {
        "rank": ranks.get(key),
        "lexical_rank": places.of(space, "lexical").get(key),
        "vector_rank": places.of(space, "vector").get(key),
        "space": space.name,
        "factors": factors.get(key.int),
        "moves": moves_of(state, key),
    }
    return TraceEvidence(evidence_id=str(key), outcome=outcome, space_kind=space.public_kind, ranked=ranked, **_given(fields))


async def _groups(state: RecallState, said: set[str], relationships: Sequence[RelationshipItem]) -> tuple[list[TraceGroup], bool]:
    """Each group that a branch found, and whether there are more than a trace names."""
    notes = [note for note in state.record.fetches if note.lane != "evidence"] if state.intent.relationships_wanted else []
    if not notes:
        return [], False
    order: list[tuple[Space, str]] = _in_order(interleave(rank_relationships(state, note.fetched)) for note in notes)
    spaces = [plan.space for plan in state.plan.spaces]
    by_evidence = await state.snapshot.read_known(replace(state.intent, known_relationship_ids=()), spaces)
    by_relationship = await state.snapshot.read_known(replace(state.intent, known_evidence_ids=()), spaces)
    covers: tuple[tuple[GroupOutcome, set[str] | frozenset[str]], ...] = (
        ("covered_by_result", said),
        ("covered_by_known_evidence", by_evidence.groups),
        ("covered_by_known_relationship", by_relationship.groups),
        ("shown_in_community", state.nested),
    )
    items = {item.relationship_id: (place, item) for place, item in enumerate(relationships, start=1)}
    members = {space.space_id: _members(notes[-1].fetched[space.space_id]) for space in spaces}
    shown = []
    for space, group in order[:MOST_CANDIDATES]:
        hits, places = members[space.space_id].get(group, ([], {}))
        ids = [key for key, _, _ in sorted(hits, key=lambda hit: (hit[2], hit[0]))]
        place, item = next((items[key] for key in ids if key in items), (None, None))
        if item is not None:
            ids = [item.relationship_id, *item.equivalent_relationship_ids]
        outcome: GroupOutcome = "returned" if item is not None else next((name for name, groups in covers if group in groups), "beyond_limit")
        if ids:
            fields = {"rank": place, "space": space.name, **places}
            shown.append(
                TraceGroup(
                    relationship_id=str(ids[0]),
                    equivalent_relationship_ids=sorted(map(str, ids[1:])),
                    outcome=outcome,
                    space_kind=space.public_kind,
                    **_given(fields),
                )
            )
    return shown, len(order) > MOST_CANDIDATES


def _members(fetched: Fetched) -> dict[str, tuple[list[RelationshipHit], dict[str, int]]]:
    """The members of each group that were found, each once, and the best place of one in each branch."""
    found: dict[str, tuple[list[RelationshipHit], dict[str, int]]] = {}
    seen: set[UUID] = set()
    for name, hits in (("lexical_rank", fetched.relationships.lexical), ("vector_rank", fetched.relationships.vector)):
        for place, hit in enumerate(hits, start=1):
            members, places = found.setdefault(hit[1], ([], {}))
            places.setdefault(name, place)
            if hit[0] not in seen:
                members.append(hit)
                seen.add(hit[0])
    return found


def _space(plan: SpacePlan, places: _Places, fetched: Fetched) -> TraceSpace:
    relationship = plan.relationship_lexical
    return TraceSpace(
        space_kind=plan.space.public_kind,
        evidence_lexical=len(places.of(plan.space, "lexical")),
        evidence_vector=len(places.of(plan.space, "vector")),
        relationship_lexical=len(fetched.relationships.lexical),
        relationship_vector=len(fetched.relationships.vector),
        evidence_terms_over_budget=list(plan.evidence_lexical.weights.dropped),
        relationship_terms_over_budget=list(relationship.weights.dropped) if relationship is not None else [],
        **_given({"space": plan.space.name}),
    )


def _terms(state: RecallState) -> TraceTerms:
    every = dict.fromkeys(terms(state.intent.query))
    return TraceTerms(searched=list(state.intent.terms), function_words=[term for term in every if term not in state.intent.terms])


def _limits(state: RecallState, evidence: Sequence[TraceEvidence], groups: Sequence[TraceGroup], results: Sequence[EvidenceItem]) -> list[TraceLimit]:
    policy, plans = state.policy, state.plan.spaces
    counted = (
        ("limit", state.request.limit, sum(item.outcome == "beyond_limit" for item in evidence)),
        ("relationship_limit", state.request.relationship_limit, sum(item.outcome == "beyond_limit" for item in groups)),
        ("context_chars", policy.context_chars, sum(item.context_truncated for item in results)),
        ("equivalents_limit", policy.equivalents_limit, sum(item.equivalents_truncated for item in results)),
        ("postings_budget", policy.postings_budget, len({term for plan in plans for term in plan.evidence_lexical.weights.dropped})),
    )
    bounds = {Degradation("evidence", "evidence_bound_reached"), Degradation("relationships", "relationship_bound_reached")}
    cap = [TraceLimit(name="depth_cap_rows", value=policy.depth_cap_rows)] if bounds & state.degradations else []
    return [TraceLimit(name=name, value=value, cut=cut) for name, value, cut in counted if cut] + cap


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
