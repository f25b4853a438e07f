"""A recall goes on with other work once a thread has begun to embed its query, and not before."""

from __future__ import annotations

import asyncio
import threading

import pytest

from commonlore.db.embedding import begin
from commonlore.db.embedding.begin import begun
from commonlore.db.embedding.cache import QueryVectorCache
from commonlore.db.embedding.pool import PriorityPool
from commonlore.domain.ports import Vectors
from tests.support.embedders import HashEmbedder

PATIENT = 30.0


class ThreadedEmbedder(HashEmbedder):
    """Embeds in a pool of one thread, which stays at each query until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.gate, self.here = PriorityPool(1), threading.Event(), threading.Event()

    async def embed_query(self, text: str) -> Vectors:
        [vector] = await self.pool.run([lambda: self._embed(text)], urgent=True)
        return vector

    def _embed(self, text: str) -> Vectors:
        self.here.set()
        assert self.gate.wait(PATIENT)
        return self.vector(text)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begin, "_PATIENCE_S", PATIENT)


@pytest.mark.usefixtures("patient")
async def test_it_is_told_when_a_thread_begins() -> None:
    embedder = ThreadedEmbedder()
    cache = QueryVectorCache(embedder)

    first = await begun(cache.embed_query("porter"))
    assert embedder.here.wait(PATIENT)
    assert not first.done()

    joined = await begun(cache.embed_query("porter"))
    assert not joined.done()
    embedder.gate.set()
    assert (await first).tolist() == (await joined).tolist()
    kept = await begun(cache.embed_query("porter"))
    assert kept.done()
    embedder.pool.close()


@pytest.mark.usefixtures("patient")
async def test_an_embedder_that_does_not_tell_is_waited_for() -> None:
    class Turning(HashEmbedder):
        async def embed_query(self, text: str) -> Vectors:
            for _ in range(50):
                await asyncio.sleep(0)
            return self.vector(text)

    assert (await begun(Turning().embed_query("porter"))).done()


@pytest.mark.usefixtures("patient")
async def test_whoever_is_cancelled_meanwhile_embeds_nothing() -> None:
    embedding: list[asyncio.Task[Vectors]] = []
    here = asyncio.Event()

    class Endless(HashEmbedder):
        async def embed_query(self, text: str) -> Vectors:
            current = asyncio.current_task()
            assert current is not None
            embedding.append(current)
            here.set()
            return await asyncio.Event().wait() or self.vector(text)

    waiting = asyncio.ensure_future(begun(Endless().embed_query("porter")))
    await here.wait()
    waiting.cancel()
    await asyncio.wait((waiting, embedding[0]))
    assert waiting.cancelled()
    assert embedding[0].cancelled()


async def test_nobody_waits_long_for_a_thread_that_is_not_free() -> None:
    embedder = ThreadedEmbedder()
    first = await begun(embedder.embed_query("porter"))
    assert embedder.here.wait(PATIENT)

    second = await begun(embedder.embed_query("quartz"))

    assert not second.done()
    embedder.gate.set()
    await asyncio.gather(first, second)
    embedder.pool.close()
