"""The client for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import httpx

from commonlore.client.calling import Answer, Pause, Repeatable, Reply, Retries, Send, converse, http_settings
from commonlore.client.tools import SyncTools


class Client(SyncTools):
    """A connection to one service with one key, for one thread at a time. Closed at the end of its `with` block, or by `close`.

    `timeout_s`: how long one try may take.

    Raises:
        ValueError: the address is none of HTTP.
    """

    def __init__(self, url: str, key: str, *, timeout_s: float = 60.0, retries: Retries | None = None) -> None:
        self._http = httpx.Client(**http_settings(url, key, timeout_s))
        self._retries = retries or Retries()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def call(self, path: str, request: Mapping[str, Any], repeatable: Repeatable = "never") -> Answer:
        """`POST` a request to a path below the service's address, and the answer.

        Raises:
            ClientError
        """
        conversation = converse(path, request, repeatable, self._retries)
        step = next(conversation)
        while True:
            try:
                step = conversation.send(self._perform(step))
            except StopIteration as end:
                answer: Answer = end.value
                return answer

    def _perform(self, step: Send | Pause) -> Reply:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return self._http.post(step.path, content=step.body)
        except httpx.TransportError as error:
            return error

    def administer(self, operation: str, **request: Any) -> Answer:
        """`POST /v1/admin/<operation>`, for a key with the scope admin; see docs/reference/http.md.

        Raises:
            ClientError
        """
        return self.call(f"/v1/admin/{operation}", request, "always" if operation.startswith(("list_", "describe_")) else "never")

    def each(self, path: str, request: Mapping[str, Any], name: str) -> Iterator[Any]:
        """The entries `name` of every page of a list, in order; one page is asked for when the one before is used up.

        Raises:
            ClientError
        """
        cursor: object = request.get("cursor")
        while True:
            page = self.call(path, {**request, "cursor": cursor} if cursor is not None else request, "always")
            yield from page[name]
            if (cursor := page.get("next_cursor")) is None:
                return
