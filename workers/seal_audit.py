"""Job `seal_audit`: seals on the entries of a team's audit log that wait for one."""

from __future__ import annotations

from commonlore.db.audit_log import seal_batch
from commonlore.domain.audit.entry import MOST_SEALED
from commonlore.workers.run import JobRun, Outcome

STAGE = "sealing"


async def seal_audit(run: JobRun) -> Outcome:
    """One seal after the other until fewer entries wait than one may hold."""
    done = 0
    while not run.is_over():
        sealed = await seal_batch(run.adapters.pool, run.team, now=run.adapters.clock())
        done += sealed
        await run.tell(STAGE, done)
        if sealed < MOST_SEALED:
            return Outcome.DONE
    return Outcome.AGAIN
