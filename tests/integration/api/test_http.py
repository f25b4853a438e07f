"""REST over the real server on a loopback port, with fake operations behind it."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from commonlore.domain.errors import Conflict, NotVisible, Unauthenticated, Unavailable
from tests.support.edge import KEY, TEAM, Edge, FakeOperations, running_edge

AUTH = {"authorization": f"Bearer {KEY}"}
JSON = {"content-type": "application/json"}
RECALL = b'{"query":"x"}'


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server() -> AsyncIterator[Edge]:
    async with running_edge(body_limit_bytes=64 * 1024, request_timeout_ms=2000) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def connection(server: Edge) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, headers=AUTH, timeout=60) as opened:
        yield opened


@pytest.fixture
def edge(server: Edge) -> Edge:
    server.reset()
    return server


@pytest.fixture
def client(edge: Edge, connection: httpx.AsyncClient) -> httpx.AsyncClient:
    return connection


async def raw(port: int, request: bytes) -> tuple[int, bytes]:
    """Status and everything after the status line of one hand-written request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length and not request.startswith(b"HEAD") else b""
    writer.close()
    return int(head.split(b" ", 2)[1]), head + body


def code_of(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and media type of a failure."""
    return answer.status_code, answer.json()["code"], answer.headers["content-type"]


PROBLEM = "application/problem+json"


async def test_a_recall_is_answered_with_what_the_operation_gave(edge: Edge, client: httpx.AsyncClient) -> None:
    """Status 200, the operation's dictionary as JSON, and the decoded request behind it."""

    answer = await client.post("/v1/recall_memory", json={"query": "where", "limit": 3})

    assert (200, edge.operations.answer, "application/json") == (answer.status_code, answer.json(), answer.headers["content-type"])
    assert [("recall_memory", "where", 3)] == [(name, asked.query, asked.limit) for name, asked in edge.operations.asked]


@pytest.mark.parametrize(
    ("name", "body"),
    [("remember", {"evidence": [{"content": "x"}]}), ("recall_memory", {"query": "x"}), ("trace_memory", {"relationship_id": str(TEAM)})],
)
async def test_each_tool_has_its_route(edge: Edge, client: httpx.AsyncClient, name: str, body: dict[str, Any]) -> None:
    """`POST /v1/<tool>` reaches the operation of that name."""

    answer = await client.post(f"/v1/{name}", json=body)

    assert (200, [name]) == (answer.status_code, [asked for asked, _ in edge.operations.asked])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"[]", (400, "malformed_body")),
        (b"", (400, "malformed_body")),
        (b"{", (400, "malformed_body")),
        (b"\xef\xbb\xbf" + RECALL, (400, "malformed_body")),
        (b'{"query":"a","limit":3,"limit":500}', (400, "malformed_body")),
        (b'{"query":' + b"[" * 5000, (400, "malformed_body")),
        (b'{"query":"x","limit":99999999999999999999}', (422, "invalid_input")),
        (b'{"query":"x","limit":NaN}', (400, "malformed_body")),
        (b'{"query":"hi \\ud83d there"}', (422, "invalid_input")),
        (b'{"query":"hi \\u0000 there"}', (422, "invalid_input")),
        (b'{"query":"x","filters":{"vaild_at":"2026-01-01T00:00:00Z"}}', (422, "invalid_input")),
        (b'{"query":"x","ranking_mode":"fast"}', (422, "invalid_input")),
        (b'{"query":"x","limit":-1}', (422, "invalid_input")),
        (b'{"query":"x","valid_at":"yesterday"}', (422, "invalid_input")),
    ],
)
async def test_a_wrong_body_never_reaches_the_operation(edge: Edge, client: httpx.AsyncClient, body: bytes, expected: tuple[int, str]) -> None:
    """It is refused as a problem, with the status of its code."""

    answer = await client.post("/v1/recall_memory", content=body, headers=JSON)

    assert ((*expected, PROBLEM), []) == (code_of(answer), edge.operations.asked)


async def test_a_misspelt_field_is_named(client: httpx.AsyncClient) -> None:
    """With the nearest valid one and a pointer."""

    answer = await client.post("/v1/recall_memory", json={"query": "x", "lmit": 3})

    assert ("/lmit", "unknown field; did you mean limit?") == tuple(answer.json()["errors"][0][name] for name in ("pointer", "detail"))


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/problem+json",
        "application/json; charset=latin-1",
        "application/json, text/plain",
        "",
    ],
)
async def test_only_json_in_utf_8_is_taken(edge: Edge, client: httpx.AsyncClient, kind: str) -> None:
    """Anything else is 415, so that a form on a foreign page cannot post."""

    answer = await client.post("/v1/recall_memory", content=RECALL, headers={"content-type": kind})

    assert ((415, "unsupported_media_type", PROBLEM), []) == (code_of(answer), edge.operations.asked)


