"""The recall as a straight line, inside one snapshot.

    parse_intent -> read_statistics -> make_plan -> fetch -> fill_evidence_lane (rank, fuse spaces, hydrate, admit, cover)
    -> cover_known -> fill_community_lane (seed, fill) -> fill_relationship_lane (group, subtract, fall back) -> fill_conflict_lane
    -> fill_hypothesis_lane -> conclude

Evidence is ranked and cut before relationships are looked at, so that no relationship can change it: which rows will be
wanted first is only foreseen (`FirstRows`), so that they come in fewer round trips. Every step but the snapshot's own
methods is a pure function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from commonlore.domain.degradation import Degradation, SearchState, combine
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.community_lane import fill_community_lane
from commonlore.domain.recall.conflict_lane import fill_conflict_lane
from commonlore.domain.recall.evidence_lane import FirstRows, fill_evidence_lane
from commonlore.domain.recall.explain import explain
from commonlore.domain.recall.hypothesis_lane import fill_hypothesis_lane
from commonlore.domain.recall.plan import QueryVector, RecallIntent, SpaceStatistics, make_plan, parse_intent
from commonlore.domain.recall.record import Recorder
from commonlore.domain.recall.relationship_lane import cover_known, fill_relationship_lane
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import RecallResult, render_degradations
from commonlore.domain.recall.snapshot import Fetched, RecallSnapshot
from commonlore.domain.recall.state import RecallState
from commonlore.domain.tenancy.actor import Space


async def recall(
    request: RecallRequest,
    *,
    snapshot: RecallSnapshot,
    vector: Awaitable[QueryVector],
    policy: RankingPolicy,
    recall_id: str,
    record: Recorder,
    intent: RecallIntent | None = None,
) -> RecallResult:
    """Answer one request from one snapshot. `vector` must be cheap to await again. `record` hears of every step.

    `intent` is the request's, where the caller has parsed it already.

    Raises:
        Forbidden: the key lacks the scope read.
        CommonloreError: the evidence of the team's shared space, or the rows behind a candidate, could not be read.
    """
    snapshot.actor.require("read")
    if intent is None:
        with record.step("parse_intent"):
            intent = parse_intent(request)
    with record.step("read_statistics"):
        statistics = await snapshot.read_statistics(intent)
    with record.step("make_plan"):
        plan = make_plan(intent, statistics, policy)
    record.keeps_fetches = request.trace
    state = RecallState(snapshot, request, intent, policy, vector, plan, record)
    fetched = await state.fetch(policy.depth_rows, lane="both", foresight=FirstRows(state))
    results = await fill_evidence_lane(state, fetched)
    await cover_known(state)
    communities = await fill_community_lane(state, fetched)
    relationships = await fill_relationship_lane(state, fetched) if intent.relationships_wanted else []
    with record.step("say_conflicts"):
        conflicts = await fill_conflict_lane(state, results)
    with record.step("suggest"):
        hypotheses = await fill_hypothesis_lane(state, relationships, communities)
    with record.step("conclude"):
        _state_vectors(state, (await vector).under(plan.contract_key), statistics)
        if snapshot.lost_spaces:
            state.degradations.add(Degradation("evidence", "space_branch_unavailable"))
        result = RecallResult(
            recall_id=recall_id,
            results=results,
            conflicts=conflicts,
            related_relationships=relationships,
            related_communities=communities,
            related_hypotheses=hypotheses,
            search_states=_search_states(intent, statistics, fetched),
            degradations=render_degradations(state.degradations),
            suggested_actions=[],
        )
    if not request.trace:
        return result
    with record.step("explain"):
        found = await explain(state, results, relationships)
    return replace(result, trace=replace(found, timings_ms=record.milliseconds()))


def _state_vectors(state: RecallState, embedded: QueryVector, statistics: Sequence[tuple[Space, SpaceStatistics]]) -> None:
    if embedded.failure is not None:
        state.degradations.add(Degradation("evidence", embedded.failure))
    elif any(found.evidence_index is not None and found.evidence_index.state == "degraded" for _, found in statistics):
        state.degradations.add(Degradation("evidence", "evidence_vector_approximate"))
    if not state.intent.relationships_wanted:
        return
    if embedded.failure is None and any(
        found.relationship_index is not None and found.relationship_index.state == "degraded" for _, found in statistics
    ):
        state.degradations.add(Degradation("relationships", "relationship_vector_approximate"))
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
