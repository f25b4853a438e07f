"""The embedders of one process, one a contract: the local model, and whatever else is configured."""

from __future__ import annotations

from collections.abc import Sequence

from commonlore.db.embedding.cache import CacheCounts, QueryVectorCache
from commonlore.db.embedding.remote import RemoteEmbedder
from commonlore.domain.ports import Embedder, EmbeddingContract, Vectors


class ContractEmbedders:
    """`SeveralEmbedders`: itself the embedder of the contract that it was last told is served, at first the first one's.

    Word pieces are counted by the first one whichever serves, so that a text has the same parts under every contract.

    Raises:
        ValueError: none, or two of one contract.
    """

    def __init__(self, embedders: Sequence[Embedder]) -> None:
        self._by_key = {embedder.contract.key: embedder for embedder in embedders}
        if not embedders or len(self._by_key) != len(embedders):
            raise ValueError("expected embedders of different contracts")
        self._first = self._served = embedders[0]

    @property
    def contract(self) -> EmbeddingContract:
        return self._served.contract

    @property
    def max_tokens(self) -> int:
        return self._served.max_tokens

    @property
    def is_remote(self) -> bool:
        """Whether queries are embedded by another machine, which may not hold a snapshot open."""
        inner = self._served.inner if isinstance(self._served, QueryVectorCache) else self._served
        return isinstance(inner, RemoteEmbedder)

    @property
    def counts(self) -> CacheCounts:
        """Queries by where their vectors came from, over all contracts."""
        found = [embedder.counts for embedder in self._by_key.values() if isinstance(embedder, QueryVectorCache)]
        return CacheCounts(sum(one.hits for one in found), sum(one.misses for one in found), sum(one.joined for one in found))

    def keys(self) -> list[str]:
        """The contracts, the first one first."""
        return list(self._by_key)

    def under(self, contract_key: str) -> Embedder | None:
        return self._by_key.get(contract_key)

    def serve(self, contract_key: str) -> bool:
        """Embed queries under a contract from now on; False where there is no embedder of it."""
        self._served = self._by_key.get(contract_key, self._served)
        return self._served.contract.key == contract_key

    def count_tokens(self, text: str) -> int:
        return self._first.count_tokens(text)

    async def embed_query(self, text: str) -> Vectors:
        return await self._served.embed_query(text)

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return await self._served.embed_texts(texts)
