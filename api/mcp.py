"""MCP over streamable HTTP: stateless, one JSON answer to one POST, at `/mcp` and `/teams/{team}/mcp`.

The SDK's server answers the messages; the HTTP side is here. The SDK's own transport starts two tasks and four streams for
each POST, parses the body laxly (a key given twice, NaN) and has no answer in our words; this one reads the body once
with the rules of REST.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    DEFAULT_NEGOTIATED_VERSION,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolResult,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from commonlore.api.exchange import (
    Exchange,
    Receive,
    Scope,
    Send,
    credential_invalid,
    exchange_of,
    log_unstated,
    off_loop,
    read_json_body,
    require_key,
    send_bytes,
    supervise,
)
from commonlore.api.mcp_server import Outcome, call_tool, make_server, unknown_tool
from commonlore.api.measure import current
from commonlore.api.operations import TOOLS, Operations
from commonlore.api.problems import problem_body
from commonlore.api.rest import method_not_allowed
from commonlore.api.strict_json import Parsed, find_flaw, parse
from commonlore.db.settings import Settings
from commonlore.domain.errors import Incorrect
from commonlore.domain.tenancy.key import PresentedKey

Authenticate = Callable[[PresentedKey], Awaitable[None]]

_TEAM_PATH = re.compile(r"/teams/(?P<team>[^/]+)/mcp/?")
_VERSION_HEADER = MCP_PROTOCOL_VERSION_HEADER.encode("ascii")
_MAX_ID_CHARS = 256
_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass(slots=True)
class _Call:
    """One POST. `outcome` is what a tool call came to; the SDK carries an empty result in its place."""

    exchange: Exchange
    receive: Receive
    key: PresentedKey
    arguments: Parsed | None = None
    outcome: Outcome | None = None

    @property
    def correlation_id(self) -> str:
        return self.exchange.correlation_id

    def run(self, work: Awaitable[dict[str, object]]) -> Awaitable[dict[str, object]]:
        return supervise(self.exchange, self.receive, work)


@dataclass(slots=True)
class _Dispatch:
    """The SDK's context of one message, without a way back to the client: there is only the one answer."""

    request_id: int | str
    message_metadata: ServerMessageMetadata
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    progress_token: int | str | None = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        return None

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        return None


class _Rejected(Exception):
    """A message that is answered with a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, *, request_id: int | str | None = None, data: Any = None, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.body = {"jsonrpc": "2.0", "id": request_id, "error": error}


class McpEndpoint:
    """The ASGI application of every MCP path; expects the exchange that `Edge` opens.

    `authenticate`, when given, checks the key of messages that call no tool; a tool call's operation checks its own.
    """

    def __init__(self, operations: Operations, settings: Settings, authenticate: Authenticate | None = None) -> None:
        self._operations = operations
        self._limit_bytes = settings.body_limit_bytes
        self._authenticate = authenticate
        self._server = self._make_server()

    def _make_server(self) -> Server[Any]:
        server = make_server(self._operations, _caller)
        entry = server.get_request_handler("tools/call")
        assert entry is not None

        async def on_call_tool(context: ServerRequestContext[Any, Any], params: Any) -> CallToolResult:
            # The result goes around the SDK, which would copy and validate every piece of it four times.
            call = _caller(context)
            spec = TOOLS.get(params.name)
            if spec is None:
                raise unknown_tool(call.correlation_id)
            call.outcome = await call_tool(self._operations, spec, call.arguments or Parsed({}, suspect=False), call)
            return CallToolResult(content=[], is_error=call.outcome.failed)

        server.add_request_handler("tools/call", entry.params_type, on_call_tool)
        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Raises:
            CommonloreError: the exchange itself fails; a message that fails is answered here.
            ClientGone
        """
        exchange = exchange_of(scope)
        team = _team_of(scope["path"])
        if scope["method"] != "POST":
            raise method_not_allowed("POST")
        key = require_key(exchange)
        if team is not None and team.lower() not in (str(key.team_id), key.team_id.hex):
            raise credential_invalid()
        current().charge.present(key)
        body = await read_json_body(exchange, receive, self._limit_bytes)
        call = _Call(exchange, receive, key)
        try:
            answer = await self._answer(body, call)
        except _Rejected as rejected:
            await _send(send, exchange, rejected.status, rejected.body)
            return
        if answer is None:
            await send_bytes(send, 202, b"", {})
        else:
            await _send(send, exchange, 200, answer)

    async def _answer(self, body: bytes, call: _Call) -> dict[str, Any] | None:
        message = await off_loop(len(body), lambda: self._read(body, call))
        version = call.exchange.header(_VERSION_HEADER)
        if "id" not in message or "method" not in message:
            _require_version(version, None)
            return None
        request_id: int | str = message["id"]
        method: str = message["method"]
        connection, status_of = self._connect(message, call.exchange, request_id)
        if method != "tools/call" and self._authenticate is not None:
            await supervise(call.exchange, call.receive, self._authenticate(call.key))
        dispatch = _Dispatch(request_id, ServerMessageMetadata(request_context=call, can_send_request=False))
        try:
            result = await serve_one(self._server, dispatch, method, message.get("params"), connection=connection, lifespan_state={})
        except MCPError as error:
            raise _Rejected(error.code, error.message, request_id=request_id, data=error.data, status=status_of(error.code)) from error
        except ValidationError as error:
            raise _Rejected(INVALID_PARAMS, "invalid request parameters", request_id=request_id, status=status_of(INVALID_PARAMS)) from error
        if call.outcome is not None:
            _write_outcome(result, call.outcome)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _read(self, body: bytes, call: _Call) -> dict[str, Any]:
        """One JSON-RPC message. The arguments of a tool call move from it to `call`.

        Raises:
            _Rejected: it is none.
        """
        try:
            parsed = parse(body)
        except Incorrect as error:
            if error.code != "malformed_body":
                raise
            raise _Rejected(PARSE_ERROR, error.message, data=problem_body(error, call.correlation_id)) from error
        message = parsed.value
        if not isinstance(message, dict):
            raise _Rejected(INVALID_REQUEST, "expected one JSON-RPC message; batches are not part of this protocol")
        params = message.get("params")
        if message.get("method") == "tools/call" and isinstance(params, dict) and isinstance(params.get("arguments"), dict | None):
            call.arguments = Parsed(params.get("arguments") or {}, parsed.suspect)
            message = {**message, "params": {**params, "arguments": {}}}
        if parsed.suspect and find_flaw(message) is not None:
            raise _Rejected(INVALID_REQUEST, "expected text without U+0000 and lone surrogates, and numbers that fit 64 bits")
        _require_envelope(message)
        return message

    def _connect(self, message: dict[str, Any], exchange: Exchange, request_id: int | str) -> tuple[Connection, Callable[[int], int]]:
        """The protocol revision that the version header names, and how it maps error codes to statuses."""
        header = exchange.header(_VERSION_HEADER)
        version = DEFAULT_NEGOTIATED_VERSION if header is None else header.decode("latin-1")
        if version in HANDSHAKE_PROTOCOL_VERSIONS and len(exchange.headers.get(_VERSION_HEADER, ())) < 2:
            return Connection.from_envelope(version, None, None), lambda _: 200
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, values in exchange.headers.items() for value in values]
        if (twice := find_duplicated_routing_header(pairs)) is not None:
            raise _Rejected(INVALID_REQUEST, f"the header {twice} is there twice", request_id=request_id)
        _require_version(header, request_id)
        route = classify_inbound_request(message, headers=dict(pairs))
        if isinstance(route, InboundLadderRejection):
            status = ERROR_CODE_HTTP_STATUS.get(route.code, 400)
            raise _Rejected(route.code, route.message, request_id=request_id, data=route.data, status=status)
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        return connection, lambda code: ERROR_CODE_HTTP_STATUS.get(code, 200)


