"""Which function does which kind of job: one entry a kind of `commonlore.domain.jobs.kind.KINDS`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from commonlore.db.backlog import SpaceBacklog, sweep
from commonlore.db.rendering import render_documents
from commonlore.domain.jobs.kind import (
    APPLY_RETENTION,
    BUILD_GENERATION,
    CLEAR_GENERATION,
    DETECT_COMMUNITIES,
    DROP_VECTOR_INDEXES,
    EMBED_CONTRACT,
    EMBED_PARTS,
    ERASE,
    FOLD_STATISTICS,
    PROPOSE_HYPOTHESES,
    RENDER_DOCUMENTS,
    REVIEW_CONFLICTS,
    SCHEDULE_COMMUNITIES,
    SEAL_AUDIT,
    SWEEP,
    TEND_VECTOR_INDEXES,
)
from commonlore.workers.apply_retention import apply_retention
from commonlore.workers.build_generation import build_generation, clear_generation
from commonlore.workers.detect_communities import detect_communities, schedule_communities
from commonlore.workers.embed_parts import embed_contract, embed_parts
from commonlore.workers.erase import erase
from commonlore.workers.propose_hypotheses import propose_hypotheses
from commonlore.workers.review_conflicts import review_conflicts
from commonlore.workers.run import Handler, JobRun, Outcome
from commonlore.workers.seal_audit import seal_audit
from commonlore.workers.tend_vector_indexes import drop_vector_indexes, tend_vector_indexes

log = logging.getLogger(__name__)


async def _render(run: JobRun) -> Outcome:
    await render_documents(run.adapters.pool, team_id=run.team, space_id=run.space, entity_id=UUID(run.arguments["entity_id"]))
    return Outcome.DONE


async def _fold(run: JobRun) -> Outcome:
    space = SpaceBacklog(run.adapters.pool, run.team, run.space)
    while await space.fold():
        if run.is_over():
            return Outcome.AGAIN
    return Outcome.DONE


async def _sweep(run: JobRun) -> Outcome:
    indexes = run.adapters.indexes if run.adapters.owner_conninfo is not None else None
    found = await sweep(run.adapters.pool, run.queue, clock=run.adapters.clock, indexes=indexes)
    log.debug("sweep: %d spaces, %d asked for, %d teams failed", found.spaces, found.enqueued, found.failed)
    return Outcome.DONE


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        EMBED_PARTS.name: embed_parts,
        EMBED_CONTRACT.name: embed_contract,
        BUILD_GENERATION.name: build_generation,
        CLEAR_GENERATION.name: clear_generation,
        RENDER_DOCUMENTS.name: _render,
        FOLD_STATISTICS.name: _fold,
        REVIEW_CONFLICTS.name: review_conflicts,
        DETECT_COMMUNITIES.name: detect_communities,
        SCHEDULE_COMMUNITIES.name: schedule_communities,
        PROPOSE_HYPOTHESES.name: propose_hypotheses,
        ERASE.name: erase,
        TEND_VECTOR_INDEXES.name: tend_vector_indexes,
        DROP_VECTOR_INDEXES.name: drop_vector_indexes,
        APPLY_RETENTION.name: apply_retention,
        SEAL_AUDIT.name: seal_audit,
        SWEEP.name: _sweep,
    }
)
