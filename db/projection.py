"""Projection generations of a team: started, watched, paused, activated, rolled back and retired in the transaction of an administrator.

Whoever changes a state holds the lock of the team's generations. What is counted is counted from rows, space by space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.contracts import KeptContract
from commonlore.db.job_queue import is_cared_for
from commonlore.db.jobs import enqueue, job_key
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.errors import Conflict
from commonlore.domain.jobs.kind import BUILD_GENERATION, CLEAR_GENERATION
from commonlore.domain.projection.document import FORMAT_VERSION
from commonlore.domain.projection.generation import BUILT, DocumentCounts, Generation, pick, previous, require_complete, require_startable, serving
from commonlore.domain.tenancy.paging import Page

_SQL = statements("projection")
_WORKER = statements("worker")


async def list_generations(transaction: TeamTransaction) -> list[Generation]:
    """The newest first."""
    rows = await (await transaction.execute(_SQL["list_generations"])).fetchall()
    return [Generation(**row) for row in rows]


async def lock_generations(transaction: TeamTransaction) -> list[Generation]:
    """Until the transaction ends nobody else changes the states of the team's generations; how they stand, the newest first."""
    await transaction.execute(_SQL["lock_generations"])
    return await list_generations(transaction)


async def open_spaces(transaction: TeamTransaction) -> list[Any]:
    """The active spaces of the team, which `enter` opens from now on."""
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return list(transaction.epochs)


async def count_documents(transaction: TeamTransaction, generation: Generation, source: Generation | None) -> DocumentCounts:
    """Documents of a generation over all spaces, beside those of the one that it is made from."""
    total = DocumentCounts()
    for space_id in await open_spaces(transaction):
        await transaction.enter(space_id)
        parameters = {"generation": generation.generation, "source": (source or generation).generation}
        row = await (await transaction.execute(_SQL["count_documents"], **parameters)).fetchone()
        assert row is not None
        total = total.plus(DocumentCounts(**row))
    return total


@dataclass(frozen=True, slots=True)
class FailedVector:
    """What has no vector for good: a text, with how many of its parts failed, or a relationship. Of several failures the last is told."""

    id: UUID
    kind: str
    parts: int
    attempts: int
    error_code: str | None
    failed_at: datetime | None
    space_id: UUID


async def page_failed(transaction: TeamTransaction, *, after: UUID | None, limit: int) -> Page[FailedVector]:
    """Over all spaces of the team, by id."""
    found: list[FailedVector] = []
    for space_id in await open_spaces(transaction):
        await transaction.enter(space_id)
        rows = await (await transaction.execute(_SQL["failed_vectors"], after=after, limit=limit + 1)).fetchall()
        found += [FailedVector(**row, space_id=space_id) for row in rows]
    found = sorted(found, key=lambda item: item.id)[: limit + 1]
    return Page(found[:limit], found[limit - 1].id if len(found) > limit else None)


async def start(transaction: TeamTransaction, *, activates_itself: bool, now: datetime) -> Generation:
    """A new generation under the served contract, and the job that builds it.

    Raises:
        Conflict: `generation_building`, another one is being built, failed or stands by.
    """
    source = require_startable(await lock_generations(transaction))
    return await add(transaction, source.contract_id, activates_itself=activates_itself, now=now)


async def add(transaction: TeamTransaction, contract_id: int, *, activates_itself: bool, now: datetime) -> Generation:
    """A generation of a contract that has none under way, and the job that builds it. The lock of the generations is held."""
    row = await (
        await transaction.execute(
            _SQL["add_generation"], contract_id=contract_id, format_version=FORMAT_VERSION, activates_itself=activates_itself, now=now
        )
    ).fetchone()
    assert row is not None
    await ask_to_build(transaction, row["generation"])
    return pick(await list_generations(transaction), row["generation"], "projecting_text")


async def ask_to_build(transaction: TeamTransaction, generation: int) -> None:
    await enqueue(transaction, BUILD_GENERATION, generation=generation)


async def pause(transaction: TeamTransaction, number: int | None, *, paused: bool, now: datetime) -> Generation:
    """Stop building after the present batch, or go on from there.

    Raises:
        NotVisible: no such generation.
        Conflict: `stale_input`, it is not being built.
    """
    found = pick(await lock_generations(transaction), number, *sorted(BUILT))
    await transaction.execute(_SQL["set_paused"], generation=found.generation, paused_at=(found.paused_at or now) if paused else None)
    if not paused:
        await ask_to_build(transaction, found.generation)
    return pick(await list_generations(transaction), found.generation, found.state)


