"""Jobs on vector indexes: bring those of one space to what its size asks for, and drop those of spaces that are gone.

Killed anywhere they begin again: searches are exact from before the first step until the index was measured, an index that
was cut off is not valid and is built anew, and dropping what is not there does nothing.
"""

from __future__ import annotations

import asyncio
import logging

from commonlore.db.assemble import Adapters
from commonlore.db.backlog import active_epochs
from commonlore.db.vector_indexes import SpaceIndexes, index_builder
from commonlore.domain.jobs.kind import JobFailed
from commonlore.domain.projection.vector_index import SEARCH_DEPTH, Seen
from commonlore.workers.run import JobRun, Outcome

log = logging.getLogger(__name__)
_LOOK_EVERY_S = 2.0


async def tend_vector_indexes(run: JobRun) -> Outcome:
    """Build, measure or drop, one step after the other, until both frontiers are as they should be."""
    policy, clock = run.adapters.indexes, run.adapters.clock
    space = SpaceIndexes(run.adapters.pool, run.team, run.space, policy)
    steps = [(policy.step(seen, clock()), seen) for seen in await space.read()]
    for step, seen in steps:
        if step == "build":
            await _build(run, space, seen)
        elif step in ("drop", "forget"):
            await _drop(run, space, seen)
    for seen in await space.read():
        if policy.step(seen, clock()) == "measure":
            await _measure(run, space, seen)
    return Outcome.DONE


async def drop_vector_indexes(run: JobRun) -> Outcome:
    """Drop the indexes of spaces that are no more: retired, fenced, or of a retired team."""
    if run.adapters.owner_conninfo is None:
        return Outcome.DONE
    async with index_builder(run.adapters.owner_conninfo) as builder:
        if builder is not None:
            # The spaces are read last: an index can only stand of one that was there before.
            standing = await builder.standing()
            epochs = await active_epochs(run.adapters.pool)
            for name in (name for name, epoch in standing.items() if epochs is not None and epoch not in epochs):
                await builder.drop(name)
                log.info("the vector index %s belonged to a space that is no more", name)
    return Outcome.DONE


async def _build(run: JobRun, space: SpaceIndexes, seen: Seen) -> None:
    name, condition = await space.note_building(seen), await space.condition(seen)
    if name is None or condition is None:
        return
    async with index_builder(_owner(run.adapters)) as builder:
        if builder is None:
            raise JobFailed("index_busy")
        building = asyncio.ensure_future(builder.build(name, seen, condition, run.adapters.indexes))
        try:
            while not (await asyncio.wait((building,), timeout=_LOOK_EVERY_S))[0]:
                await run.tell(f"building_{seen.frontier}", min(await builder.built(), seen.rows), seen.rows)
            await building
        finally:
            await _end(building)


async def _end(building: asyncio.Future[None]) -> None:
    """A build whose job is cancelled is cancelled on the server before the connection closes."""
    if not building.done():
        building.cancel()
        await asyncio.wait((building,))


async def _drop(run: JobRun, space: SpaceIndexes, seen: Seen) -> None:
    """Searches are exact before the index goes, so that none is slow for a plan that is made anew."""
    name = await space.note_building(seen)
    if name is not None and seen.is_valid is not None:
        async with index_builder(_owner(run.adapters)) as builder:
            if builder is None:
                raise JobFailed("index_busy")
            await builder.drop(name)
    await space.forget(seen)


async def _measure(run: JobRun, space: SpaceIndexes, seen: Seen) -> None:
    policy = run.adapters.indexes
    await run.tell(f"measuring_{seen.frontier}", 0, policy.queries)
    overlap = await space.measure(seen, depth=SEARCH_DEPTH)
    if overlap is None:
        return
    state = policy.state(overlap.thousandths, seen.rows)
    await space.note_measured(seen, overlap, state, run.adapters.clock())
    if state != "ready":
        log.warning(
            "a vector index over %d rows finds %d of 1000 nearest, %d are wanted: %s",
            seen.rows,
            overlap.thousandths,
            policy.wanted_overlap(seen.rows),
            state,
        )


def _owner(adapters: Adapters) -> str:
    if adapters.owner_conninfo is None:
        raise JobFailed("owner_unknown")
    return adapters.owner_conninfo
