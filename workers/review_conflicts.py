"""Job `review_conflicts`: what the votes say of each due case of one space, applied where the team lets it count by itself.

Each case is a transaction of its own. One that cannot be reviewed is left for the next try and keeps no other from its turn.
"""

from __future__ import annotations

import logging

from commonlore.db.conflict_review import CaseReviews
from commonlore.domain.errors import CommonloreError
from commonlore.workers.run import JobRun, Outcome

STAGE = "reviewing"
_MOST = 200
log = logging.getLogger("commonlore.worker")


async def review_conflicts(run: JobRun) -> Outcome:
    """
    Raises:
        CommonloreError: the failure of the first case that could not be reviewed, after all others were.
    """
    reviews, now = CaseReviews(run.adapters.pool, run.team, run.space), run.adapters.clock()
    due = await reviews.due(now, most=_MOST)
    failure: CommonloreError | None = None
    for done, conflict_id in enumerate(due):
        await run.tell(STAGE, done, len(due))
        if run.is_over():
            return Outcome.AGAIN
        try:
            await reviews.review(conflict_id, now)
        except CommonloreError as error:
            log.warning("a conflict of team %s could not be reviewed: %s", run.team, error.code)
            failure = failure or error
    await run.tell(STAGE, len(due), len(due))
    if failure is not None:
        raise failure
    return Outcome.AGAIN if len(due) == _MOST else Outcome.DONE
