"""What the domain asks of the world outside, in one place. Adapters in `db` carry the same names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingContract:
    """The identity of a model and its preprocessing; vectors of two contracts are never compared.

    `key` is `provider:model:dims:cosine:normalization:docN:queryN` (dense-mem 2.7).
    """

    provider: str
    model: str
    dimensions: int
    normalization: str = "unit"
    document_format: int = 1
    query_format: int = 1

    @property
    def key(self) -> str:
        return f"{self.provider}:{self.model}:{self.dimensions}:cosine:{self.normalization}:doc{self.document_format}:query{self.query_format}"


class EmbeddingUnavailable(Exception):
    """The embedder could not answer: not configured, unreachable, timed out or refused.

    `reason` is one of `not_configured`, `unreachable`, `timed_out`, `rejected`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EmbeddingMalformed(Exception):
    """The embedder answered with something that is no set of unit vectors of its contract."""


class Embedder(Protocol):
    """Text to unit vectors under one contract.

    Equal texts give bit-equal vectors, alone or in a batch. No input is ever cut: `max_tokens` bounds what may be given.
    """

    @property
    def contract(self) -> EmbeddingContract: ...

    @property
    def max_tokens(self) -> int:
        """The most word pieces one text may have, without the model's own marks."""
        ...

    def count_tokens(self, text: str) -> int:
        """Word pieces of `text`, without the model's own marks. Never cut."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """One vector, shape (dimensions,) float32, unit length. A query beyond `max_tokens` is embedded by its pieces' mean.

        Raises:
            EmbeddingUnavailable, EmbeddingMalformed
        """
        ...

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions) float32, unit length, in the order of `texts`.

        Raises:
            EmbeddingUnavailable, EmbeddingMalformed
            ValueError: a text has more than `max_tokens` word pieces.
        """
        ...


@runtime_checkable
class SeveralEmbedders(Protocol):
    """Embedders of several contracts in one process: itself an `Embedder`, under the contract that it takes for the served one."""

    def under(self, contract_key: str) -> Embedder | None:
        """The embedder of a contract, if this process has one."""
        ...


def embedder_under(embedder: Embedder, contract_key: str | None) -> Embedder | None:
    """What embeds under a contract: the embedder itself, or one of several; None where this process has none."""
    if contract_key is None:
        return None
    if isinstance(embedder, SeveralEmbedders):
        return embedder.under(contract_key)
    return embedder if embedder.contract.key == contract_key else None
