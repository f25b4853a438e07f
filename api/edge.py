"""The outermost layer of the service: what holds for every request, whichever way in it takes.

Pure ASGI and no task of its own. It decides the correlation id, refuses addresses, hosts, origins and query parameters that
no route takes, hands MCP paths to the MCP endpoint and the rest to Litestar, and is the one place where an exception
that nobody stated ends.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from commonlore.api.admission import OPEN, Seat
from commonlore.api.exchange import (
    SCOPE_KEY,
    ClientGone,
    Exchange,
    Message,
    Receive,
    Scope,
    Send,
    credential_invalid,
    log_unstated,
    open_exchange,
    require_key,
    send_bytes,
    send_problem,
)
from commonlore.api.limits import Limiter, client_address
from commonlore.api.measure import open_measure
from commonlore.api.problems import internal_failure
from commonlore.db.settings import Settings
from commonlore.domain.errors import CommonloreError, DeadlineExceeded, Forbidden, Incorrect, Unauthenticated
from commonlore.domain.limits.admission import Admission, AdmissionPolicy

if TYPE_CHECKING:
    from commonlore.api.metrics import Metrics

ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_ADDRESS_BYTES = 8192
# No route needs percent-encoding, so none is decoded: %00, %ff and %2e%2e end here.
_PATH = re.compile(rb"/[A-Za-z0-9._~/-]*")
_DOTS = re.compile(rb"/\.{1,2}(?:/|\Z)|//")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?")
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_EVERYWHERE = frozenset(("0.0.0.0", "::"))
# Beyond an operation's own deadline, so that its own answer comes first.
_GRACE_S = 1.0
# What a request is counted as whose client left before the answer.
_CLIENT_GONE = 499
_NOT_THE_OPERATORS = frozenset((b"authorization", b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"))


def is_mcp_path(path: str) -> bool:
    return path == "/mcp" or path.startswith(("/mcp/", "/teams/"))


class Hosts:
    """The names this service answers for: where it listens, the loopback names, and those the operator lists.

    The guard against DNS rebinding. When it listens on all addresses, an address literal is answered as well: rebinding
    needs a name.
    """

    def __init__(self, settings: Settings) -> None:
        self._names = _LOOPBACK | {settings.host.lower(), *(name.lower() for name in settings.allowed_hosts)}
        self._any_literal = settings.host in _EVERYWHERE

    def allow(self, authority: bytes) -> bool:
        """Whether `authority` (a host with or without a port) is one of them."""
        match = _AUTHORITY.fullmatch(authority.decode("latin-1").lower())
        if match is None:
            return False
        host = match["host"].strip("[]").removesuffix(".")
        return host in self._names or (self._any_literal and _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Edge:
    """An ASGI application around `rest` (lifespan included) and `mcp`. Without `metrics` nothing answers at `/metrics`."""

    def __init__(
        self,
        rest: ASGIApp,
        mcp: ASGIApp,
        settings: Settings,
        metrics: Metrics | None = None,
        admission: Admission | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        self._rest, self._mcp, self._metrics, self._limiter = rest, mcp, metrics, limiter
        self._admission = admission or Admission(AdmissionPolicy(seats=settings.calls_at_once), time.monotonic)
        self._hosts = Hosts(settings)
        self._timeout_ms = settings.request_timeout_ms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._rest(scope, receive, send)
        elif scope["type"] == "http":
            await self._exchange(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = open_exchange(scope, self._timeout_ms)
        marked = _Marked(send, exchange.correlation_id)
        if self._limiter is not None:
            marked.measure.charge = self._limiter.open(self._address(scope, exchange, self._limiter))
        try:
            await self._answer(scope, receive, marked, exchange)
        finally:
            if marked.seat is not None:
                marked.seat.leave(marked.measure.operation, served=(marked.status or _CLIENT_GONE) < 400)
            if self._metrics is not None:
                self._metrics.observe(marked.measure, marked.status or _CLIENT_GONE)

    @staticmethod
    def _address(scope: Scope, exchange: Exchange, limiter: Limiter) -> str:
        peer = scope.get("client")
        return client_address(peer[0] if peer else "", exchange.headers.get(b"x-forwarded-for", ()), limiter.trusted_proxies)

    async def _answer(self, scope: Scope, receive: Receive, send: _Marked, exchange: Exchange) -> None:
        try:
            async with asyncio.timeout_at(exchange.deadline + _GRACE_S):
                self._admit(scope, exchange)
                if scope["path"] not in OPEN:
                    receive = send.seat = Seat(self._admission, receive)
                await self._route(scope, exchange)(scope, receive, send)
            return
        except ClientGone:
            return
        except CommonloreError as error:
            failure = error
        except TimeoutError:
            failure = DeadlineExceeded("request_timeout", "the request took longer than it may", retry_after_s=1)
        except Exception as error:  # noqa: BLE001  process root: nothing above it but the server
            log_unstated(error, exchange.correlation_id)
            failure = internal_failure()
        if send.status is None:
            await send_problem(send, failure, exchange.correlation_id)

    def _route(self, scope: Scope, exchange: Exchange) -> ASGIApp:
        if self._metrics is not None and scope["path"] == "/metrics" and scope["method"] == "GET" and _is_the_operators(scope, exchange):
            return self._show_metrics
        return self._mcp if is_mcp_path(scope["path"]) else self._rest

    async def _show_metrics(self, _: Scope, __: Receive, send: Send) -> None:
        assert self._metrics is not None
        await self._metrics.refresh()
        await send_bytes(send, 200, self._metrics.render(), {"content-type": self._metrics.content_type, "cache-control": "no-store"})

    def _admit(self, scope: Scope, exchange: Exchange) -> None:
        """
        Raises:
            Incorrect: the address is too long, no address of ours, or has a query.
            Forbidden: `host_not_allowed`.
            Unauthenticated: a query on a protected address without a key in the header.
        """
        path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8")
        query: bytes = scope["query_string"]
        # The server writes this scope into its access log when the answer starts; a key sent in the query must not get there.
        scope["query_string"] = b""
        if len(path) + len(query) > MAX_ADDRESS_BYTES:
            raise Incorrect("uri_too_long", f"expected an address of at most {MAX_ADDRESS_BYTES} bytes")
        host = exchange.header(b"host")
        if host is None or not self._hosts.allow(host):
            raise Forbidden("host_not_allowed", "the Host header names a host that this service does not answer for")
        if b"origin" in exchange.headers:
            origin = exchange.header(b"origin") or b""
            if not self._hosts.allow(origin.partition(b"://")[2]) or not origin.startswith((b"http://", b"https://")):
                raise Forbidden("host_not_allowed", "the Origin header names a host that this service does not answer for")
        if query:
            self._refuse_query(scope["path"], exchange)
        if _PATH.fullmatch(path) is None or _DOTS.search(path) is not None:
            raise Incorrect("route_not_found", "no route has this address")

    def _refuse_query(self, path: str, exchange: Exchange) -> None:
        if path not in OPEN:
            try:
                require_key(exchange)
            except Unauthenticated as error:
                raise credential_invalid() from error
        raise Incorrect("invalid_input", "the query: expected none; parameters belong into the body")


class _Marked:
    """The way out of one exchange: marks the head of the answer and remembers its status."""

    def __init__(self, send: Send, correlation_id: str) -> None:
        self._send = send
        self._correlation = (b"x-correlation-id", correlation_id.encode("ascii"))
        self.measure = open_measure()
        self.seat: Seat | None = None
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            status = self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), self._correlation, *self.measure.charge.headers()]
            if status == 401:
                self.measure.charge.fail()
            if status < 400:  # how far a refused key came is nobody's business
                message["headers"].append((b"server-timing", self.measure.server_timing()))
        await self._send(message)


def _is_the_operators(scope: Scope, exchange: Exchange) -> bool:
    """From this machine, through no proxy that says so, and without a key: keys belong to teams, the numbers to none of them."""
    peer = scope.get("client")
    return peer is not None and _is_loopback(peer[0]) and _NOT_THE_OPERATORS.isdisjoint(exchange.headers)


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


__all__ = ["SCOPE_KEY", "Edge", "Hosts", "is_mcp_path"]
