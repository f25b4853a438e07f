"""A fake of the operations behind the edge, and the real server on a free loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import uvicorn

from commonlore.api.app import create_app
from commonlore.api.operations import TOOLS
from commonlore.api.protocol import uvicorn_options
from commonlore.db.settings import Settings
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.key import PresentedKey, mint

TEAM = UUID("0198c000-0000-7000-8000-000000000001")
KEY = mint(TEAM).text


def recall_answer(results: int = 10) -> dict[str, object]:
    """An answer of the usual size: each context 400 characters."""
    return {
        "recall_id": str(new_id()),
        "results": [
            {
                "evidence_id": str(new_id()),
                "context": f"{place}: " + "the project moved to another town in spring. " * 8,
                "space_kind": "team_shared",
                "equivalent_evidence_ids": [],
                "equivalents_truncated": False,
            }
            for place in range(results)
        ],
        "related_relationships": [],
        "related_communities": [],
        "conflicts": [],
        "search_states": {"evidence": "current", "relationships": "current", "communities": "not_required"},
        "degradations": [],
        "suggested_actions": [],
    }


@dataclass
class FakeOperations:
    """Keeps what it was asked; answers with `answer`, or raises `failure`, after `delay_s`."""

    answer: dict[str, object] = field(default_factory=recall_answer)
    failure: BaseException | None = None
    delay_s: float = 0.0
    asked: list[tuple[str, Any]] = field(default_factory=list)
    cancelled: int = 0

    async def _serve(self, name: str, request: object) -> dict[str, object]:
        self.asked.append((name, request))
        try:
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure
        return self.answer

    def __getattr__(self, name: str) -> Callable[..., Awaitable[dict[str, object]]]:
        """Every tool alike."""
        if name not in TOOLS:
            raise AttributeError(name)

        async def serve(key: PresentedKey, request: object, *, correlation_id: str) -> dict[str, object]:
            return await self._serve(name, request)

        return serve


@dataclass
class Edge:
    """A running server: its port, its fake, and what readiness raises."""

    port: int
    operations: FakeOperations
    settings: Settings
    not_ready: CommonloreError | None = None

    def reset(self) -> None:
        """As if it had just started."""
        self.not_ready = None
        fresh = FakeOperations()
        self.operations.__dict__.update(fresh.__dict__)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Server(uvicorn.Server):
    """Stops at once instead of at the next tenth of a second; leaves the signals alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.stopping.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serving(app: Any, settings: Settings) -> AsyncIterator[int]:
    """`app` under uvicorn in this loop until the block ends; gives the port."""
    # With protocol 0 asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for the client's delayed acknowledgement.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        server = _Server(uvicorn.Config(app, log_level="info", log_config=None, **uvicorn_options(settings)))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110  uvicorn has a flag and no event
            await asyncio.sleep(0.005)
        try:
            yield listener.getsockname()[1]
        finally:
            server.stopping.set()
            await task


@contextlib.asynccontextmanager
async def running_edge(operations: FakeOperations | None = None, **settings: Any) -> AsyncIterator[Edge]:
    """The application with fake operations, on a free port."""
    edge = Edge(0, operations or FakeOperations(), Settings(home=Path("unused"), **settings))

    async def ready() -> None:
        if edge.not_ready is not None:
            raise edge.not_ready

    async with serving(create_app(edge.operations, settings=edge.settings, ready=ready), edge.settings) as edge.port:
        yield edge
