"""Job `apply_retention`: what a team keeps for a time only and whose time is over. Small transactions, each logged with its number of rows."""

from __future__ import annotations

from commonlore.db.retention import KEPT, note_run, remove_batch
from commonlore.workers.run import JobRun, Outcome


async def apply_retention(run: JobRun) -> Outcome:
    """One kind after the other, until nothing is left that the rule lets go."""
    pool, now = run.adapters.pool, run.adapters.clock()
    for kind in KEPT:
        done = 0
        while removed := await remove_batch(pool, run.team, kind, now=now):
            done += removed
            await run.tell(kind, done)
            if run.is_over():
                return Outcome.AGAIN
    await note_run(pool, run.team, now=now)
    return Outcome.DONE
