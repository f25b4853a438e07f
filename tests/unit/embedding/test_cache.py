"""The memory of query vectors: what is remembered, what is not, and how often the embedder is asked."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from commonlore.db.embedding.cache import CacheCounts, QueryVectorCache
from commonlore.domain.ports import EmbeddingContract, EmbeddingMalformed, EmbeddingUnavailable, Vectors
from tests.support.embedders import FailingEmbedder, HashEmbedder, MalformedEmbedder


class GatedEmbedder(HashEmbedder):
    """Answers when the gate opens; `cancelled` counts queries that were given up."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.cancelled = 0
        self.failure: EmbeddingUnavailable | None = None

    async def embed_query(self, text: str) -> Vectors:
        self.queries.append(text)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure
        return self.vector(text)


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_query_is_embedded_once() -> None:
    """The second answer is the first, and the embedder was asked once."""

    inner = HashEmbedder()
    cache = QueryVectorCache(inner)

    first = await cache.embed_query("night porter")
    second = await cache.embed_query("night porter")

    assert first is second
    assert inner.vector("night porter").tolist() == second.tolist()
    assert inner.queries == ["night porter"]
    assert CacheCounts(hits=1, misses=1, joined=0) == cache.counts


async def test_the_text_counts_exactly() -> None:
    """Case and spaces make another query, even where this embedder does not see them."""

    inner = HashEmbedder()
    cache = QueryVectorCache(inner)

    for text in ("Night porter", "night porter", "night porter ", "night  porter"):
        await cache.embed_query(text)

    assert CacheCounts(hits=0, misses=4, joined=0) == cache.counts


async def test_composed_and_decomposed_are_one_query() -> None:
    """Both forms have one entry, and the embedder sees the composed form."""

    inner = HashEmbedder()
    cache = QueryVectorCache(inner)

    first = await cache.embed_query("cafe\u0301")
    second = await cache.embed_query("caf\u00e9")

    assert first is second
    assert inner.queries == ["caf\u00e9"]


async def test_another_contract_is_another_query() -> None:
    """An embedder that changes its contract is asked anew."""

    class Changing(HashEmbedder):
        model = "one"

        @property
        def contract(self) -> EmbeddingContract:
            return EmbeddingContract(provider="test", model=self.model, dimensions=384)

    inner = Changing()
    cache = QueryVectorCache(inner)
    await cache.embed_query("porter")
    inner.model = "two"
    await cache.embed_query("porter")

    assert inner.queries == ["porter", "porter"]


async def test_vectors_are_float32_and_read_only() -> None:
    """No caller can change what the next one gets."""

    vector = await QueryVectorCache(HashEmbedder()).embed_query("porter")

    assert np.float32 == vector.dtype
    assert vector.shape == (384,)
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


async def test_the_least_recently_used_query_is_forgotten() -> None:
    """The bound holds, and a hit counts as use."""

    inner = HashEmbedder()
    cache = QueryVectorCache(inner, entries=2)

    for text in ("a", "b", "a", "c", "a", "b"):
        await cache.embed_query(text)

    assert len(cache) == 2
    assert inner.queries == ["a", "b", "c", "b"]


async def test_equal_queries_at_once_are_embedded_once() -> None:
    """Ten waiters share one embedding."""

    inner = GatedEmbedder()
    cache = QueryVectorCache(inner)
    waiters = [asyncio.create_task(cache.embed_query("porter")) for _ in range(10)]
    await _turns()
    inner.gate.set()

    vectors = await asyncio.gather(*waiters)

    assert inner.queries == ["porter"]
    assert {id(vectors[0])} == {id(vector) for vector in vectors}
    assert CacheCounts(hits=0, misses=1, joined=9) == cache.counts


async def test_a_failure_reaches_every_waiter_and_is_forgotten() -> None:
    """All waiters fail together; the next query is tried anew and remembered."""

    inner = GatedEmbedder()
    cache = QueryVectorCache(inner)
    inner.failure = EmbeddingUnavailable("timed_out")
    waiters = [asyncio.create_task(cache.embed_query("porter")) for _ in range(3)]
    await _turns()
    inner.gate.set()
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    inner.failure = None

    assert [getattr(outcome, "reason", None) for outcome in outcomes] == ["timed_out"] * 3
    assert len(cache) == 0
    assert inner.vector("porter").tolist() == (await cache.embed_query("porter")).tolist()
    assert inner.queries == ["porter", "porter"]


