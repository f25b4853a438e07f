"""Erasures for tests: asked for as a caller would, and carried out as a worker would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec

from commonlore.api.administration import TeamAdministration
from commonlore.db.assemble import Adapters
from commonlore.db.erasure.exports import register_export
from commonlore.db.session import make_pool, team_transaction
from commonlore.db.tenancy import owner_pool
from commonlore.domain.erasure.request import DeleteRequest, EraseRequest, ErasureTarget
from commonlore.domain.jobs.kind import ERASE
from commonlore.workers.erase import erase as carry_out
from commonlore.workers.run import Outcome
from tests.support.jobs import a_turn
from tests.support.memory import Holder, Memory


def administration(memory: Memory) -> TeamAdministration:
    return TeamAdministration(memory.adapters, lambda _: None)


async def preview(memory: Memory, holder: Holder, kind: str, target_id: object, **fields: Any) -> dict[str, Any]:
    target = msgspec.convert({"target_kind": kind, "target_id": str(target_id), **fields}, ErasureTarget)
    return dict(await administration(memory).preview_erasure(holder.key, target, correlation_id="test"))


async def erase(memory: Memory, holder: Holder, kind: str, target_id: object, **fields: Any) -> dict[str, Any]:
    """Previewed, confirmed and hidden; nothing is deleted yet."""
    seen = await preview(memory, holder, kind, target_id, **fields)
    confirmed = {name: seen[name] for name in ("target_kind", "target_id", "confirmation", "confirmation_token")}
    request = msgspec.convert({**confirmed, "reason": "a test", **fields}, EraseRequest)
    return dict(await administration(memory).erase(holder.key, request, correlation_id="test"))


async def delete(memory: Memory, holder: Holder, kind: str, target_id: object, **fields: Any) -> dict[str, Any]:
    seen = await preview(memory, holder, kind, target_id)
    confirmed = {name: seen[name] for name in ("target_kind", "target_id", "confirmation", "confirmation_token")}
    request = msgspec.convert({**confirmed, "reason": "a test", **fields}, DeleteRequest)
    return dict(await administration(memory).delete_space_or_team(holder.key, request, correlation_id="test"))


async def exported(memory: Memory, holder: Holder, path: Path, content: str) -> None:
    """A file with the words, as the team knows of it; its kind is its name."""
    await asyncio.to_thread(path.write_text, content)
    await listed(memory, holder, path)


async def listed(memory: Memory, holder: Holder, path: Path) -> None:
    """A line in the team's list of files, whatever there is."""
    async with owner_pool(memory.database.owner_conninfo) as pool, team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
        await register_export(transaction, kind=path.name, path=path, now=memory.clock())


def carrying(receipt: dict[str, Any]) -> dict[str, str]:
    """What the receipt says of each kind of file."""
    return {item["kind"]: item["carries"] for item in receipt["exports_to_destroy"]}


@asynccontextmanager
async def worker_adapters(memory: Memory, home: Path) -> AsyncIterator[Adapters]:
    """The adapters of a worker: its own role, and a folder for the key that signs receipts."""
    pool = make_pool(memory.database.worker_conninfo, size=2, name="test-worker")
    await pool.open()
    try:
        yield replace(memory.adapters, pool=pool, home=home)
    finally:
        await pool.close()


async def work(memory: Memory, team_id: UUID, erasure_id: str, home: Path, *, between: Callable[[], None] | None = None) -> dict[str, Any]:
    """Carry the erasure out; its receipt. With `between` every turn is over after its first batch, and it is called after each."""
    async with worker_adapters(memory, home) as adapters:
        while await carry_out(turn(adapters, team_id, erasure_id, stopping=between is not None)) is Outcome.AGAIN:
            if between is not None:
                between()
    [(receipt,)] = memory.sql("select receipt from commonlore.erasure where erasure_id = %s::uuid", erasure_id)
    decoded: dict[str, Any] = msgspec.json.decode(receipt) if receipt else {}
    return decoded


def turn(adapters: Adapters, team_id: UUID, erasure_id: str, *, stopping: bool = False) -> Any:
    run = a_turn(adapters, ERASE, team_id, erasure_id=erasure_id)
    run.stopping = lambda: stopping
    run.entry = replace(run.entry, job_id=uuid4())
    return run
