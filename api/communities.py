"""Operations on communities inside an administrator's transaction: switch, ask for a run, describe."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from commonlore.api.communities_table import CommunityDescription, CommunityRunEntry, PublishedCommunities, RequestedRun
from commonlore.db.communities import CommunityState, read_state, set_schedule, switch
from commonlore.db.jobs import enqueue
from commonlore.db.session import TeamTransaction
from commonlore.domain.community.request import DescribeCommunitiesRequest, RunCommunitiesRequest, UpdateCommunitiesRequest
from commonlore.domain.errors import Conflict
from commonlore.domain.jobs.kind import DETECT_COMMUNITIES
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.time import render_instant

_RUNS = 10


async def describe_communities(
    actor: Actor, transaction: TeamTransaction, request: DescribeCommunitiesRequest | UpdateCommunitiesRequest, *, now: datetime
) -> CommunityDescription:
    """
    Raises:
        Incorrect: the key has no private space.
    """
    await transaction.enter(actor.target(request.target_space, request.space, reads=True).space_id)
    state = await read_state(transaction, runs=_RUNS)
    return {
        "target_space": request.target_space,
        "space": request.space,
        "enabled": state.enabled,
        "lacks": list(state.gate.degradations()) if state.enabled and state.gate else [],
        "snapshot": _snapshot(state, now),
        "time_zone": state.schedule.time_zone,
        "start": state.schedule.start,
        "next_run_at": render_instant(state.schedule.next_begin(now)) if state.enabled else None,
        "runs": [_run(row) for row in state.runs],
    }


async def update_communities(actor: Actor, transaction: TeamTransaction, request: UpdateCommunitiesRequest, *, now: datetime) -> CommunityDescription:
    """
    Raises:
        Incorrect: nothing is to be changed, no such time zone or time, or the key has no private space.
    """
    request.validate()
    await transaction.enter(actor.target(request.target_space, request.space).space_id)
    if request.enabled is not None:
        await switch(transaction, enabled=request.enabled, now=now)
    if request.time_zone is not None or request.start is not None:
        await set_schedule(transaction, time_zone=request.time_zone, start_minute=request.start_minute())
    return await describe_communities(actor, transaction, request, now=now)


async def run_communities(actor: Actor, transaction: TeamTransaction, request: RunCommunitiesRequest) -> RequestedRun:
    """
    Raises:
        Conflict: `stale_input`, communities of the space are off.
    """
    space = actor.target(request.target_space, request.space)
    await transaction.enter(space.space_id)
    if not (await read_state(transaction, runs=0)).enabled:
        raise Conflict("stale_input", "communities of this space are off; switch them on first")
    job_id = await enqueue(transaction, DETECT_COMMUNITIES, space_id=space.space_id)
    return {"job_id": str(job_id) if job_id else None}


def _snapshot(state: CommunityState, now: datetime) -> PublishedCommunities | None:
    gate = state.gate
    if gate is None or gate.published_at is None:
        return None
    return {
        "published_at": render_instant(gate.published_at),
        "age_seconds": max(0, int((now - gate.published_at).total_seconds())),
        "relationships": state.relationships or 0,
        "semantic_groups": state.groups or 0,
        "communities": state.communities or 0,
        "stale_members": state.stale_members,
    }


def _run(row: dict[str, Any]) -> CommunityRunEntry:
    return {
        "run_id": str(row["run_id"]),
        "reason": row["reason"],
        "status": row["status"],
        "error_code": row["error_code"],
        "relationships": row["relationship_count"],
        "semantic_groups": row["group_count"],
        "ties": row["tie_count"],
        "communities": row["community_count"],
        "started_at": render_instant(row["known_from"]),
        "ended_at": render_instant(row["ended_at"]) if row["ended_at"] else None,
    }
