"""Job `detect_communities`: find what belongs together in one space and publish it as a snapshot.

Whatever goes wrong, the snapshot before goes on being served; the run says what happened. Computing runs in a thread of
its own, outside every transaction but the one that holds the space for this run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.community_runs import (
    Extent,
    Published,
    RunCounts,
    Snapshot,
    SpaceGone,
    SpaceRuns,
    SwitchedOff,
    active_teams,
    due_spaces,
    exclusive,
)
from commonlore.db.job_queue import is_cared_for
from commonlore.db.jobs import enqueue, job_key
from commonlore.db.session import team_transaction
from commonlore.domain.community.describe import describe
from commonlore.domain.community.detect import detect
from commonlore.domain.community.gate import RunStatus
from commonlore.domain.community.graph import build_graph
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import CommunitySource
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import DETECT_COMMUNITIES
from commonlore.workers.execute import reason_of
from commonlore.workers.run import JobRun, Outcome

STAGES = ("reading", "detecting", "publishing")
Tell = Callable[[str], Awaitable[None]]
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Progress:
    counts: RunCounts = field(default_factory=RunCounts)


async def detect_communities(run: JobRun) -> Outcome:
    """One run of the job's space."""

    async def tell(stage: str) -> None:
        await run.tell(stage, STAGES.index(stage), len(STAGES))

    await run_detection(run.adapters, team_id=run.team, space_id=run.space, tell=tell)
    return Outcome.DONE


async def schedule_communities(run: JobRun) -> Outcome:
    """Ask for a run wherever the window of a team's day opened and nothing ran since. Teams by id, each for itself."""
    await schedule(run.adapters)
    return Outcome.DONE


async def schedule(adapters: Adapters) -> int:
    """How many runs were asked for."""
    asked = 0
    for team_id in await active_teams(adapters.pool):
        try:
            async with team_transaction(adapters.pool, team_id, timeout_ms=adapters.timeout_ms) as transaction:
                for space_id in await due_spaces(transaction, adapters.clock()):
                    if not await is_cared_for(transaction, job_key(DETECT_COMMUNITIES, team_id, space_id, {})):
                        await enqueue(transaction, DETECT_COMMUNITIES, space_id=space_id)
                        asked += 1
        except CommonloreError as error:
            log.warning("schedule_communities: team %s: %s", team_id, error.code)
    return asked


async def run_detection(
    adapters: Adapters, *, team_id: UUID, space_id: UUID, tell: Tell | None = None, policy: CommunityPolicy | None = None
) -> RunStatus | None:
    """How the run ended; None where there was none: communities are off, the space is gone, or another run goes on.

    Raises:
        CommonloreError: the database failed; the run is noted as failed if that can be written.
    """
    policy, progress = policy or CommunityPolicy(), _Progress()
    async with exclusive(adapters.pool, team_id, space_id) as space:
        run_id = await space.begin(configuration=policy.configuration, now=adapters.clock()) if space is not None else None
        if space is None or run_id is None:
            return None
        try:
            status = await _run(adapters, space, run_id, policy, progress, tell or _tell_nobody)
        except SpaceGone:
            return None
        except asyncio.CancelledError:
            await asyncio.shield(space.end(run_id, "cancelled", now=adapters.clock(), counts=progress.counts))
            raise
        except Exception as error:
            await space.end(run_id, "failed", now=adapters.clock(), counts=progress.counts, error_code=reason_of(error)[0])
            raise
        if status != "completed":
            await space.end(run_id, status, now=adapters.clock(), counts=progress.counts)
    return status


async def _tell_nobody(stage: str) -> None:
    """A run that nobody watches."""


async def _run(adapters: Adapters, space: SpaceRuns, run_id: UUID, policy: CommunityPolicy, progress: _Progress, tell: Tell) -> RunStatus:
    await tell("reading")
    extent, published = await space.measure()
    progress.counts = RunCounts(mark=extent.mark, relationships=extent.relationships)
    if extent.relationships > policy.most_relationships or extent.supports > policy.most_supports:
        return "too_large"
    if _is_published(extent, published, policy):
        return "skipped"
    source = await space.read_source()
    earlier = await space.earlier(published.snapshot_id)
    await tell("detecting")
    snapshot, progress.counts = await asyncio.to_thread(_compute, source, earlier, policy)
    await tell("publishing")
    try:
        await space.publish(run_id, snapshot, now=adapters.clock(), counts=progress.counts)
    except SwitchedOff:
        return "cancelled"
    await space.prune()
    return "completed"


def _is_published(extent: Extent, published: Published, policy: CommunityPolicy) -> bool:
    return (extent.mark, policy.configuration) == (published.mark, published.configuration)


def _compute(source: CommunitySource, earlier: Mapping[UUID, frozenset[str]], policy: CommunityPolicy) -> tuple[Snapshot, RunCounts]:
    graph = build_graph(source, policy)
    records = describe(source, detect(graph, policy), earlier, policy)
    counts = RunCounts(source.mark, len(source.relationships), len(source.group_keys), graph.ties, len(records))
    return Snapshot(source, policy.configuration, records), counts
