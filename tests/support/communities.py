"""Communities in a memory under test: switched on, detected as the worker role, and looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

from commonlore.db.assemble import Adapters
from commonlore.db.communities import switch
from commonlore.db.session import make_pool, team_transaction
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.workers.detect_communities import run_detection
from tests.support.memory import Holder, Memory


def space_of(memory: Memory, holder: Holder, kind: str = "team_shared") -> tuple[UUID, int]:
    """The id and the epoch of a space: the team's shared one, or that of the key."""
    owner = "" if kind == "team_shared" else f" and owner_credential_id = '{holder.credential_id}'"
    [(space_id, epoch)] = memory.sql(
        f"select space_id, space_epoch from commonlore.space where team_id = %s and space_kind = %s and name is null{owner}", holder.team_id, kind
    )
    return space_id, epoch


@asynccontextmanager
async def as_worker(memory: Memory) -> AsyncIterator[Adapters]:
    """The adapters of a worker process, with the clock of the memory."""
    pool = make_pool(memory.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        yield replace(memory.adapters, pool=pool)
    finally:
        await pool.close()


async def enable(memory: Memory, holder: Holder, kind: str = "team_shared", *, enabled: bool = True) -> None:
    space_id, epoch = space_of(memory, holder, kind)
    async with team_transaction(memory.adapters.pool, holder.team_id, timeout_ms=10_000) as transaction:
        transaction.epochs = {space_id: epoch}
        await transaction.enter(space_id)
        await switch(transaction, enabled=enabled, now=memory.clock())


async def detect(memory: Memory, holder: Holder, kind: str = "team_shared", *, policy: CommunityPolicy | None = None) -> str | None:
    """One run; how it ended."""
    space_id, _ = space_of(memory, holder, kind)
    async with as_worker(memory) as adapters:
        return await run_detection(adapters, team_id=holder.team_id, space_id=space_id, policy=policy)


def codes(answer: dict[str, Any], frontier: str = "communities") -> list[str]:
    """The degradations of a frontier."""
    return [item["code"] for item in answer["degradations"] if item["frontier"] == frontier]


def nested(answer: dict[str, Any]) -> list[list[str]]:
    """The subjects, predicates and objects that each community shows, as sentences."""
    return [[sentence(item) for item in community["relationships"]] for community in answer["related_communities"]]


def direct(answer: dict[str, Any]) -> list[str]:
    return [sentence(item) for item in answer["related_relationships"]]


def sentence(item: dict[str, Any]) -> str:
    target = item["object"]
    return f"{item['subject']['name']} {item['predicate']} {target.get('name') or target.get('display')}"