async def test_nobody_joins_an_embedding_that_has_failed() -> None:
    """A waiter that asks again at once, before the others have woken, is served by a new embedding."""

    inner = GatedEmbedder()
    cache = QueryVectorCache(inner)
    inner.failure = EmbeddingUnavailable("rejected")
    inner.gate.set()

    async def twice() -> Vectors:
        try:
            return await cache.embed_query("porter")
        except EmbeddingUnavailable:
            inner.failure = None
            return await cache.embed_query("porter")

    vectors = await asyncio.gather(*[twice() for _ in range(4)])

    assert [inner.vector("porter").tolist()] * 4 == [vector.tolist() for vector in vectors]
    assert inner.queries == ["porter", "porter"]


async def test_an_unavailable_embedder_is_asked_again() -> None:
    """A failure is answered once only."""

    inner = FailingEmbedder("unreachable", times=1)
    cache = QueryVectorCache(inner)

    with pytest.raises(EmbeddingUnavailable, match="unreachable"):
        await cache.embed_query("porter")

    assert (await cache.embed_query("porter")).shape == (384,)
    assert CacheCounts(hits=0, misses=2, joined=0) == cache.counts


async def test_a_malformed_vector_is_not_remembered() -> None:
    """Also when the inner embedder forgot to check its answer itself (B040)."""

    class Unchecked(HashEmbedder):
        async def embed_query(self, text: str) -> Vectors:
            return np.zeros(384, dtype=np.float32)

    for inner in (Unchecked(), MalformedEmbedder("zero")):
        cache = QueryVectorCache(inner)
        with pytest.raises(EmbeddingMalformed):
            await cache.embed_query("porter")
        assert len(cache) == 0


async def test_a_cancelled_waiter_does_not_disturb_the_others() -> None:
    """Even the one that began the embedding."""

    inner = GatedEmbedder()
    cache = QueryVectorCache(inner)
    waiters = [asyncio.create_task(cache.embed_query("porter")) for _ in range(3)]
    await _turns()
    waiters[0].cancel()
    await _turns()
    inner.gate.set()

    outcomes = await asyncio.gather(*waiters, return_exceptions=True)

    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1] is outcomes[2]
    assert inner.cancelled == 0
    assert inner.queries == ["porter"]


async def test_the_last_cancelled_waiter_cancels_the_embedding() -> None:
    """Nothing is left behind, and a newcomer begins anew."""

    inner = GatedEmbedder()
    cache = QueryVectorCache(inner)
    waiters = [asyncio.create_task(cache.embed_query("porter")) for _ in range(2)]
    await _turns()
    for waiter in waiters:
        waiter.cancel()
    newcomer = asyncio.create_task(cache.embed_query("porter"))
    await _turns()
    inner.gate.set()

    assert (await newcomer).shape == (384,)
    assert [waiter.cancelled() for waiter in waiters] == [True, True]
    assert inner.cancelled == 1
    assert inner.queries == ["porter", "porter"]


async def test_texts_and_properties_pass_through() -> None:
    """The wrapper is an embedder of the same contract."""

    inner = HashEmbedder()
    cache = QueryVectorCache(inner)

    assert inner.contract == cache.contract
    assert inner.max_tokens == cache.max_tokens
    assert cache.count_tokens("night porter") == 2
    assert (await cache.embed_texts(["one", "two"])).shape == (2, 384)
    assert inner.texts == ["one", "two"]
    assert len(cache) == 0


async def test_a_lone_surrogate_is_the_inner_embedders_matter() -> None:
    """The cache itself has no trouble with a string that is no text."""

    assert (await QueryVectorCache(HashEmbedder()).embed_query("a\ud800")).shape == (384,)


def test_a_cache_needs_an_entry() -> None:
    """A cache of nothing is a mistake in the settings."""

    with pytest.raises(ValueError, match="at least 1"):
        QueryVectorCache(HashEmbedder(), entries=0)
