"""Operations on projection generations inside an administrator's transaction: describe, start, steer and switch, then encode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from commonlore.api.projections_table import FailedVector, FailedVectorList, GenerationEntry, ProjectionDescription
from commonlore.db import projection
from commonlore.db.session import TeamTransaction
from commonlore.domain.projection.generation import Generation, serving
from commonlore.domain.projection.request import ActivateProjectionRequest, GenerationRequest, ListFailedVectorsRequest, StartProjectionRequest
from commonlore.domain.tenancy.paging import decode_cursor, encode_cursor
from commonlore.domain.time import render_if_any, render_instant


async def describe_projection(transaction: TeamTransaction) -> ProjectionDescription:
    generations = await projection.list_generations(transaction)
    served = next((generation.contract_key for generation in generations if generation.is_served), None)
    source = serving(generations)
    return {"contract_key": served, "generations": [await _entry(transaction, generation, source) for generation in generations]}


async def list_failed_vectors(transaction: TeamTransaction, request: ListFailedVectorsRequest) -> FailedVectorList:
    """
    Raises:
        Incorrect: the cursor is not one of this list.
    """
    after = decode_cursor(request.cursor, transaction.team_id, "failed_vectors") if request.cursor else None
    page = await projection.page_failed(transaction, after=after, limit=request.limit)
    cursor = encode_cursor(transaction.team_id, "failed_vectors", page.last_id) if page.last_id else None
    return {"failed": [_failed(item) for item in page.entries], "next_cursor": cursor}


def _failed(item: projection.FailedVector) -> FailedVector:
    return {
        "id": str(item.id),
        "kind": "text" if item.kind == "text" else "relationship",
        "space_id": str(item.space_id),
        "parts": item.parts,
        "attempts": item.attempts,
        "error_code": item.error_code,
        "failed_at": render_if_any(item.failed_at),
    }


async def start_projection(transaction: TeamTransaction, request: StartProjectionRequest, *, now: datetime) -> GenerationEntry:
    return await _shown(transaction, await projection.start(transaction, activates_itself=request.activate, now=now))


async def steer_projection(transaction: TeamTransaction, name: str, request: GenerationRequest, *, now: datetime) -> GenerationEntry:
    """`pause`, `resume`, `retry` or `retire` the generation that the request names."""
    steps: dict[str, Callable[[], Awaitable[Generation]]] = {
        "pause": lambda: projection.pause(transaction, request.generation, paused=True, now=now),
        "resume": lambda: projection.pause(transaction, request.generation, paused=False, now=now),
        "retry": lambda: projection.retry(transaction, request.generation, now=now),
        "retire": lambda: projection.retire(transaction, request.generation, now=now),
    }
    return await _shown(transaction, await steps[name]())


async def activate_projection(transaction: TeamTransaction, request: ActivateProjectionRequest, *, now: datetime) -> GenerationEntry:
    return await _shown(transaction, await projection.activate(transaction, request.generation, accepts_failed=request.accept_failed, now=now))


async def roll_back_projection(transaction: TeamTransaction, *, now: datetime) -> GenerationEntry:
    return await _shown(transaction, await projection.roll_back(transaction, now=now))


async def _shown(transaction: TeamTransaction, generation: Generation) -> GenerationEntry:
    return await _entry(transaction, generation, serving(await projection.list_generations(transaction)))


async def _entry(transaction: TeamTransaction, generation: Generation, source: Generation | None) -> GenerationEntry:
    counts = None if generation.state == "retired" else await projection.count_documents(transaction, generation, source)
    return {
        "generation": generation.generation,
        "state": generation.state,
        "is_read": generation.is_read,
        "contract_key": generation.contract_key,
        "format_version": generation.format_version,
        "activates_itself": generation.activates_itself,
        "counts": None
        if counts is None
        else {
            "expected": counts.expected,
            "documents": counts.documents,
            "current": counts.current,
            "pending": counts.pending,
            "failed": counts.failed,
        },
        "error_code": generation.error_code,
        "started_at": render_instant(generation.known_from),
        "projected_at": render_if_any(generation.projected_at),
        "ready_at": render_if_any(generation.ready_at),
        "activated_at": render_if_any(generation.activated_at),
        "paused_at": render_if_any(generation.paused_at),
        "retired_at": render_if_any(generation.retired_at),
    }
