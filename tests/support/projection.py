"""Generations in tests: asked for as an administrator, worked at as the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from commonlore.api.administration import TeamAdministration
from commonlore.db.assemble import Adapters
from commonlore.db.session import make_pool
from commonlore.domain.jobs.kind import BUILD_GENERATION, CLEAR_GENERATION, EMBED_CONTRACT, EMBED_PARTS
from commonlore.domain.ports import Embedder
from commonlore.domain.projection.request import ActivateProjectionRequest, DescribeProjectionRequest, GenerationRequest, StartProjectionRequest
from commonlore.workers.build_generation import build_generation, clear_generation
from commonlore.workers.embed_parts import embed_contract, embed_parts
from commonlore.workers.run import Outcome
from tests.support.jobs import a_turn
from tests.support.memory import Holder, Memory, ServedHashEmbedder

REQUESTS: dict[str, Any] = {
    "describe": DescribeProjectionRequest,
    "start": StartProjectionRequest,
    "activate": ActivateProjectionRequest,
    "roll_back": DescribeProjectionRequest,
}


async def ask(memory: Memory, holder: Holder, what: str, **fields: Any) -> dict[str, Any]:
    """`what` of `describe`, `start`, `pause`, `resume`, `retry`, `activate`, `roll_back`, `retire`, by the holder's key."""
    request = msgspec.convert(fields, REQUESTS.get(what, GenerationRequest))
    operation = getattr(TeamAdministration(memory.adapters, lambda _: None), f"{what}_projection")
    return dict(await operation(holder.key, request, correlation_id="test"))


async def states(memory: Memory, holder: Holder) -> dict[int, str]:
    """State by generation."""
    return {entry["generation"]: entry["state"] for entry in (await ask(memory, holder, "describe"))["generations"]}


@dataclass
class Works:
    """The worker's adapters, and turns of the jobs of one team."""

    adapters: Adapters
    holder: Holder

    async def build(self, generation: int) -> Outcome:
        return await build_generation(a_turn(self.adapters, BUILD_GENERATION, self.holder.team_id, generation=generation))

    async def clear(self, generation: int) -> Outcome:
        return await clear_generation(a_turn(self.adapters, CLEAR_GENERATION, self.holder.team_id, generation=generation))

    async def embed(self, contract_id: int | None = None) -> None:
        """What waits in every space of the team, under the served contract or another."""
        for space_id in await self.spaces():
            if contract_id is None:
                await embed_parts(a_turn(self.adapters, EMBED_PARTS, self.holder.team_id, space_id))
            else:
                await embed_contract(a_turn(self.adapters, EMBED_CONTRACT, self.holder.team_id, space_id, contract_id=contract_id))

    async def spaces(self) -> list[Any]:
        from commonlore.db.projection_build import GenerationBuild

        return await GenerationBuild(self.adapters.pool, self.holder.team_id, 1, self.adapters.clock).spaces()


@asynccontextmanager
async def working(memory: Memory, holder: Holder, embedder: Embedder | None = None) -> AsyncIterator[Works]:
    pool = make_pool(memory.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        yield Works(replace(memory.adapters, pool=pool, embedder=embedder or ServedHashEmbedder()), holder)
    finally:
        await pool.close()
