"""Embedders behind HTTP: an OpenAI-compatible endpoint, or one that answers `/embed`.

Only the texts to embed are sent, to the one address that the operator configured: no proxy of the environment and no
redirect is followed. What comes back is made unit length and passes the same check as the local model's vectors.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import httpx
import msgspec
import numpy as np

from commonlore.db.embedding.check import checked
from commonlore.domain.ports import EmbeddingContract, EmbeddingMalformed, EmbeddingUnavailable, Vectors

# Texts of one call; what a number and an answer take at most.
BATCH = 64
_BYTES_PER_NUMBER, _BYTES_PER_ANSWER = 32, 65_536
Api = Literal["openai", "embed"]


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """One endpoint. `max_tokens`: what the model takes; `fingerprint`: what `/capabilities` must say, where it is given."""

    api: Api
    url: str
    model: str
    dimensions: int
    provider: str
    max_tokens: int = 512
    timeout_s: float = 10.0
    key: str | None = field(default=None, repr=False)
    fingerprint: str | None = None

    @property
    def contract(self) -> EmbeddingContract:
        return EmbeddingContract(self.provider, self.model, self.dimensions)


class RemoteEmbedder:
    """`Embedder` over HTTP.

    Word pieces are not known here, so they are counted as bytes: no tokeniser makes more of a text, and one that fits by
    this count is never cut by the server. An `/embed` server is asked besides, and a text that it would cut is refused.
    """

    def __init__(self, settings: RemoteSettings, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._settings = settings
        self._transport = transport
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._identified = settings.api == "openai"

    @property
    def contract(self) -> EmbeddingContract:
        return self._settings.contract

    @property
    def max_tokens(self) -> int:
        return self._settings.max_tokens

    def count_tokens(self, text: str) -> int:
        return len(text.strip().encode("utf-8", "surrogatepass"))

    async def embed_query(self, text: str) -> Vectors:
        """One vector; a query beyond `max_tokens` is embedded by windows, and the mean of their vectors counts.

        Raises:
            EmbeddingUnavailable: `unreachable`, `timed_out` or `rejected`.
            EmbeddingMalformed: the answer holds no such vectors.
            ValueError: a blank text.
        """
        if not text.strip():
            raise ValueError("the query is blank")
        found = await self._embed(_windows(text, self.max_tokens, self.count_tokens))
        if len(found) == 1:
            query: Vectors = found[0]
            return query
        mean: Vectors = checked([_unit(found.mean(axis=0, dtype=np.float64))], self.contract, 1)[0]
        return mean

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """In the order of `texts`.

        Raises:
            EmbeddingUnavailable, EmbeddingMalformed: as `embed_query`; also where the server would cut a text.
            ValueError: a text is blank or has more than `max_tokens` bytes; nothing was embedded.
        """
        texts = list(texts)
        for place, text in enumerate(texts):
            if not 0 < self.count_tokens(text) <= self.max_tokens:
                raise ValueError(f"text {place} is blank or has more than {self.max_tokens} bytes")
        made = [await self._embed(texts[start : start + BATCH], whole=True) for start in range(0, len(texts), BATCH)]
        return np.concatenate(made) if made else np.empty((0, self.contract.dimensions), dtype=np.float32)

    async def close(self) -> None:
        """Close the connections of this event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _embed(self, texts: Sequence[str], *, whole: bool = False) -> Vectors:
        await self._identify()
        settings = self._settings
        if settings.api == "openai":
            body = {"model": settings.model, "input": list(texts), "encoding_format": "float"}
            vectors = _openai_vectors(await self._post("/embeddings", body, len(texts)), len(texts))
        else:
            if whole:
                _require_uncut(await self._post("/count_tokens", {"texts": list(texts)}, len(texts)), len(texts))
            vectors = _field(await self._post("/embed", {"texts": list(texts)}, len(texts)), "embeddings")
        return checked(_units(vectors), self.contract, len(texts))

    async def _identify(self) -> None:
        """Ask an `/embed` server once who it is: one that cannot say is never taken for the configured one.

        Raises:
            EmbeddingUnavailable: `rejected`, it is another model.
            EmbeddingMalformed: it says nothing of itself that could be compared.
        """
        if self._identified:
            return
        answer = await self._send("GET", "/capabilities", None, 0)
        fingerprint, incomplete = answer.get("fingerprint"), answer.get("incomplete")
        if not isinstance(incomplete, list) or (fingerprint is None) == (not incomplete) or not isinstance(answer.get("identity"), dict):
            raise EmbeddingMalformed("the server's capabilities say neither who it is nor what it does not know of itself")
        wanted = self._settings.fingerprint
        if wanted is not None and fingerprint != wanted:
            raise EmbeddingUnavailable("rejected")
        self._identified = True

    async def _post(self, path: str, body: dict[str, Any], count: int) -> dict[str, Any]:
        return await self._send("POST", path, body, count)

    async def _send(self, method: str, path: str, body: dict[str, Any] | None, count: int) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                try:
                    content = await self._receive(method, path, body, count)
                except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                    # A connection that was kept may be closed by now; the same question is asked once more.
                    content = await self._receive(method, path, body, count)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise EmbeddingUnavailable("timed_out") from error
        except httpx.HTTPError as error:
            raise EmbeddingUnavailable("unreachable") from error
        try:
            found = msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            raise EmbeddingMalformed("the answer is no JSON") from error
        if not isinstance(found, dict):
            raise EmbeddingMalformed("the answer is no JSON object")
        return found

    async def _receive(self, method: str, path: str, body: dict[str, Any] | None, count: int) -> bytes:
        most = _BYTES_PER_ANSWER + count * self.contract.dimensions * _BYTES_PER_NUMBER
        async with self._client().stream(method, self._settings.url.rstrip("/") + path, json=body) as answer:
            if answer.status_code != 200:
                raise EmbeddingUnavailable("unreachable" if answer.status_code == 429 or answer.status_code >= 500 else "rejected")
            content = b""
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > most:
                    raise EmbeddingMalformed("the answer is longer than any that was asked for")
            return content

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            headers = {"authorization": f"Bearer {self._settings.key}"} if self._settings.key else {}
            self._clients[loop] = httpx.AsyncClient(
                trust_env=False, follow_redirects=False, timeout=self._settings.timeout_s, headers=headers, transport=self._transport
            )
        return self._clients[loop]


