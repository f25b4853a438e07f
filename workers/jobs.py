"""The job kinds as procrastinate tasks. Arguments are ids; the context of team and space is set per transaction."""

from __future__ import annotations

import logging
from uuid import UUID

import procrastinate

from commonlore.db.assemble import Adapters
from commonlore.db.backlog import EMBED_PARTS, sweep
from commonlore.db.rendering import RENDER_DOCUMENTS, render_documents
from commonlore.workers.embed_parts import embed_parts

log = logging.getLogger(__name__)
STALLED_AFTER_S = 30
# Five tries with a growing pause; then the job stays as failed, with its reason in the worker's log.
_RETRY = procrastinate.RetryStrategy(max_attempts=5, exponential_wait=4)


def make_app(conninfo: str, adapters: Adapters) -> procrastinate.App:
    """The application with every job kind, over the queue's own schema."""
    connector = procrastinate.PsycopgConnector(
        conninfo=conninfo, kwargs={"options": "-c search_path=procrastinate", "application_name": "commonlore-queue"}
    )
    app = procrastinate.App(connector=connector)

    @app.task(name=EMBED_PARTS, queue="embedding", retry=_RETRY)
    async def run_embed_parts(team_id: str, space_id: str) -> int:
        return await embed_parts(adapters, team_id=UUID(team_id), space_id=UUID(space_id))

    @app.task(name=RENDER_DOCUMENTS, queue="embedding", retry=_RETRY)
    async def run_render_documents(team_id: str, space_id: str, entity_id: str) -> int:
        return await render_documents(adapters.pool, team_id=UUID(team_id), space_id=UUID(space_id), entity_id=UUID(entity_id))

    @app.periodic(cron="* * * * * */20")
    @app.task(name="sweep", queue="upkeep", queueing_lock="sweep", pass_context=False)
    async def run_sweep(timestamp: int) -> None:
        await retry_stalled(app)
        found = await sweep(adapters.pool)
        log.debug("sweep: %d spaces, %d enqueued, %d folded", found.spaces, found.enqueued, found.folded)

    return app


async def retry_stalled(app: procrastinate.App) -> int:
    """Put jobs of workers that stopped answering back into the queue; returns how many."""
    stalled = list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER_S))
    for job in stalled:
        await app.job_manager.retry_job(job)
    return len(stalled)
