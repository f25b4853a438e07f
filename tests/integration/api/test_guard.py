"""What the edge refuses before any operation: addresses, queries, credentials, hosts, methods."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
import pytest_asyncio

from commonlore.domain.tenancy.key import mint
from tests.support.edge import KEY, TEAM, Edge, running_edge

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


@pytest.mark.parametrize("path", ["/v1/recall_memory", "/v1/health/live", "/schema/openapi.json", "/mcp"])
@pytest.mark.parametrize("query", ["q=1", "q=1&q=2", "limit=-1", "q=%00", "q=%ff%fe", "q"])
async def test_no_route_takes_a_query(client: httpx.AsyncClient, path: str, query: str) -> None:
    """A parameter is an error, never ignored."""

    answer = (
        await client.get(f"{path}?{query}")
        if path.startswith(("/v1/health", "/schema"))
        else await client.post(f"{path}?{query}", content=RECALL, headers=JSON)
    )

    assert (422, "invalid_input", PROBLEM) == code_of(answer)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/x?q=%00", 422),
        ("/x?limit=1e9", 422),
        ("/x?limit=", 422),
        ("/x?q=%ff", 422),
        ("/x/%2e%2e%2fadmin", 404),
        ("/v1/../v1/health/live", 404),
        ("/v1//health/live", 404),
        ("/%00", 404),
        ("/%ff", 404),
        ("/v1/recall_memory%00", 404),
        ("/teams/%2e%2e/mcp", 404),
        ("/nowhere", 404),
        ("/", 404),
        ("/x?q=" + "a" * 65_536, 414),
        ("/" + "a" * 65_536, 414),
    ],
)
async def test_a_strange_address_is_the_callers_fault(edge: Edge, path: str, status: int) -> None:
    """4xx as a problem, whatever the bytes."""

    got, answer = await raw(edge.port, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n\r\n".encode())

    assert (status, True) == (got, b"problem+json" in answer)


async def test_a_key_in_the_query_is_no_credential_and_is_not_logged(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    """401, and the access log has the path alone."""

    caplog.set_level(logging.INFO)
    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as bare:
        answer = await bare.get(f"/anything?api_key={KEY}&token={KEY}")
    lines = [record.getMessage() for record in caplog.records if record.name == "uvicorn.access"]

    assert ((401, "credential_invalid", PROBLEM), 1) == (code_of(answer), sum("/anything" in line for line in lines))
    assert [] == [line for line in lines if KEY in line or "api_key" in line]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer nonsense",
        f"Basic {KEY}",
        KEY,
        f"Bearer {KEY}x",
        f"Bearer {KEY} x",
        f"Bearer {KEY.upper()}",
        "Bearer \u00e9",
        None,
    ],
)
@pytest.mark.parametrize("path", ["/v1/recall_memory", "/mcp", f"/teams/{TEAM}/mcp"])
async def test_no_wellformed_key_no_answer(edge: Edge, path: str, value: str | None) -> None:
    """401 with WWW-Authenticate, alike for each, before the body is looked at."""

    headers = {} if value is None else {"authorization": value.encode("latin-1")}
    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as bare:
        answer = await bare.post(path, content=b"{", headers={**JSON, **headers})

    assert ((401, "credential_invalid", PROBLEM), "Bearer") == (code_of(answer), answer.headers["www-authenticate"])


async def test_two_credentials_are_none(edge: Edge) -> None:
    """A repeated Authorization header could be read two ways."""

    head = f"POST /v1/recall_memory HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\nauthorization: Bearer {mint(TEAM).text}\r\n"

    assert 401 == (await raw(edge.port, f"{head}content-type: application/json\r\ncontent-length: 13\r\n\r\n".encode() + RECALL))[0]


async def test_the_scheme_is_not_case_sensitive(edge: Edge) -> None:
    """RFC 9110 says so."""

    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as bare:
        answer = await bare.post("/v1/recall_memory", content=RECALL, headers=JSON | {"authorization": f"bearer {KEY}"})

    assert 200 == answer.status_code


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example:8000"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "localhost"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "file://localhost"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/v1/recall_memory", "/mcp"])
async def test_a_foreign_host_or_origin_is_refused(client: httpx.AsyncClient, path: str, headers: dict[str, str], status: int) -> None:
    """The guard against DNS rebinding, the same on both ways in."""

    body = RECALL if path.startswith("/v1") else b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    answer = await client.post(path, content=body, headers=JSON | headers)

    assert (status, "host_not_allowed" if status == 403 else None) == (answer.status_code, answer.json().get("code"))


async def test_a_listed_host_is_answered(edge: Edge) -> None:
    """COMMONLORE_ALLOWED_HOSTS adds names."""

    async with running_edge(allowed_hosts=("lore.example",)) as open_edge, httpx.AsyncClient(base_url=open_edge.url, timeout=60) as bare:
        answer = await bare.get("/v1/health/live", headers={"host": "lore.example"})

    assert 200 == answer.status_code


async def test_a_request_without_a_host_is_refused(edge: Edge) -> None:
    """HTTP/1.0 allows it; the guard does not."""

    assert 403 == (await raw(edge.port, b"GET /v1/health/live HTTP/1.0\r\n\r\n"))[0]


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"x-correlation-id": "run-7_a.b"}, "run-7_a.b"),
        ({"x-request-id": "r" * 128}, "r" * 128),
        ({"x-correlation-id": "a", "x-request-id": "b"}, "a"),
        ({"x-correlation-id": "r" * 129}, None),
        ({"x-correlation-id": "two words"}, None),
        ({"x-correlation-id": ""}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("path", ["/v1/recall_memory", "/nowhere", "/mcp"])
async def test_every_answer_has_a_correlation_id(client: httpx.AsyncClient, path: str, headers: dict[str, str], kept: str | None) -> None:
    """The caller's when it is well formed, else a fresh one; in a problem's body the same as in the header."""

    answer = await client.post(path, content=RECALL, headers=JSON | headers)
    given = answer.headers["x-correlation-id"]

    assert kept is None or kept == given
    assert kept is not None or re.fullmatch(r"[0-9a-f-]{36}", given)
    assert given == answer.json().get("correlation_id", given)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/recall_memory", "POST"),
        ("PUT", "/v1/remember", "POST"),
        ("DELETE", "/v1/trace_memory", "POST"),
        ("POST", "/v1/health/live", "GET"),
        ("POST", "/schema/openapi.json", "GET"),
        ("GET", "/mcp", "POST"),
        ("DELETE", "/mcp", "POST"),
        ("PUT", f"/teams/{TEAM}/mcp", "POST"),
    ],
)
async def test_another_method_is_told_the_right_one(client: httpx.AsyncClient, method: str, path: str, allow: str) -> None:
    """405 as a problem, with Allow."""

    answer = await client.request(method, path)

    assert ((405, "method_not_allowed", PROBLEM), True) == (code_of(answer), allow in answer.headers["allow"].split(", "))


async def test_junk_bytes_are_never_a_fault_of_ours(edge: Edge) -> None:
    """What is no HTTP at all is refused by the server."""

    assert 400 == (await raw(edge.port, b"\x16\x03\x01\x02 junk\r\n\r\n"))[0]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH"])
@pytest.mark.parametrize("path", ["/v1/recall_memory", "/v1/health/live", "/mcp", "/nowhere"])
async def test_no_method_is_a_fault_of_ours(edge: Edge, method: str, path: str) -> None:
    """Below 500 for each."""

    request: Callable[[], bytes] = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n\r\n".encode

    assert (await raw(edge.port, request()))[0] < 500
