"""One HTTP exchange as every way in needs it: its headers, its correlation id, its deadline, its body and its end."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec

from commonlore.api.problems import MEDIA_TYPE, problem_body, problem_headers, status_of
from commonlore.db.deadline import set_deadline
from commonlore.domain.errors import CommonloreError, DeadlineExceeded, Incorrect, Unauthenticated
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.key import PresentedKey, parse

T = TypeVar("T")
# Ten seconds for each million bytes of a body, at most two minutes.
_SECONDS_A_BYTE, _MOST_MORE_S = 1e-5, 120.0
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Message], Awaitable[None]]
Headers = Mapping[bytes, list[bytes]]

log = logging.getLogger("commonlore.api")

SCOPE_KEY = "commonlore.exchange"
_CORRELATION_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
# Most recalls end before this; only a longer one pays for a task that waits for the client to go.
_WATCH_AFTER_S = 0.05
# Reading a body of this size takes about as long as a whole recall.
_LARGE_BYTES = 256 * 1024
_DRAIN_S = 1.0


class ClientGone(Exception):
    """The client closed the connection; nobody reads an answer."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """`deadline` is a time of the running loop. `headers` has lower-case names and every value of each."""

    headers: Headers
    correlation_id: str
    deadline: float

    def header(self, name: bytes) -> bytes | None:
        """The value of a header that is there exactly once; None when it is absent or repeated."""
        values = self.headers.get(name)
        return values[0] if values is not None and len(values) == 1 else None


def open_exchange(scope: Scope, timeout_ms: int) -> Exchange:
    """Reads the headers once. The correlation id is the caller's if it is well formed, else a fresh one."""
    headers: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name, []).append(value)
    exchange = Exchange(headers, _correlation_id(headers), asyncio.get_running_loop().time() + timeout_ms / 1000 + _more_time(headers))
    scope[SCOPE_KEY] = exchange
    set_deadline(exchange.deadline)
    return exchange


def _more_time(headers: Headers) -> float:
    """Seconds beyond the timeout for a long body, by its declared length: a text of megabytes is cut and indexed while the caller waits."""
    declared = headers.get(b"content-length", [b""])[0]
    return min(int(declared[:9]) * _SECONDS_A_BYTE, _MOST_MORE_S) if declared.isdigit() else 0.0


def exchange_of(scope: Mapping[str, object]) -> Exchange:
    """The exchange that `Edge` opened for this request."""
    exchange = scope[SCOPE_KEY]
    assert isinstance(exchange, Exchange)
    return exchange


def _correlation_id(headers: Headers) -> str:
    for name in (b"x-correlation-id", b"x-request-id"):
        values = headers.get(name)
        if values is not None and len(values) == 1 and _CORRELATION_ID.fullmatch(values[0]):
            return values[0].decode("ascii")
    return str(new_id())


def require_key(exchange: Exchange) -> PresentedKey:
    """The well-formed key of the Authorization header. Whether it exists is the operation's to say.

    Raises:
        Unauthenticated: none, several, another scheme or a malformed key; all alike.
    """
    scheme, _, text = (exchange.header(b"authorization") or b"").partition(b" ")
    key = parse(text.strip().decode("ascii", "replace")) if scheme.lower() == b"bearer" else None
    if key is None:
        raise credential_invalid()
    return key


def credential_invalid() -> Unauthenticated:
    return Unauthenticated("credential_invalid", "expected Authorization: Bearer with a valid key")


async def read_json_body(exchange: Exchange, receive: Receive, limit_bytes: int) -> bytes:
    """The whole body of a request that declares application/json.

    A body beyond the limit is refused before it is held: by its declared length, or at the piece that exceeds it.

    Raises:
        Incorrect: `unsupported_media_type`, `body_too_large`.
        DeadlineExceeded: the body came too slowly.
        ClientGone: the client left.
    """
    _require_json(exchange.headers)
    declared = exchange.header(b"content-length")
    if declared is not None and declared.isdigit() and int(declared[:20]) > limit_bytes:
        await _drain(exchange, receive, limit_bytes)
        raise _too_large(limit_bytes)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout_at(exchange.deadline):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientGone
                piece: bytes = message.get("body", b"")
                size += len(piece)
                if size > limit_bytes:
                    pieces.clear()
                    await _drain(exchange, receive, limit_bytes)
                    raise _too_large(limit_bytes)
                pieces.append(piece)
                if not message.get("more_body", False):
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    except TimeoutError as error:
        raise DeadlineExceeded("request_timeout", "the body did not arrive in time") from error


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """`work` on a body of `size` bytes: here, or in a thread where other requests would wait for it."""
    return work() if size <= _LARGE_BYTES else await asyncio.to_thread(work)


