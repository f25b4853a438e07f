"""Erasure: what a request has hidden is deleted, batch by batch; then every table is searched, and the receipt is signed.

Each step is done from rows: a turn that ends, or a worker that is killed, leaves a state from which the next one goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

from commonlore.db.erasure.checking import Found, conclude, search_scope
from commonlore.db.erasure.deletion import COLLECTED, EMPTIED, LISTED, Catalogue, Deletion, Erasure, Scope
from commonlore.db.erasure.manifest import TEAM_ORDER
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import JobFailed
from commonlore.workers.run import JobRun, Outcome


async def erase(run: JobRun) -> Outcome:
    """One turn of one erasure.

    Raises:
        JobFailed: `table_unclassified`, a table is in no line of the manifest; the receipt says so too.
    """
    deletion = Deletion(run.adapters.pool, run.team, UUID(run.arguments["erasure_id"]))
    erasure = await deletion.read()
    if erasure is not None and erasure.state == "deleted":
        if not await deletion.end_deleted(now=run.adapters.clock()):
            return Outcome.DONE  # a hold stands against it: a later sweep asks again
        erasure = await deletion.read()
    if erasure is None or erasure.state not in ("hidden", "deleting", "checking"):
        return Outcome.DONE
    catalogue = await deletion.catalogue()
    scopes = await deletion.scopes()
    if erasure.state != "checking":
        await deletion.set_state("deleting")
        for scope in scopes:
            if not await _delete(run, deletion, scope, catalogue):
                return Outcome.AGAIN
        if not await _delete_names(run, deletion, erasure):
            return Outcome.AGAIN
    return await _check(run, deletion, erasure, scopes, catalogue)


async def _delete(run: JobRun, deletion: Deletion, scope: Scope, catalogue: Catalogue) -> bool:
    """Everything of one epoch; False where the turn was over before."""
    if EMPTIED in scope.steps_done:
        return True
    try:
        if COLLECTED not in scope.steps_done:
            await run.tell("collecting", 0)
            await deletion.collect(scope, catalogue)
            await deletion.unlink(scope, catalogue)
            if not await _until_over(run, lambda: deletion.purge_feedback(scope)):
                return False
            await deletion.note_step(scope, COLLECTED)
        rules = catalogue.rules()
        for number, (table, rule) in enumerate(rules):
            await run.tell("deleting", number, len(rules))
            if not await _until_over(run, partial(deletion.purge, scope, table, rule, catalogue)):
                return False
        await deletion.purge_epoch(scope)
    except CommonloreError:
        await deletion.forget_collected()
        raise
    return True


async def _delete_names(run: JobRun, deletion: Deletion, erasure: Erasure) -> bool:
    """What a team, a member or a key has beside its spaces, but its name; False where the turn was over before."""
    if erasure.target_kind != "team":
        return await _until_over(run, lambda: deletion.purge_recalls(erasure))
    if not await _until_over(run, lambda: deletion.purge_jobs(run.entry.job_id)):
        return False
    for table in TEAM_ORDER:
        if table != LISTED and not await _until_over(run, partial(deletion.purge_team, table)):
            return False
    return True


async def _until_over(run: JobRun, step: Callable[[], Awaitable[bool]]) -> bool:
    """Repeat a step until it says that nothing is left; False where the turn was over before."""
    while not await step():
        if run.is_over():
            return False
    return True


async def _check(run: JobRun, deletion: Deletion, erasure: Erasure, scopes: list[Scope], catalogue: Catalogue) -> Outcome:
    await deletion.set_state("checking")
    found = Found()
    for number, scope in enumerate(scopes):
        await run.tell("checking", number, len(scopes))
        await search_scope(deletion, scope, catalogue, found)
    receipt = await conclude(
        deletion, erasure, scopes, catalogue, found, run.adapters.receipts_signed_by(), now=run.adapters.clock(), job_id=run.entry.job_id
    )
    if receipt.unclassified:
        raise JobFailed("table_unclassified", for_good=True)
    return Outcome.DONE