async def test_a_body_without_a_content_type_is_refused(edge: Edge) -> None:
    """The absent header is no JSON either."""

    request = f"POST /v1/recall_memory HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-length: 13\r\n\r\n".encode() + RECALL

    assert 415 == (await raw(edge.port, request))[0]


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; Charset=UTF-8", 'application/json;charset="utf-8"'])
async def test_json_may_name_its_charset(client: httpx.AsyncClient, kind: str) -> None:
    """UTF-8 in any spelling."""

    assert 200 == (await client.post("/v1/recall_memory", content=RECALL, headers={"content-type": kind})).status_code


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(RECALL, mtime=0)),
        ("gzip", gzip.compress(RECALL, mtime=0) * 2),
        ("gzip", gzip.compress(RECALL, mtime=0)[:-4]),
        ("deflate", zlib.compress(RECALL)),
        ("br", RECALL),
        ("zstd", RECALL),
        ("identity, gzip", RECALL),
    ],
)
async def test_no_encoded_body_is_taken(edge: Edge, client: httpx.AsyncClient, encoding: str, body: bytes) -> None:
    """415 for each; nothing is decoded in part."""

    answer = await client.post("/v1/recall_memory", content=body, headers=JSON | {"content-encoding": encoding})

    assert ((415, "unsupported_media_type", PROBLEM), []) == (code_of(answer), edge.operations.asked)


async def test_identity_is_no_encoding(client: httpx.AsyncClient) -> None:
    """It may be said."""

    assert 200 == (await client.post("/v1/recall_memory", content=RECALL, headers=JSON | {"content-encoding": "identity"})).status_code


async def pieces(total: int) -> AsyncIterator[bytes]:
    for _ in range(total // 1024):
        yield b" " * 1024
    yield b" " * (total % 1024)


@pytest.mark.parametrize("path", ["/v1/recall_memory", "/mcp"])
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("beyond", [1, 40_000])
async def test_a_body_beyond_the_limit_is_refused(edge: Edge, client: httpx.AsyncClient, path: str, chunked: bool, beyond: int) -> None:
    """413 by its declared length and by its pieces."""

    size = edge.settings.body_limit_bytes + beyond
    answer = await client.post(path, content=pieces(size) if chunked else b" " * size, headers=JSON)

    assert (413, "body_too_large", PROBLEM) == code_of(answer)


async def test_a_body_at_the_limit_is_read(edge: Edge, client: httpx.AsyncClient) -> None:
    """The bound itself is inside."""

    body = RECALL + b" " * (edge.settings.body_limit_bytes - len(RECALL))

    assert 200 == (await client.post("/v1/recall_memory", content=body, headers=JSON)).status_code


async def test_an_endless_body_ends(edge: Edge) -> None:
    """The answer comes within two limits' worth of bytes, and the connection closes."""

    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    head = f"POST /v1/recall_memory HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
    sent = 0

    async def flood() -> None:
        nonlocal sent
        while True:
            writer.write(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
            await writer.drain()
            sent += 0x2000
            await asyncio.sleep(0.001)

    task = asyncio.create_task(flood())
    async with asyncio.timeout(60):
        status = await reader.readline()
    task.cancel()
    writer.close()

    assert (b"HTTP/1.1 413 ", True) == (status[:13], sent < 64 * edge.settings.body_limit_bytes)


async def test_a_body_that_does_not_come_ends_with_a_timeout(edge: Edge) -> None:
    """504 at the deadline of the request."""

    head = f"POST /v1/recall_memory HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\n"
    status, answer = await raw(edge.port, f"{head}content-length: 100\r\n\r\n{{".encode())

    assert (504, True) == (status, b'"request_timeout"' in answer)


async def test_the_idempotency_key_of_the_header_reaches_the_operation(edge: Edge, client: httpx.AsyncClient) -> None:
    """It merges into the request."""

    await client.post("/v1/remember", json={"evidence": [{"content": "x"}]}, headers={"idempotency-key": "k-1"})

    assert ["k-1"] == [asked.idempotency_key for _, asked in edge.operations.asked]


@pytest.mark.parametrize(
    ("header", "expected"), [("k-2", (400, "idempotency_key_mismatch")), ("k" * 129, (422, "invalid_input")), ("", (422, "invalid_input"))]
)
async def test_a_wrong_idempotency_key_is_refused(edge: Edge, client: httpx.AsyncClient, header: str, expected: tuple[int, str]) -> None:
    """Two keys that differ, or one that is no key."""

    body = {"evidence": [{"content": "x"}], "idempotency_key": "k-1"}
    answer = await client.post("/v1/remember", json=body, headers={"idempotency-key": header})

    assert ((*expected, PROBLEM), []) == (code_of(answer), edge.operations.asked)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (NotVisible("not_found", "no such relationship"), (404, "not_found")),
        (Unauthenticated("credential_invalid", "no"), (401, "credential_invalid")),
        (Conflict("idempotency_conflict", "no"), (409, "idempotency_conflict")),
        (Unavailable("database_unavailable", "no", retry_after_s=3), (503, "database_unavailable")),
    ],
)
async def test_a_stated_failure_of_an_operation_is_a_problem(
    edge: Edge, client: httpx.AsyncClient, failure: BaseException, expected: tuple[int, str]
) -> None:
    """With the status of its code, and Retry-After where it states a time."""

    edge.operations.failure = failure
    answer = await client.post("/v1/recall_memory", content=RECALL, headers=JSON)

    assert ((*expected, PROBLEM), getattr(failure, "retry_after_s", None)) == (
        code_of(answer),
        int(answer.headers["retry-after"]) if "retry-after" in answer.headers else None,
    )