def _openai_vectors(answer: dict[str, Any], count: int) -> list[Any]:
    """Embeddings in the order of their `index`, which a server may send in another one."""
    data = _field(answer, "data")
    try:
        found = {item["index"]: item["embedding"] for item in data}
    except (TypeError, KeyError) as error:
        raise EmbeddingMalformed("the answer has an entry without index or embedding") from error
    if set(found) != set(range(count)) or len(data) != count:
        raise EmbeddingMalformed(f"expected {count} embeddings, one an index")
    return [found[index] for index in range(count)]


def _field(answer: dict[str, Any], name: str) -> list[Any]:
    found = answer.get(name)
    if not isinstance(found, list):
        raise EmbeddingMalformed(f"the answer has no list `{name}`")
    return found


def _require_uncut(answer: dict[str, Any], count: int) -> None:
    told = _field(answer, "token_info")
    if len(told) != count or not all(isinstance(item, dict) and isinstance(item.get("truncated"), bool) for item in told):
        raise EmbeddingMalformed("the server does not say of each text whether it would cut it")
    if any(item["truncated"] for item in told):
        raise EmbeddingMalformed("the server would cut a text")


def _units(vectors: list[Any]) -> list[Any]:
    """Unit length where a row is numbers with a length; anything else is left to the check."""
    return [_unit(np.asarray(row, dtype=np.float64)) if _is_numbers(row) else row for row in vectors]


def _is_numbers(row: Any) -> bool:
    return isinstance(row, list) and all(type(number) in (int, float) and math.isfinite(number) for number in row)


def _unit(vector: Any) -> Any:
    length = float(np.linalg.norm(vector))
    return vector / length if 0 < length < math.inf else vector


def _windows(text: str, size: int, count: Any) -> list[str]:
    """The fewest runs of characters, of nearly equal size, that fit."""
    pieces = [text]
    while max(count(piece) for piece in pieces) > size:
        number = len(pieces) + 1
        edges = [len(text) * place // number for place in range(number + 1)]
        pieces = [text[start:end] for start, end in pairwise(edges)]
    return [piece for piece in pieces if piece.strip()]