async def retry(transaction: TeamTransaction, number: int | None, *, now: datetime) -> Generation:
    """Try the failed documents of a generation again, with all their tries.

    Raises:
        NotVisible: no such generation.
        Conflict: `stale_input`, it did not fail.
    """
    found = pick(await lock_generations(transaction), number, "failed", "current", "standby")
    for space_id in await open_spaces(transaction):
        await transaction.enter(space_id)
        await transaction.execute(_SQL["retry_documents"], generation=found.generation)
    if found.state == "failed" and found.activated_at is None:
        await _set_state(transaction, found, "embedding", now)
    await ask_to_build(transaction, found.generation)
    return pick(await list_generations(transaction), found.generation, found.state, "embedding")


async def activate(transaction: TeamTransaction, number: int | None, *, accepts_failed: bool, now: datetime) -> Generation:
    """Let recalls read a generation that is ready, from the commit of the transaction on; what served stands by.

    Raises:
        NotVisible: no such generation.
        Conflict: `stale_input`, it is not ready; `generation_incomplete`, documents or vectors are missing.
    """
    generations = await lock_generations(transaction)
    found = pick(generations, number, "standby", *(("failed",) if accepts_failed else ()))
    return await _switch(transaction, generations, found, accepts_failed=accepts_failed, now=now)


async def roll_back(transaction: TeamTransaction, *, now: datetime) -> Generation:
    """Let recalls read again what served before.

    Raises:
        Conflict: `stale_input`, nothing stands by that served before; `generation_incomplete`, it lacks documents or vectors.
    """
    generations = await lock_generations(transaction)
    return await _switch(transaction, generations, previous(generations), accepts_failed=True, now=now)


async def _switch(
    transaction: TeamTransaction, generations: list[Generation], found: Generation, *, accepts_failed: bool, now: datetime
) -> Generation:
    if not found.is_served:
        raise Conflict("stale_input", "the generation is of a contract that does not serve; the installation's owner switches contracts")
    source = serving(generations)
    require_complete(await count_documents(transaction, found, source), accepts_failed=accepts_failed)
    await switch(transaction, source, found, now=now)
    return pick(await list_generations(transaction), found.generation, "current")


async def switch(transaction: TeamTransaction, source: Generation | None, found: Generation, *, now: datetime) -> None:
    """The one becomes what the other was. A recall reads either, whole."""
    if source is not None:
        await _set_state(transaction, source, "standby", now)
    await _set_state(transaction, found, "current", now)


async def fail(transaction: TeamTransaction, found: Generation, error_code: str, *, now: datetime) -> None:
    await _set_state(transaction, found, "failed", now, error_code)


async def stand_by(transaction: TeamTransaction, found: Generation, *, now: datetime) -> None:
    await _set_state(transaction, found, "standby", now)


async def retire(transaction: TeamTransaction, number: int | None, *, now: datetime) -> Generation:
    """Give up a generation that does not serve; a job clears its rows away.

    Raises:
        NotVisible: no such generation.
        Conflict: `stale_input`, recalls read it, or it belongs to a contract that is being changed.
    """
    generations = await lock_generations(transaction)
    found = pick(generations, number, "standby", "failed", "embedding", "projecting_text")
    if not found.is_served:
        raise Conflict("stale_input", "the generation is of a contract that does not serve; the installation's owner retires contracts")
    if serving(generations) is None:
        raise Conflict("stale_input", "no generation is current, so recalls read this one's words")
    await let_go(transaction, found, now=now)
    return pick(await list_generations(transaction), found.generation, "retired")


async def let_go(transaction: TeamTransaction, found: Generation, *, now: datetime) -> None:
    """Retire a generation and ask for the job that clears it. The lock of the generations is held."""
    await _set_state(transaction, found, "retired", now)
    await enqueue(transaction, CLEAR_GENERATION, generation=found.generation)


async def _set_state(transaction: TeamTransaction, found: Generation, state: str, now: datetime, error_code: str | None = None) -> None:
    await transaction.execute(_SQL["set_state"], generation=found.generation, state=state, error_code=error_code, now=now)


async def tend_generations(transaction: TeamTransaction, kept: Sequence[KeptContract], *, now: datetime) -> int:
    """Give the team a generation of every contract that is kept, and ask for the jobs of those that are built; how many were asked for."""
    known = await list_generations(transaction)
    lacking = [contract for contract in kept if not _has(known, contract)]
    if lacking:
        known = await lock_generations(transaction)
        for contract in (contract for contract in lacking if not _has(known, contract)):
            await add(transaction, contract.contract_id, activates_itself=True, now=now)
    asked = len(lacking)
    for generation in known:
        if generation.state in BUILT and generation.paused_at is None:
            key = job_key(BUILD_GENERATION, transaction.team_id, None, {"generation": generation.generation})
            if not await is_cared_for(transaction, key):
                await ask_to_build(transaction, generation.generation)
                asked += 1
    return asked


def _has(known: Sequence[Generation], contract: KeptContract) -> bool:
    return any(generation.contract_id == contract.contract_id and generation.state != "retired" for generation in known)
