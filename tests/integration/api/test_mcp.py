"""MCP over streamable HTTP on the real server, with fake operations behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest
import pytest_asyncio
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from commonlore.api.mcp_server import LISTED
from commonlore.api.operations import TOOLS
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.key import mint
from tests.support.edge import KEY, TEAM, Edge, running_edge

AUTH = {"authorization": f"Bearer {KEY}"}
JSON = {"content-type": "application/json"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server() -> AsyncIterator[Edge]:
    async with running_edge(request_timeout_ms=2000) as running:
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


async def ask(client: httpx.AsyncClient, method: str, params: Any = None, *, path: str = "/mcp", **headers: str) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 7, "method": method} | ({} if params is None else {"params": params})
    return await client.post(path, json=message, headers={name.replace("_", "-"): value for name, value in headers.items()})


async def call(client: httpx.AsyncClient, arguments: Any, name: str = "recall_memory") -> httpx.Response:
    return await ask(client, "tools/call", {"name": name, "arguments": arguments})


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", f"/teams/{TEAM}/mcp", f"/teams/{TEAM.hex}/mcp", f"/teams/{TEAM}/mcp/"])
async def test_each_path_answers(client: httpx.AsyncClient, path: str) -> None:
    """`/mcp`, and the key's own team in the path."""

    answer = await ask(client, "initialize", HELLO, path=path)

    assert (200, "2025-06-18", "commonlore") == (
        answer.status_code,
        answer.json()["result"]["protocolVersion"],
        answer.json()["result"]["serverInfo"]["name"],
    )


async def test_a_foreign_team_in_the_path_is_like_a_missing_one(client: httpx.AsyncClient) -> None:
    """Existing, missing and malformed teams give one answer, the same as a key that is none: no oracle."""

    answers = [await ask(client, "tools/list", path=f"/teams/{team}/mcp", x_request_id="c") for team in (new_id(), "0" * 32, "nonsense")]
    answers.append(await ask(client, "tools/list", x_request_id="c", authorization="Bearer nonsense"))

    assert {(401, answers[0].content)} == {(answer.status_code, answer.content) for answer in answers}


@pytest.mark.parametrize("path", ["/mcp/x", "/teams", "/teams/", f"/teams/{TEAM}", f"/teams/{TEAM}/mcp/x", f"/teams/{TEAM}/x/mcp"])
async def test_no_other_path_answers(client: httpx.AsyncClient, path: str) -> None:
    """404 as a problem."""

    answer = await ask(client, "ping", path=path)

    assert (404, "route_not_found") == (answer.status_code, answer.json()["code"])


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream", "application/json"),
        ("*/*", "application/json"),
        (None, "application/json"),
        ("application/json;q=0.9", "application/json"),
        ("text/html", "application/json"),
    ],
)
async def test_every_accept_header_is_served(edge: Edge, accept: str | None, kind: str) -> None:
    """initialize works for each, with a type that the client accepts."""

    headers = AUTH | JSON | ({} if accept is None else {"accept": accept})
    request = httpx.Request("POST", f"{edge.url}/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": HELLO}, headers=headers)
    if accept is None:
        request.headers.pop("accept", None)
    async with httpx.AsyncClient(timeout=60) as bare:
        answer = await bare.send(request)
    message = json.loads(answer.text.removeprefix("event: message\ndata: "))

    assert (200, kind, 7) == (answer.status_code, answer.headers["content-type"], message["id"])


@pytest.mark.parametrize("asked", ["9999-01-01", "", "abc", "2026-07-28"])
async def test_an_unknown_protocol_version_is_answered_with_a_known_one(client: httpx.AsyncClient, asked: str) -> None:
    """The newest of the handshake; the client may then go or stay."""

    answer = await ask(client, "initialize", HELLO | {"protocolVersion": asked})

    assert (200, "2025-11-25") == (answer.status_code, answer.json()["result"]["protocolVersion"])


@pytest.mark.parametrize("params", [HELLO | {"protocolVersion": None}, {}, None])
async def test_an_initialize_without_a_version_is_invalid(client: httpx.AsyncClient, params: Any) -> None:
    """-32602, and the next message works."""

    answer = await ask(client, "initialize", params)
    later = await ask(client, "initialize", HELLO)

    assert (-32602, 200) == (answer.json()["error"]["code"], later.status_code)


async def test_unknown_capabilities_and_client_fields_are_let_pass(client: httpx.AsyncClient) -> None:
    """A newer client is no reason to fail."""

    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"x-new": {"y": 1}, "roots": {"listChanged": True}},
        "clientInfo": {"name": "t", "version": "0", "title": "x", "icons": []},
        "_meta": {"a": 1},
    }

    assert "result" in (await ask(client, "initialize", params)).json()


@pytest.mark.parametrize("version", ["1999-01-01", "", "2025-06-18, 2025-06-18", "x" * 5000])
@pytest.mark.parametrize("body", [{"id": 7, "method": "tools/list"}, {"method": "notifications/initialized"}])
async def test_an_unknown_version_header_is_refused(client: httpx.AsyncClient, version: str, body: dict[str, Any]) -> None:
    """400 with the versions that are spoken."""

    answer = await client.post("/mcp", json={"jsonrpc": "2.0", **body}, headers={"mcp-protocol-version": version})

    assert (400, True) == (answer.status_code, "2025-11-25" in answer.json()["error"]["data"]["supported"])


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_handshake_version_calls_tools(edge: Edge, client: httpx.AsyncClient, version: str) -> None:
    """With structured content in each."""

    answer = await ask(client, "tools/call", {"name": "recall_memory", "arguments": {"query": "x"}}, mcp_protocol_version=version)

    assert edge.operations.answer == answer.json()["result"]["structuredContent"]


