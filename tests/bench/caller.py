"""The cheapest caller there is: one kept-alive connection, one request at a time.

A general HTTP client takes a millisecond or two of the same processor that serves; here the service is to be measured.
"""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit


class Caller:
    """An asynchronous context: the connection is open inside it."""

    def __init__(self, url: str, key: str) -> None:
        address = urlsplit(url)
        assert address.hostname is not None and address.port is not None
        self._host, self._port = address.hostname, address.port
        self._head = f"Host: {address.netloc}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """The bytes of the answer.

        Raises:
            RuntimeError: the answer is not 200.
        """
        content = json.dumps(body).encode()
        self._writer.write(f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        answer = await self._reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer[:500].decode("utf-8", "replace"))
        return answer