LEAK = re.compile(r"marker|psycopg|SQLSTATE|Traceback|site-packages|select ", re.IGNORECASE)


@pytest.mark.parametrize("path", ["/v1/recall_memory", "/v1/health/ready"])
async def test_an_unstated_failure_says_only_its_correlation_id(
    edge: Edge, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    """500 without the exception's words, in the answer as in the log; the log has the place and the id."""

    failure = RuntimeError("select marker from psycopg SQLSTATE")
    edge.operations.failure = failure
    edge.not_ready = failure  # type: ignore[assignment]
    answer = await (client.get(path) if "health" in path else client.post(path, content=RECALL, headers=JSON))
    logged = [record.getMessage() for record in caplog.records if record.name == "commonlore.api"]

    assert (500, "internal_failure", PROBLEM) == code_of(answer)
    assert (None, [], 1) == (LEAK.search(answer.text), [line for line in logged if "marker" in line], len(logged))
    assert answer.headers["x-correlation-id"] in logged[0]
    assert "RuntimeError at edge.py" in logged[0]


async def test_an_answer_that_is_no_json_is_a_fault_of_ours(edge: Edge, client: httpx.AsyncClient) -> None:
    """500 as a problem, not a broken connection."""

    edge.operations.answer = {"x": object()}

    assert (500, "internal_failure", PROBLEM) == code_of(await client.post("/v1/recall_memory", content=RECALL, headers=JSON))


async def test_an_operation_has_a_deadline() -> None:
    """504 with the code that says how to go on; the operation is cancelled."""

    async with running_edge(FakeOperations(delay_s=30), request_timeout_ms=150) as slow, httpx.AsyncClient(base_url=slow.url, headers=AUTH) as client:
        answer = await client.post("/v1/recall_memory", content=RECALL, headers=JSON)

    assert ((504, "request_timeout", PROBLEM), 1) == (code_of(answer), slow.operations.cancelled)


@pytest.mark.parametrize("path", ["/v1/recall_memory", "/mcp"])
async def test_an_operation_ends_when_its_client_leaves(edge: Edge, caplog: pytest.LogCaptureFixture, path: str) -> None:
    """It is cancelled, and nothing is logged as a failure."""

    edge.operations.delay_s = 1.5
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": "x"}}}
    body = RECALL if path.startswith("/v1") else json.dumps(call).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    writer.write(head.encode() + body)
    await writer.drain()
    await asyncio.sleep(0.2)
    writer.close()
    await asyncio.sleep(0.3)

    assert (1, []) == (edge.operations.cancelled, [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING])


async def test_a_slow_operation_is_not_cancelled_while_its_client_waits(edge: Edge, client: httpx.AsyncClient) -> None:
    """The watch for a client that leaves does not disturb one that stays, nor the next request on its connection."""

    edge.operations.delay_s = 0.2
    statuses = [(await client.post("/v1/recall_memory", content=RECALL, headers=JSON)).status_code for _ in range(3)]

    assert ([200, 200, 200], 0) == (statuses, edge.operations.cancelled)


async def test_live_and_ready(edge: Edge, client: httpx.AsyncClient) -> None:
    """Live always; ready only when the service says so. Neither needs a key."""

    edge.not_ready = Unavailable("not_ready", "starting", retry_after_s=1)
    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as bare:
        live, ready = await bare.get("/v1/health/live"), await bare.get("/v1/health/ready")
        edge.not_ready = None
        later = await bare.get("/v1/health/ready")

    assert (200, (503, "not_ready", PROBLEM), "1", 200) == (live.status_code, code_of(ready), ready.headers["retry-after"], later.status_code)


async def test_the_document_is_served(client: httpx.AsyncClient) -> None:
    """As JSON, without a key."""

    answer = await client.get("/schema/openapi.json", headers={"authorization": ""})

    assert (200, "3.1.0") == (answer.status_code, answer.json()["openapi"])
