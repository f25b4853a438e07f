"""The server's HTTP protocol with two bounds that uvicorn leaves open: how long and how large the head of a request may be.

Without them a connection that sends a byte now and then stays for ever, and one header can fill the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from commonlore.api.edge import MAX_ADDRESS_BYTES
from commonlore.db.settings import Settings

MAX_HEAD_BYTES = 128 * 1024
_CLOSED = b"connection: close\r\ncontent-length: 0\r\n\r\n"


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """What `uvicorn.Config` needs beside the application and its address."""
    protocol = type("Protocol", (BoundedProtocol,), {"head_timeout_s": settings.header_timeout_ms / 1000})
    return {"http": protocol, "ws": "none", "server_header": False}


class BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose request head takes longer than `head_timeout_s` (408) or more than `MAX_HEAD_BYTES` (431).

    The time runs from the connection or the first byte after an answer; a body has the request's own deadline.
    """

    head_timeout_s: ClassVar[float]
    # Called when a connection was closed, where somebody counts them.
    on_lost: ClassVar[Callable[..., None]] = staticmethod(lambda: None)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_ended()
        super().connection_lost(exc)
        self.on_lost()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self.cycle is not None and self.cycle.response_complete:
            self._await_head()
        super().data_received(data)
        if self._timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")

    def on_headers_complete(self) -> None:
        self._head_ended()
        # The parser of addresses fails beyond 65,535 bytes; cut there, the address is still too long for the edge, which says so.
        self.url = self.url[: 2 * MAX_ADDRESS_BYTES]
        super().on_headers_complete()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._timer = self.loop.call_later(self.head_timeout_s, self._refuse, b"HTTP/1.1 408 Request Timeout\r\n")

    def _head_ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status_line: bytes) -> None:
        self._head_ended()
        if not self.transport.is_closing():
            self.transport.write(status_line + _CLOSED)
            self.transport.close()
