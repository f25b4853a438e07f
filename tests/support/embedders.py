"""Embedders without a model, for tests of the rooms that use one. Each has a contract of its own and passes `checked`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from commonlore.db.embedding.check import checked
from commonlore.domain.ports import EmbeddingContract, EmbeddingUnavailable, Vectors

Malformation = Literal["nan", "inf", "huge", "strings", "null", "nested", "zero", "short", "long", "few", "empty"]

_PIECE = re.compile(r"\w+|[^\w\s]")


class HashEmbedder:
    """Each word has one pseudo-random direction and a text is the sum of its words': shared words mean nearness, nothing else.

    Equal on every machine, word order and case do not count. `queries` and `texts` record what was asked for, in order.
    """

    def __init__(self, dimensions: int = 384, *, max_tokens: int = 254, provider: str = "test-hash") -> None:
        self._contract = EmbeddingContract(provider=provider, model="words", dimensions=dimensions)
        self._max_tokens = max_tokens
        self.queries: list[str] = []
        self.texts: list[str] = []

    @property
    def contract(self) -> EmbeddingContract:
        return self._contract

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count_tokens(self, text: str) -> int:
        return len(_PIECE.findall(text))

    async def embed_query(self, text: str) -> Vectors:
        self.queries.append(text)
        return self._answer([text])[0]

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if (size := self.count_tokens(text)) > self._max_tokens:
                raise ValueError(f"{size} word pieces, at most {self._max_tokens} are possible")
        self.texts.extend(texts)
        return self._answer(texts)

    def vector(self, text: str) -> Vectors:
        """The vector of `text` without an event loop and without a record of it."""
        words = _PIECE.findall(text.lower())
        if not words:
            raise ValueError("the text is blank")
        total = np.sum([self._direction(word) for word in words], axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)

    def _direction(self, word: str) -> np.ndarray:
        digest = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(self._contract.dimensions)
        return np.frombuffer(digest, dtype=np.uint8).astype(np.float64) - 127.5

    def _answer(self, texts: Sequence[str]) -> Vectors:
        return checked([self.vector(text) for text in texts], self._contract, len(texts))


class FailingEmbedder(HashEmbedder):
    """Raises `EmbeddingUnavailable(reason)`; with `times`, only for that many calls, then answers as `HashEmbedder`."""

    def __init__(self, reason: str = "unreachable", *, times: int | None = None, dimensions: int = 384) -> None:
        super().__init__(dimensions, provider="test-failing")
        self._reason = reason
        self._left = times

    def _answer(self, texts: Sequence[str]) -> Vectors:
        if self._left is None or self._left > 0:
            self._left = None if self._left is None else self._left - 1
            raise EmbeddingUnavailable(self._reason)
        return super()._answer(texts)


class MalformedEmbedder(HashEmbedder):
    """Its answers are malformed as `kind` says, so each call raises `EmbeddingMalformed`.

    With `marker`, only calls with a text that contains it; the others answer as `HashEmbedder`.
    """

    def __init__(self, kind: Malformation, *, marker: str = "", dimensions: int = 384) -> None:
        super().__init__(dimensions, provider="test-malformed")
        self._kind = kind
        self._marker = marker

    def _answer(self, texts: Sequence[str]) -> Vectors:
        good = [self.vector(text).tolist() for text in texts]
        if not any(self._marker in text for text in texts):
            return checked(good, self.contract, len(texts))
        if self._kind == "few":
            return checked(good[1:], self.contract, len(texts))
        if self._kind == "empty":
            return checked([], self.contract, len(texts))
        rows = [_MALFORM[self._kind](row) if self._marker in text else row for text, row in zip(texts, good, strict=True)]
        return checked(rows, self.contract, len(texts))


_MALFORM: dict[str, Callable[[list[float]], object]] = {
    "nan": lambda row: [float("nan"), *row[1:]],
    "inf": lambda row: [float("inf"), *row[1:]],
    "huge": lambda row: [1e39, *row[1:]],
    "strings": lambda row: [str(value) for value in row],
    "null": lambda row: None,
    "nested": lambda row: [row],
    "zero": lambda row: [0.0] * len(row),
    "short": lambda row: row[:-1],
    "long": lambda row: [value * 1.1 for value in row],
}
