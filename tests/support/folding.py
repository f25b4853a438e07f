"""A worker's hands on the words of a space."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from commonlore.db.backlog import SpaceBacklog
from commonlore.db.session import make_pool
from tests.support.memory import Holder, Memory


@asynccontextmanager
async def folding(memory: Memory, holder: Holder) -> AsyncIterator[SpaceBacklog]:
    """The shared space of the holder's team."""
    pool = make_pool(memory.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        found: UUID = memory.sql("select space_id from commonlore.space where team_id = %s and space_kind = 'team_shared'", holder.team_id)[0][0]
        yield SpaceBacklog(pool, holder.team_id, found)
    finally:
        await pool.close()
