"""Query vectors that were asked for before."""

from __future__ import annotations

import asyncio
import hashlib
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from commonlore.db.embedding.begin import listener
from commonlore.db.embedding.check import checked
from commonlore.domain.ports import Embedder, EmbeddingContract, Vectors


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """What happened to the queries so far: answered from memory, embedded, or joined to another's embedding in progress."""

    hits: int
    misses: int
    joined: int


@dataclass(slots=True)
class _Flight:
    """One embedding in progress and how many wait for it."""

    task: asyncio.Task[Vectors]
    waiters: int = 0


class QueryVectorCache:
    """An embedder that remembers the last `entries` query vectors of another one; texts pass through.

    A query is known by its contract and its exact text in NFC; the text is kept as a digest, so size and content of queries do
    not stay in memory. Equal queries at the same time are embedded once. Failures and cancelled embeddings are not remembered.
    The vectors are shared and read-only. For one event loop at a time.

    Raises:
        ValueError: `entries` is below 1.
    """

    def __init__(self, inner: Embedder, *, entries: int = 10_000) -> None:
        if entries < 1:
            raise ValueError("entries must be at least 1")
        self._inner = inner
        self._entries = entries
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()
        self._flights: dict[bytes, _Flight] = {}
        self._hits = self._misses = self._joined = 0

    @property
    def inner(self) -> Embedder:
        """The embedder whose vectors are remembered."""
        return self._inner

    @property
    def contract(self) -> EmbeddingContract:
        return self._inner.contract

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def counts(self) -> CacheCounts:
        return CacheCounts(self._hits, self._misses, self._joined)

    def __len__(self) -> int:
        return len(self._vectors)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """As the inner embedder's; nothing is remembered."""
        return await self._inner.embed_texts(texts)

    async def embed_query(self, text: str) -> Vectors:
        """As the inner embedder's for the NFC of `text`; the vector is read-only.

        Raises:
            EmbeddingUnavailable, EmbeddingMalformed, ValueError: as the inner embedder; every waiter of one embedding gets it.
        """
        query = unicodedata.normalize("NFC", text)
        key = self._key(query)
        if (vector := self._vectors.get(key)) is not None:
            self._vectors.move_to_end(key)
            self._hits += 1
            return vector
        flight = self._flights.get(key)
        if flight is None:
            self._misses += 1
            flight = self._depart(key, query)
        else:
            self._joined += 1
            if (told := listener()) is not None:
                told()
        return await self._wait(key, flight)

    def _depart(self, key: bytes, query: str) -> _Flight:
        flight = self._flights[key] = _Flight(asyncio.create_task(self._embed(key, query)))
        # The first callback of the task, so it runs before any waiter wakes: nobody joins an embedding that has failed.
        flight.task.add_done_callback(lambda _: self._arrive(key, flight))
        return flight

    def _arrive(self, key: bytes, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _wait(self, key: bytes, flight: _Flight) -> Vectors:
        """The flight's vector. The embedding is cancelled only when its last waiter is."""
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if flight.waiters == 0:
                # Now, not when the task ends: nobody joins an embedding that is being cancelled.
                self._arrive(key, flight)
                flight.task.cancel()

    async def _embed(self, key: bytes, query: str) -> Vectors:
        vector: Vectors
        [vector] = checked([await self._inner.embed_query(query)], self._inner.contract, 1)
        vector.flags.writeable = False
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        if len(self._vectors) > self._entries:
            self._vectors.popitem(last=False)
        return vector

    def _key(self, query: str) -> bytes:
        name = f"{self._inner.contract.key}\0{query}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(name, digest_size=32).digest()
