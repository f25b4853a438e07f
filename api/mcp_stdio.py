"""MCP over standard input and output: the tools of a running service for an agent that starts a process of its own.

Each call goes to the service over its public API with the caller's key, so that keys, limits, spaces and answers are the service's own.
Standard output carries messages of the protocol and nothing else.
"""

from __future__ import annotations

import logging
from contextvars import Context
from typing import TYPE_CHECKING, Any, Self

from anyio import EndOfStream
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, CallToolRequestParams, CallToolResult, ErrorData, JSONRPCError

from commonlore.api.mcp_server import named_server, result_of, unknown_tool
from commonlore.api.operations import TOOLS, ToolSpec
from commonlore.api.problems import internal_failure, problem_body
from commonlore.client import AsyncClient, ClientError, NotAnswered, ServiceError
from commonlore.client.calling import Repeatable
from commonlore.domain.errors import CommonloreError, Unavailable
from commonlore.domain.ids import new_id

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

log = logging.getLogger("commonlore.mcp")

Incoming = SessionMessage | Exception
_UNREADABLE = JSONRPCError(
    jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="the line is no message of JSON-RPC, or is nested too deep to be read")
)


async def serve(url: str, key: str) -> None:
    """Answer messages until standard input ends."""
    async with AsyncClient(url, key) as client, stdio_server() as (incoming, outgoing):
        server = make_server(client)
        await server.run(Readable(incoming, outgoing), outgoing, server.create_initialization_options())


class Readable:
    """The messages of `incoming`. A line that is none is answered with an error that names no request, and not passed on."""

    def __init__(self, incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def last_context(self) -> Context | None:
        """Of the message that was received last, as the SDK wants it."""
        found: Context | None = getattr(self._incoming, "last_context", None)
        return found

    async def receive(self) -> Incoming:
        while isinstance(found := await self._incoming.receive(), Exception):
            await self._outgoing.send(SessionMessage(_UNREADABLE))
        return found

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def make_server(client: AsyncClient) -> Server[Any]:
    """The same tools, names and instructions as over HTTP, answered by the service of `client`."""

    async def on_call_tool(_: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        spec = TOOLS.get(params.name)
        if spec is None:
            raise unknown_tool(str(new_id()))
        content, failed = await _call(client, spec, params.arguments or {})
        return result_of(content, failed=failed)

    return named_server(on_call_tool)


async def _call(client: AsyncClient, spec: ToolSpec, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The answer and whether the call failed; a failure is the problem body that REST answers with."""
    try:
        return await client.call(f"/v1/{spec.name}", arguments, _repeatable(spec)), False
    except ServiceError as error:
        return error.problem, True
    except ClientError as error:
        log.warning("%s", error)
        return _problem(error), True


def _problem(error: ClientError) -> dict[str, Any]:
    stated: CommonloreError = internal_failure()
    if isinstance(error, NotAnswered):
        stated = Unavailable("not_ready", "the service does not answer; is it running, and is COMMONLORE_URL its address?", retry_after_s=2)
    return problem_body(stated, str(new_id()))


def _repeatable(spec: ToolSpec) -> Repeatable:
    return "always" if spec.idempotent else "with_key" if "idempotency_key" in spec.request.__struct_fields__ else "never"