async def test_the_stateless_revision_calls_tools(edge: Edge, client: httpx.AsyncClient) -> None:
    """2026-07-28: no handshake, an envelope in each request."""

    params = {"name": "recall_memory", "arguments": {"query": "x"}, "_meta": MODERN}
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "recall_memory"}
    answer = await ask(client, "tools/call", params, **headers)
    mismatched = await ask(client, "tools/call", params, **(headers | {"mcp_name": "remember"}))
    unknown = await ask(client, "nope", {"_meta": MODERN}, **(headers | {"mcp_method": "nope"}))

    assert (edge.operations.answer, 400, 404) == (answer.json()["result"]["structuredContent"], mismatched.status_code, unknown.status_code)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"1", -32600),
        (b'"x"', -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\\u0000"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":"a","query":"b"}}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":NaN}}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall_memory","arguments":{"query":' + b"[" * 300, -32700),
        (b'{"jsonrpc":"2.0",', -32700),
        (b"\xff", -32700),
        (b"", -32700),
    ],
)
async def test_junk_is_answered_as_json_rpc(edge: Edge, client: httpx.AsyncClient, body: bytes, code: int) -> None:
    """400 with the error code of JSON-RPC; nothing reaches an operation."""

    answer = await client.post("/mcp", content=body, headers=JSON)

    assert (400, code, "2.0", []) == (answer.status_code, answer.json()["error"]["code"], answer.json()["jsonrpc"], edge.operations.asked)


async def test_an_unreadable_body_has_the_problem_beside_it(client: httpx.AsyncClient) -> None:
    """The code and the rule, as over REST."""

    answer = await client.post("/mcp", content=b'{"a":1,"a":2}', headers=JSON)

    assert ("malformed_body", "an object has the same key twice") == tuple(answer.json()["error"]["data"][name] for name in ("code", "message"))


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nope", None, -32601),
        ("resources/list", None, -32601),
        ("tools/call", None, -32602),
        ("tools/call", {"arguments": {}}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/call", {"name": "nope"}, -32602),
        ("tools/call", {"name": "recall_memory", "arguments": []}, -32602),
        ("tools/call", {"name": "recall_memory", "arguments": "x"}, -32602),
        ("tools/call", {"name": "Recall_Memory", "arguments": {"query": "x"}}, -32602),
    ],
)
async def test_a_wrong_request_is_an_error_of_its_own_id(client: httpx.AsyncClient, method: str, params: Any, code: int) -> None:
    """In a successful exchange, as the handshake revisions want it."""

    answer = await ask(client, method, params)

    assert (200, 7, code) == (answer.status_code, answer.json()["id"], answer.json()["error"]["code"])


async def test_an_unknown_tool_is_told_the_names(client: httpx.AsyncClient) -> None:
    """With the problem as data, for the published client."""

    error = (await call(client, {}, name="nope")).json()["error"]

    assert (f"unknown tool; expected one of {', '.join(TOOLS)}", "invalid_input") == (error["message"], error["data"]["code"])


@pytest.mark.parametrize(
    "message",
    [
        {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "params": {"requestId": 3}},
        {"method": "notifications/anything"},
        {"id": 3, "result": {}},
        {"id": 3, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_what_needs_no_answer_is_accepted(client: httpx.AsyncClient, message: dict[str, Any]) -> None:
    """202 and no body."""

    answer = await client.post("/mcp", json={"jsonrpc": "2.0", **message})

    assert (202, b"") == (answer.status_code, answer.content)


async def test_a_session_id_is_ignored(client: httpx.AsyncClient) -> None:
    """There are no sessions; a client that kept one from another server still works."""

    answer = await ask(client, "tools/list", mcp_session_id="from-elsewhere")

    assert (200, None) == (answer.status_code, answer.headers.get("mcp-session-id"))


async def test_the_list_on_the_wire_is_short(client: httpx.AsyncClient) -> None:
    """Under 4,000 tokens at four characters a token, with closed schemas, and without the tools that agents are not shown."""

    answer = await ask(client, "tools/list", mcp_protocol_version="2025-11-25")
    tools = answer.json()["result"]["tools"]

    assert len(answer.text) / 4 < 4000
    assert [(spec.name, False) for spec in TOOLS.values() if spec.name in LISTED] == [
        (tool["name"], tool["inputSchema"]["additionalProperties"]) for tool in tools
    ]
    assert "contest_evidence" not in {tool["name"] for tool in tools}


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
async def test_the_sdk_client_calls_a_tool(edge: Edge, mode: str) -> None:
    """The client of the installed SDK, in both eras, with its own check of the output schema."""

    async with httpx2.AsyncClient(headers=AUTH) as http:
        transport = streamable_http_client(f"{edge.url}/mcp", http_client=http)
        async with Client(transport, mode="legacy" if mode.startswith("2025") else mode) as client:
            result = await client.call_tool("recall_memory", {"query": "x"})

    assert (edge.operations.answer, False) == (result.structured_content, result.is_error)


async def test_the_key_of_the_tests_belongs_to_the_team() -> None:
    """The paths above rest on it."""

    assert f"cl_{TEAM.hex}_" == mint(TEAM).text[:36]