def _caller(context: ServerRequestContext[Any, Any]) -> _Call:
    call = context.request
    assert isinstance(call, _Call)
    return call


def _team_of(path: str) -> str | None:
    """The team that the path names, None for `/mcp`.

    Raises:
        Incorrect: `route_not_found`.
    """
    if path in ("/mcp", "/mcp/"):
        return None
    match = _TEAM_PATH.fullmatch(path)
    if match is None:
        raise Incorrect("route_not_found", "no route has this address")
    return match["team"]


def _require_envelope(message: dict[str, Any]) -> None:
    """
    Raises:
        _Rejected: not a request, a notification or an answer of JSON-RPC 2.0.
    """
    request_id = message.get("id")
    valid_id = (isinstance(request_id, int) and not isinstance(request_id, bool)) or (
        isinstance(request_id, str) and len(request_id) <= _MAX_ID_CHARS
    )
    if "id" in message and not valid_id and not ("error" in message and request_id is None):
        raise _Rejected(INVALID_REQUEST, f"id: expected an integer or a string of at most {_MAX_ID_CHARS} characters")
    echoed = request_id if valid_id else None
    if message.get("jsonrpc") != "2.0":
        raise _Rejected(INVALID_REQUEST, "jsonrpc: expected 2.0", request_id=echoed)
    if "method" not in message:
        if "id" in message and ("result" in message or "error" in message):
            return
        raise _Rejected(INVALID_REQUEST, "method: missing", request_id=echoed)
    if not isinstance(message["method"], str):
        raise _Rejected(INVALID_REQUEST, "method: expected a string", request_id=echoed)
    if "params" in message and not isinstance(message["params"], dict):
        raise _Rejected(INVALID_PARAMS, "params: expected an object", request_id=echoed)


def _require_version(header: bytes | None, request_id: int | str | None) -> None:
    """
    Raises:
        _Rejected: the header names no revision that is spoken here.
    """
    spoken = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    if header is not None and (version := header.decode("latin-1")) not in spoken:
        data = {"supported": list(spoken), "requested": version[:64]}
        raise _Rejected(UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version", request_id=request_id, data=data)


def _write_outcome(result: dict[str, Any], outcome: Outcome) -> None:
    if outcome.refusal is not None:
        raise outcome.refusal
    encoded = msgspec.json.encode(outcome.content)
    result["content"] = [{"type": "text", "text": encoded.decode("utf-8")}]
    result["structuredContent"] = msgspec.Raw(encoded)


async def _send(send: Send, exchange: Exchange, status: int, message: dict[str, Any]) -> None:
    """One message as JSON, or as the only event of a stream for a client that accepts nothing else."""
    try:
        body = msgspec.json.encode(message)
    except TypeError as error:
        log_unstated(error, exchange.correlation_id)
        status, body = 200, msgspec.json.encode(_Rejected(INTERNAL_ERROR, "internal failure", request_id=message.get("id")).body)
    accepted = b",".join(exchange.headers.get(b"accept", ())).lower()
    if b"text/event-stream" in accepted and b"application/" not in accepted and b"*/*" not in accepted:
        body, kind = b"event: message\ndata: " + body + b"\n\n", "text/event-stream"
    else:
        kind = "application/json"
    await send_bytes(send, status, body, {"content-type": kind, "cache-control": "no-store"})
