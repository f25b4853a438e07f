"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

import httpx

from commonlore.client.calling import Answer, Pause, Repeatable, Reply, Retries, Send, converse, http_settings
from commonlore.client.tools import AsyncTools


class AsyncClient(AsyncTools):
    """A connection to one service with one key, for any number of calls at once. Closed at the end of its `async with` block, or by `close`.

    `timeout_s`: how long one try may take.

    Raises:
        ValueError: the address is none of HTTP.
    """

    def __init__(self, url: str, key: str, *, timeout_s: float = 60.0, retries: Retries | None = None) -> None:
        self._http = httpx.AsyncClient(**http_settings(url, key, timeout_s))
        self._retries = retries or Retries()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, path: str, request: Mapping[str, Any], repeatable: Repeatable = "never") -> Answer:
        """`POST` a request to a path below the service's address, and the answer.

        Raises:
            ClientError
        """
        conversation = converse(path, request, repeatable, self._retries)
        step = next(conversation)
        while True:
            reply = await self._perform(step)
            try:
                step = conversation.send(reply)
            except StopIteration as end:
                answer: Answer = end.value
                return answer

    async def _perform(self, step: Send | Pause) -> Reply:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await self._http.post(step.path, content=step.body)
        except httpx.TransportError as error:
            return error

    async def administer(self, operation: str, **request: Any) -> Answer:
        """`POST /v1/admin/<operation>`, for a key with the scope admin; see docs/reference/http.md.

        Raises:
            ClientError
        """
        return await self.call(f"/v1/admin/{operation}", request, "always" if operation.startswith(("list_", "describe_")) else "never")

    async def each(self, path: str, request: Mapping[str, Any], name: str) -> AsyncIterator[Any]:
        """The entries `name` of every page of a list, in order; one page is asked for when the one before is used up.

        Raises:
            ClientError
        """
        cursor: object = request.get("cursor")
        while True:
            page = await self.call(path, {**request, "cursor": cursor} if cursor is not None else request, "always")
            for entry in page[name]:
                yield entry
            if (cursor := page.get("next_cursor")) is None:
                return
