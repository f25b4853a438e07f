"""Embedders behind HTTP, against servers of this machine: what is asked, what is taken, and what is refused by its name."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from commonlore.db.embedding.configured import read_embedders
from commonlore.db.embedding.remote import RemoteEmbedder, RemoteSettings
from commonlore.domain.errors import OperatorError
from commonlore.domain.ports import EmbeddingMalformed, EmbeddingUnavailable
from commonlore.domain.projection.embed import embed_whole
from tests.support.embedders import HashEmbedder

WORDS = HashEmbedder(48, max_tokens=10_000)
Answer = Callable[[str, Any], tuple[int, Any]]


def whole(path: str, body: Any) -> tuple[int, Any]:
    """A good server of both kinds; its vectors are twice as long as they should be, and the last comes first."""
    if path == "/capabilities":
        return 200, {"identity": {"model": "words"}, "fingerprint": "f1", "incomplete": []}
    texts = body.get("input") or body["texts"]
    vectors = [(2 * WORDS.vector(text)).tolist() for text in texts]
    if path == "/embeddings":
        return 200, {"data": [{"index": index, "embedding": vectors[index]} for index in reversed(range(len(texts)))]}
    if path == "/count_tokens":
        told = [{"count": len(text.split()), "window": 40, "truncated": len(text.split()) > 40, "window_end_char": len(text)} for text in texts]
        return 200, {"token_info": told}
    return 200, {"embeddings": vectors}


@contextmanager
def a_server(answer: Answer = whole) -> Iterator[tuple[str, list[tuple[str, Any, Any]]]]:
    """Its address, and what it was asked: path, body, authorization."""
    asked: list[tuple[str, Any, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: Any) -> None:
            asked.append((self.path, body, self.headers.get("authorization")))
            status, found = answer(self.path, body)
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            if status in (301, 307):
                self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def remote(url: str, api: Any = "openai", **fields: Any) -> RemoteEmbedder:
    return RemoteEmbedder(RemoteSettings(**{"api": api, "url": url, "model": "words", "dimensions": 48, "provider": api, "timeout_s": 5.0, **fields}))


@pytest.mark.parametrize("api", ["openai", "embed"])
async def test_vectors_come_in_the_order_of_the_texts_at_unit_length(api: Any) -> None:
    texts = [f"zebra number {number}" for number in range(70)]
    with a_server() as (url, asked):
        embedder = remote(url, api, key="secret-key")
        made = await embedder.embed_texts(texts)
        query = await embedder.embed_query("zebra number 7")
        await embedder.close()

    assert f"{api}:words:48:cosine:unit:doc1:query1" == embedder.contract.key
    assert np.allclose(made, [WORDS.vector(text) for text in texts], atol=1e-6)
    assert np.array_equal(query, made[7])
    assert {"Bearer secret-key"} == {header for _, _, header in asked}
    paths = [path for path, _, _ in asked]
    wanted = ["/embeddings"] * 3 if api == "openai" else ["/capabilities", *["/count_tokens", "/embed"] * 2, "/embed"]
    assert wanted == paths
    assert "secret-key" not in repr(embedder._settings)


async def test_a_long_text_is_never_cut() -> None:
    """A text beyond the bound is refused whole; a query goes in windows, an embedded text in pieces, and nothing is left out."""
    long = " ".join(f"word{number}" for number in range(60))
    with a_server() as (url, asked):
        embedder = remote(url, max_tokens=100)
        with pytest.raises(ValueError, match="more than 100 bytes"):
            await embedder.embed_texts([long])
        assert [] == asked
        await embedder.embed_query(long)
        await embed_whole(embedder, long)
        sent = [text for _, body, _ in asked for text in body["input"]]
        await embedder.close()
    assert max(len(text.encode()) for text in sent) <= 100
    assert {f"word{number}" for number in range(60)} <= set(" ".join(sent).split())


async def test_a_server_that_would_cut_a_text_is_not_asked_to() -> None:
    with a_server() as (url, asked):
        embedder = remote(url, "embed", max_tokens=1_000)
        with pytest.raises(EmbeddingMalformed, match="cut"):
            await embedder.embed_texts(["a " * 41])
        await embedder.close()
    assert ["/capabilities", "/count_tokens"] == [path for path, _, _ in asked]


@pytest.mark.parametrize(
    ("status", "found", "error", "reason"),
    [
        (500, {}, EmbeddingUnavailable, "unreachable"),
        (429, {}, EmbeddingUnavailable, "unreachable"),
        (401, {}, EmbeddingUnavailable, "rejected"),
        (307, {}, EmbeddingUnavailable, "rejected"),
        (200, b"<html>", EmbeddingMalformed, "no JSON"),
        (200, [1], EmbeddingMalformed, "no JSON object"),
        (200, {"error": "x"}, EmbeddingMalformed, "no list `data`"),
        (200, {"data": []}, EmbeddingMalformed, "expected 1 embeddings"),
        (200, {"data": [{"index": 0}]}, EmbeddingMalformed, "without index"),
        (200, {"data": [{"index": 1, "embedding": [1.0] * 48}]}, EmbeddingMalformed, "expected 1 embeddings"),
        (200, {"data": [{"index": 0, "embedding": [1.0] * 47}]}, EmbeddingMalformed, "shape"),
        (200, {"data": [{"index": 0, "embedding": [0.0] * 48}]}, EmbeddingMalformed, "length 1"),
        (200, {"data": [{"index": 0, "embedding": ["1"] * 48}]}, EmbeddingMalformed, "expected numbers"),
        (200, b'{"data": [{"index": 0, "embedding": [' + b"1.0," * 100_000 + b"1.0]}]}", EmbeddingMalformed, "longer than any"),
    ],
)
async def test_what_is_no_answer_is_refused_by_its_name(status: int, found: Any, error: type[Exception], reason: str) -> None:
    with a_server(lambda *_: (status, found)) as (url, _):
        embedder = remote(url)
        with pytest.raises(error, match=reason):
            await embedder.embed_query("zebra")
        await embedder.close()


async def test_a_slow_and_an_absent_server_are_told_apart() -> None:
    def slow(path: str, body: Any) -> tuple[int, Any]:
        time.sleep(1)
        return whole(path, body)

    with a_server(slow) as (url, _):
        embedder = remote(url, timeout_s=0.2)
        with pytest.raises(EmbeddingUnavailable) as refused:
            await embedder.embed_query("zebra")
        assert "timed_out" == refused.value.reason
        await embedder.close()
    absent = remote("http://127.0.0.1:9")
    with pytest.raises(EmbeddingUnavailable) as refused:
        await absent.embed_query("zebra")
    assert "unreachable" == refused.value.reason
    await absent.close()


@pytest.mark.parametrize(
    ("capabilities", "error"),
    [
        ({"identity": {}, "fingerprint": "f2", "incomplete": []}, EmbeddingUnavailable),
        ({"identity": {}, "fingerprint": None, "incomplete": ["weights"]}, EmbeddingUnavailable),
        ({"identity": {}, "fingerprint": None, "incomplete": []}, EmbeddingMalformed),
        ({"identity": {}, "fingerprint": "f1", "incomplete": ["weights"]}, EmbeddingMalformed),
        ({"fingerprint": "f1", "incomplete": []}, EmbeddingMalformed),
        ({}, EmbeddingMalformed),
    ],
)
async def test_an_unknown_identity_is_never_the_configured_one(capabilities: Any, error: type[Exception]) -> None:
    def answer(path: str, body: Any) -> tuple[int, Any]:
        return (200, capabilities) if path == "/capabilities" else whole(path, body)

    with a_server(answer) as (url, asked):
        embedder = remote(url, "embed", fingerprint="f1")
        for _ in range(2):
            with pytest.raises(error):
                await embedder.embed_query("zebra")
        await embedder.close()
    assert ["/capabilities"] * 2 == [path for path, _, _ in asked]


async def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew() -> None:
    """Once: a kept connection may be gone before the request is."""
    broken = iter((True, False, True, True))

    class Breaking(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if next(broken):
                raise httpx.ReadError("closed")
            vector = WORDS.vector("zebra").tolist()
            return httpx.Response(200, json={"data": [{"index": 0, "embedding": vector}]})

    settings = RemoteSettings("openai", "https://example.org", "words", 48, "openai")
    embedder = RemoteEmbedder(settings, transport=Breaking())
    assert np.allclose(await embedder.embed_query("zebra"), WORDS.vector("zebra"), atol=1e-6)
    with pytest.raises(EmbeddingUnavailable) as refused:
        await embedder.embed_query("zebra")
    assert "unreachable" == refused.value.reason
    await embedder.close()


async def test_queries_at_once_share_a_connection_pool() -> None:
    with a_server() as (url, _):
        embedder = remote(url)
        made = await asyncio.gather(*(embedder.embed_query(f"zebra {number}") for number in range(20)))
        await embedder.close()
    assert all(np.allclose(found, WORDS.vector(f"zebra {number}"), atol=1e-6) for number, found in enumerate(made))


GOOD = 'api = "openai"\nurl = "https://example.org/v1"\nmodel = "m"\ndimensions = 8\n'


def a_file(folder: Path, *entries: str) -> Path:
    path = folder / "embedders.toml"
    path.write_text("\n".join(f"[[embedder]]\n{entry}" for entry in entries), "utf-8")
    return path


def test_a_file_of_embedders_is_read_with_keys_from_the_environment(tmp_path: Path) -> None:
    path = a_file(tmp_path, GOOD + 'key_variable = "THE_KEY"\n', 'api = "embed"\nurl = "http://localhost:1"\nmodel = "n"\ndimensions = 4000\n')
    first, second = read_embedders(path, {"THE_KEY": "secret"})
    assert ("openai:m:8:cosine:unit:doc1:query1", "secret") == (first.contract.key, first.key)
    assert "embed:n:4000:cosine:unit:doc1:query1" == second.contract.key


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (GOOD.replace("8", "4096"), "more cannot be indexed; found 4096"),
        (GOOD.replace("https", "http"), "unencrypted"),
        (GOOD.replace("https://example.org/v1", "ftp://x"), "must be https"),
        (GOOD.replace("https://", "https://user:secret@"), "must be https"),
        (GOOD + 'key_variable = "ABSENT"\n', "ABSENT is not set"),
        (GOOD + 'key = "secret"\n', "unknown field"),
        (GOOD.replace('"m"', '"a model"'), "make no key"),
        (GOOD.replace("openai", "magic"), "Invalid enum value"),
        ("nonsense", "is not as it should be"),
    ],
)
def test_a_wrong_entry_stops_the_start_and_says_why(tmp_path: Path, entry: str, says: str) -> None:
    with pytest.raises(OperatorError, match=says) as refused:
        read_embedders(a_file(tmp_path, entry), {})
    assert "settings_invalid" == refused.value.code
    assert "secret" not in refused.value.message
