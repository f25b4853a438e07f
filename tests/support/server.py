"""The whole service for tests: the application, the serving role and a real socket, in a thread of this process.

with running_service(database) as service:
    ann = service.key()
    service.client(ann).post("/v1/recall_memory", json={"query": "zebra"})
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import httpx

from commonlore.api.cli.serving import listen, serving
from commonlore.api.limits import Limiter
from commonlore.db import tenancy
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.session import Pool, team_transaction
from commonlore.db.settings import Settings
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Embedder, EmbeddingContract, Vectors
from commonlore.domain.time import system_clock
from tests.support.databases import TestDatabase
from tests.support.embedders import HashEmbedder
from tests.support.memory import Holder, mint

T = TypeVar("T")


class SwitchedEmbedder:
    """The served contract, answered by `inner`, which a test may exchange while the service runs."""

    def __init__(self, inner: Embedder | None = None) -> None:
        self.inner: Embedder = inner or HashEmbedder()

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return await self.inner.embed_query(text)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return await self.inner.embed_texts(texts)

    def close(self) -> None:
        """The test's own; nothing to close."""


@dataclass
class Service:
    """A running service. `clients` and `run` are for the test's thread; the service has a loop of its own."""

    database: TestDatabase
    settings: Settings
    embedder: SwitchedEmbedder
    port: int
    loop: asyncio.AbstractEventLoop
    owner: Pool
    limiter: Limiter
    _teams: dict[str, UUID] = field(default_factory=dict)
    _members: dict[tuple[UUID, str], UUID] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """`work` in the service's loop, awaited here."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def client(self, holder: Holder | None = None, **headers: str) -> httpx.Client:
        """A client with the holder's key; closed with the service."""
        if holder is not None:
            headers = {"authorization": f"Bearer {holder.text}", **headers}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=60)
        self._clients.append(made)
        return made

    def key(
        self, team: str = "atlas", member: str | None = None, *, scopes: Sequence[str] = ("read", "write"), binding: str = "credential_private"
    ) -> Holder:
        """A new key of a (new) member of a (new) team."""
        return self.run(self._key(team, member or f"member-{next(self._numbers)}", scopes, binding))

    async def _key(self, team: str, member: str, scopes: Sequence[str], binding: str) -> Holder:
        now = system_clock()
        team_id = self._teams.get(team) or new_id()
        async with team_transaction(self.owner, team_id, timeout_ms=10_000) as transaction:
            if team not in self._teams:
                await tenancy.create_team(transaction, name=team, now=now)
            profile_id = self._members.get((team_id, member))
            if profile_id is None:
                profile_id = (await tenancy.add_member(transaction, name=member, profile_kind="agent", now=now)).profile_id
            holder = await mint(transaction, profile_id, name=f"key-{next(self._numbers)}", scopes=scopes, binding=binding, now=now)
        self._teams[team], self._members[team_id, member] = team_id, profile_id
        return holder


@contextlib.contextmanager
def running_service(database: TestDatabase, embedder: Embedder | None = None, **settings: Any) -> Iterator[Service]:
    """The service over `database` until the block ends. `embedder` defaults to word hashing under the served contract."""
    switched = SwitchedEmbedder(embedder)
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        effective = Settings(**{"home": Path("unused"), "port": port, "pool_size": 4, "query_cache_entries": 1000, **settings})
        loop = asyncio.new_event_loop()
        started: Future[tuple[Pool, Limiter]] = Future()
        stop = asyncio.Event()
        model: Future[Any] = Future()
        model.set_result(switched)

        async def serve() -> None:
            owner = tenancy.owner_pool(database.owner_conninfo)
            try:
                await owner.open()
                async with serving(effective, database.serving_conninfo, listener, model) as limiter:
                    started.set_result((owner, limiter))
                    await stop.wait()
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)
            finally:
                await owner.close()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="test-service", daemon=True)
        thread.start()
        try:
            service = Service(database, effective, switched, port, loop, *started.result(30))
            try:
                yield service
            finally:
                for client in service._clients:
                    client.close()
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(30)
            loop.close()
