"""Jobs `build_generation` and `clear_generation`: a team's relationship documents written anew beside those that serve, and cleared away again.

Texts come first, space by space in the order of their ids; then vectors of texts that say what they said before are carried
over, and those of the others are made by `embed_parts` or `embed_contract`. How far it is, is counted from rows. While calls are served it goes at their pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

from commonlore.db.jobs import enqueue
from commonlore.db.projection_build import Batch, GenerationBuild
from commonlore.db.session import team_transaction
from commonlore.domain.jobs.kind import EMBED_CONTRACT, EMBED_PARTS, JobKind
from commonlore.domain.projection.generation import DocumentCounts, Generation
from commonlore.domain.projection.pace import Pace
from commonlore.workers.run import JobRun, Outcome

TEXT, VECTORS, CLEARING = "projecting_text", "embedding", "clearing"


async def build_generation(run: JobRun) -> Outcome:
    """One turn. A paused generation is left as it is; whoever resumes it asks again."""
    build = _of(run)
    found, counts = await build.look()
    if found is not None and found.state == "projecting_text" and found.paused_at is None:
        outcome = await _project(run, build, counts)
        if outcome is not None:
            return outcome
        found, counts = await build.look()
    if found is not None and found.state == "embedding" and found.paused_at is None:
        return await _embed(run, build, found, counts)
    return Outcome.DONE


async def _project(run: JobRun, build: GenerationBuild, counts: DocumentCounts) -> Outcome | None:
    """None when every text is there, or the generation is not to be worked at."""
    done, pace = counts.documents, Pace()
    await run.tell(TEXT, done, counts.expected)
    while True:
        for space_id in await build.spaces():
            while (batch := await _step(run, pace, build.project, space_id)) is not None:
                done += batch.done
                await run.tell(TEXT, done, max(done, counts.expected))
                if run.is_over():
                    return Outcome.AGAIN
        if await build.finish_text():
            return None
        found, counts = await build.look()
        if found is None or found.state != "projecting_text" or found.paused_at is not None:
            return None
        done = counts.documents
        if run.is_over():
            return Outcome.AGAIN


async def _step(run: JobRun, pace: Pace, work: Callable[[UUID, int], Awaitable[Batch | None]], space_id: UUID) -> Batch | None:
    """One batch, and the rest after it; None, at once, where there was nothing to do."""
    began = run.timer()
    batch = await work(space_id, pace.batch)
    if batch is not None:
        ended = run.timer()
        await asyncio.sleep(pace.rest_s(ended - began, now_s=ended, is_served=batch.is_served))
    return batch


async def _embed(run: JobRun, build: GenerationBuild, found: Generation, counts: DocumentCounts) -> Outcome:
    done, pace = counts.current + counts.failed, Pace()
    await run.tell(VECTORS, done, counts.documents)
    for space_id in await build.spaces():
        while (batch := await _step(run, pace, build.carry, space_id)) is not None:
            done += batch.done
            await run.tell(VECTORS, done, max(done, counts.documents))
            if run.is_over():
                return Outcome.AGAIN
    concluded = await build.conclude()
    if concluded is not None and concluded.state == "embedding" and concluded.paused_at is None:
        await _ask_for_vectors(run, build, found)
    return Outcome.DONE


async def _ask_for_vectors(run: JobRun, build: GenerationBuild, found: Generation) -> None:
    kind, numbers = (EMBED_PARTS, {}) if found.is_served else (EMBED_CONTRACT, {"contract_id": found.contract_id})
    for space_id in await build.spaces():
        await _ask(run, kind, space_id, numbers)


async def _ask(run: JobRun, kind: JobKind, space_id: UUID, numbers: dict[str, int]) -> None:
    async with team_transaction(run.adapters.pool, run.team, timeout_ms=run.adapters.timeout_ms) as transaction:
        await enqueue(transaction, kind, space_id=space_id, **numbers)


async def clear_generation(run: JobRun) -> Outcome:
    """Clear a retired generation away, space by space."""
    build = _of(run)
    _, counts = await build.look()
    done, total, pace = 0, counts.documents, Pace()
    for space_id in await build.spaces():
        while (batch := await _step(run, pace, build.clear, space_id)) is not None:
            done += batch.done
            await run.tell(CLEARING, done, max(done, total))
            if run.is_over():
                return Outcome.AGAIN
    await run.tell(CLEARING, done, max(done, total))
    return Outcome.DONE


def _of(run: JobRun) -> GenerationBuild:
    return GenerationBuild(run.adapters.pool, run.team, int(run.arguments["generation"]), run.adapters.clock)