def _require_json(headers: Headers) -> None:
    values = headers.get(b"content-type", [])
    kind, *parameters = (values[0] if len(values) == 1 else b"").lower().split(b";")
    allowed = (b"", b"charset=utf-8", b'charset="utf-8"')
    if kind.strip() != b"application/json" or any(parameter.strip() not in allowed for parameter in parameters):
        raise Incorrect("unsupported_media_type", "expected the Content-Type application/json, in UTF-8")
    if any(value.strip().lower() != b"identity" for value in headers.get(b"content-encoding", [])):
        raise Incorrect("unsupported_media_type", "expected no Content-Encoding")


def _too_large(limit_bytes: int) -> Incorrect:
    return Incorrect("body_too_large", f"expected a body of at most {limit_bytes} bytes", details={"limit_bytes": limit_bytes})


async def _drain(exchange: Exchange, receive: Receive, most_bytes: int) -> None:
    """Reads on and forgets, for a second and a limit's worth, so that a client still writing gets the answer and no reset."""
    if b"expect" in exchange.headers:
        return
    try:
        async with asyncio.timeout(_DRAIN_S):
            while most_bytes > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                most_bytes -= len(message.get("body", b""))
    except TimeoutError:
        return


async def supervise(exchange: Exchange, receive: Receive, work: Awaitable[T]) -> T:
    """`work` within the deadline, cancelled when the client leaves. The body must have been read.

    Raises:
        DeadlineExceeded: `request_timeout`.
        ClientGone: the client left.
    """
    task = asyncio.current_task()
    assert task is not None
    watch = _Watch(receive, task)
    timer = asyncio.get_running_loop().call_later(_WATCH_AFTER_S, watch.start)
    timeout = asyncio.timeout_at(exchange.deadline)
    try:
        async with timeout:
            return await work
    except TimeoutError as error:
        if not timeout.expired():
            raise
        raise DeadlineExceeded("request_timeout", "the request took longer than it may", retry_after_s=1) from error
    except asyncio.CancelledError:
        if not watch.gone:
            raise
        task.uncancel()
        raise ClientGone from None
    finally:
        timer.cancel()
        watch.stop()


class _Watch:
    """Waits for the client to leave, then cancels the exchange's task once."""

    __slots__ = ("_receive", "_target", "_waiter", "gone")

    def __init__(self, receive: Receive, target: asyncio.Task[Any]) -> None:
        self._receive, self._target = receive, target
        self._waiter: asyncio.Task[None] | None = None
        self.gone = False

    def start(self) -> None:
        self._waiter = asyncio.get_running_loop().create_task(self._wait())

    def stop(self) -> None:
        if self._waiter is not None:
            self._waiter.cancel()

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self._target.cancel()


async def send_bytes(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    raw.append((b"content-length", str(len(body)).encode("ascii")))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def encode_problem(error: CommonloreError, correlation_id: str) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of a failure."""
    return status_of(error), msgspec.json.encode(problem_body(error, correlation_id)), {"content-type": MEDIA_TYPE, **problem_headers(error)}


async def send_problem(send: Send, error: CommonloreError, correlation_id: str) -> None:
    status, body, headers = encode_problem(error, correlation_id)
    await send_bytes(send, status, body, headers)


def log_unstated(error: BaseException, correlation_id: str) -> None:
    """Logs where an exception that nobody stated came from: types, files and lines, never its message, which may hold content."""
    chain: list[str] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 4:
        frames = traceback.extract_tb(current.__traceback__)[-6:]
        places = " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
        chain.append(f"{type(current).__name__} at {places}")
        current = current.__cause__ or current.__context__
    log.error("unstated failure correlation_id=%s %s", correlation_id, " caused by ".join(chain))
