"""Job `propose_hypotheses`: look for what two statements of one space suggest and nobody says.

Computing runs in a thread of its own, outside every transaction but the one that holds the space for this run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.hypothesis_runs import RunCounts, SpaceGone, SpaceRuns, SwitchedOff, exclusive
from commonlore.domain.hypothesis.generate import generate
from commonlore.domain.hypothesis.policy import HypothesisPolicy
from commonlore.workers.execute import reason_of
from commonlore.workers.run import JobRun, Outcome

STAGES = ("reading", "walking", "proposing")
Tell = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class _Progress:
    counts: RunCounts = field(default_factory=RunCounts)


async def propose_hypotheses(run: JobRun) -> Outcome:
    """One run of the job's space."""

    async def tell(stage: str) -> None:
        await run.tell(stage, STAGES.index(stage), len(STAGES))

    await run_proposal(run.adapters, team_id=run.team, space_id=run.space, tell=tell)
    return Outcome.DONE


async def run_proposal(
    adapters: Adapters, *, team_id: UUID, space_id: UUID, tell: Tell | None = None, policy: HypothesisPolicy | None = None
) -> str | None:
    """How the run ended; None where there was none: hypotheses are off, the space is gone, or another run goes on.

    Raises:
        CommonloreError: the database failed; the run is noted as failed if that can be written.
    """
    progress = _Progress()
    async with exclusive(adapters.pool, team_id, space_id) as space:
        begun = await space.begin(now=adapters.clock()) if space is not None else None
        if space is None or begun is None:
            return None
        run_id, outputs = begun
        try:
            status = await _run(adapters, space, run_id, outputs, policy or HypothesisPolicy(), progress, tell or _tell_nobody)
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


async def _run(adapters: Adapters, space: SpaceRuns, run_id: UUID, outputs: int, policy: HypothesisPolicy, progress: _Progress, tell: Tell) -> str:
    await tell("reading")
    source, book = await space.read(now=adapters.clock(), most=policy.most_relationships)
    progress.counts = RunCounts(relationships=len(source.premises))
    if len(source.premises) > policy.most_relationships:
        return "too_large"
    await tell("walking")
    room = max(0, min(outputs, policy.most_live - sum(source.covered.values()) // 2))
    found = await asyncio.to_thread(generate, source, book, policy, outputs=room)
    progress.counts = RunCounts(len(source.premises), found.paths, found.known, found.assessed, found.candidates)
    await tell("proposing")
    try:
        await space.propose(run_id, found.proposals, now=adapters.clock(), counts=progress.counts)
    except SwitchedOff:
        return "cancelled"
    return "completed"
