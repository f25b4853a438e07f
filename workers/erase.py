"""Erasure: what a request has hidden is deleted, batch by batch; then every table is searched, and the receipt is signed.

Each step is done from rows: a turn that ends, or a worker that is killed, leaves a state from which the next one goes on.
"""

from __future__ import annotations

from uuid import UUID

from commonlore.db.erasure.checking import Found, conclude, search_scope
from commonlore.db.erasure.deletion import Catalogue, Deletion, Erasure, Scope
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
    return await _check(run, deletion, erasure, scopes, catalogue)


async def _delete(run: JobRun, deletion: Deletion, scope: Scope, catalogue: Catalogue) -> bool:
    """Everything of one epoch; False where the turn was over before."""
    await run.tell("collecting", 0)
    await deletion.collect(scope, catalogue)
    await deletion.unlink(scope, catalogue)
    await deletion.purge_feedback(scope)
    rules = catalogue.rules()
    for number, (table, rule) in enumerate(rules):
        await run.tell("deleting", number, len(rules))
        while not await deletion.purge(scope, table, rule, catalogue):
            if run.is_over():
                return False
    await deletion.purge_epoch(scope)
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
