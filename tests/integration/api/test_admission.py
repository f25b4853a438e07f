"""More calls than seats: 503 before the body, health always, and a slow body holds no seat. No step waits for a time to pass."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import httpx
import pytest

from tests.support.edge import KEY, Edge, FakeOperations, running_edge

HEAD = f"POST /v1/recall_memory HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
BODY = b'{"query":"x"}'


@dataclass
class HeldOperations(FakeOperations):
    """Answers when `go` is set."""

    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def _serve(self, name: str, request: object) -> dict[str, object]:
        self.asked.append((name, request))
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.answer


@pytest.fixture
async def operations() -> HeldOperations:
    return HeldOperations()


@pytest.fixture
async def edge(operations: HeldOperations) -> AsyncIterator[Edge]:
    async with running_edge(operations, calls_at_once=2, request_timeout_ms=60_000) as running:
        yield running


class Call:
    """One request by hand: head first, the body when it is told."""

    @classmethod
    async def begin(cls, port: int) -> Call:
        call = cls()
        call.reader, call.writer = await asyncio.open_connection("127.0.0.1", port)
        call.writer.write(f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode())
        await call.writer.drain()
        return call

    def send_body(self) -> None:
        self.writer.write(BODY)

    async def answer(self) -> tuple[int, bytes]:
        async with asyncio.timeout(120):
            head = await self.reader.readuntil(b"\r\n\r\n")
        self.writer.close()
        return int(head.split(b" ", 2)[1]), head


async def called(port: int) -> Call:
    call = await Call.begin(port)
    call.send_body()
    return call


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  what is waited for has no event
            await asyncio.sleep(0.005)


async def test_a_call_without_a_seat_is_refused_before_its_body(edge: Edge, operations: HeldOperations) -> None:
    running = [await called(edge.port) for _ in range(2)]
    await until(lambda: 2 == len(operations.asked))
    refused = [await (await Call.begin(edge.port)).answer() for _ in range(5)]
    operations.go.set()

    assert [503] * 5 == [status for status, _ in refused]
    assert all(re.search(rb"\r\nretry-after: [123]\r\n", head) for _, head in refused)
    assert [200, 200] == [(await call.answer())[0] for call in running]
    assert 2 == len(operations.asked)


async def test_health_and_the_document_need_no_seat(edge: Edge, operations: HeldOperations) -> None:
    running = [await called(edge.port) for _ in range(2)]
    await until(lambda: 2 == len(operations.asked))
    async with httpx.AsyncClient(base_url=edge.url, timeout=30) as client:
        answers = [await client.get(path) for path in ("/v1/health/live", "/v1/health/ready", "/schema/openapi.json")]
    further = await (await called(edge.port)).answer()
    operations.go.set()

    assert [200] * 3 == [answer.status_code for answer in answers] and 503 == further[0]
    assert [200, 200] == [(await call.answer())[0] for call in running]


async def test_a_slow_body_holds_no_seat(edge: Edge, operations: HeldOperations) -> None:
    slow = [await Call.begin(edge.port) for _ in range(5)]
    operations.go.set()
    quick = await (await called(edge.port)).answer()

    assert 200 == quick[0]
    for call in slow:
        call.send_body()
        assert 200 == (await call.answer())[0]


async def test_bodies_that_come_together_are_bounded_too(edge: Edge, operations: HeldOperations) -> None:
    """Twice the seats run at most, however many were let in to send their bodies."""
    calls = [await Call.begin(edge.port) for _ in range(12)]
    async with httpx.AsyncClient(base_url=edge.url, timeout=30) as client:
        await client.get("/v1/health/live")  # by now every head was read
    for call in calls:
        call.send_body()
    answers = [asyncio.create_task(call.answer()) for call in calls]
    await until(lambda: 8 == sum(answer.done() for answer in answers))
    assert 4 == len(operations.asked)
    operations.go.set()
    statuses = [(await answer)[0] for answer in answers]

    assert {200: 4, 503: 8} == {code: statuses.count(code) for code in (200, 503)}


async def test_a_client_that_leaves_gives_its_seat_back(edge: Edge, operations: HeldOperations) -> None:
    for number in range(2):
        call = await called(edge.port)
        await until(lambda number=number: number + 1 == len(operations.asked))  # type: ignore[misc]
        call.writer.close()
    await until(lambda: 2 == operations.cancelled)
    operations.go.set()

    assert [200, 200] == [(await (await called(edge.port)).answer())[0] for _ in range(2)]
