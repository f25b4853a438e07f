"""More calls than seats: 503 before the body, health always, and a slow body holds no seat."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.edge import KEY, Edge, FakeOperations, running_edge

HEAD = f"POST /v1/recall_memory HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
BODY = b'{"query":"x"}'


@pytest.fixture
async def edge() -> AsyncIterator[Edge]:
    async with running_edge(FakeOperations(delay_s=0.5), calls_at_once=2) as running:
        yield running


async def call(port: int, *, body_after_s: float | None = 0.0) -> tuple[int, bytes, float]:
    """Status, head and seconds. Without `body_after_s` the body never comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.perf_counter()
    writer.write(f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode())
    if body_after_s is not None:
        await asyncio.sleep(body_after_s)
        writer.write(BODY)
    async with asyncio.timeout(10):
        head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return int(head.split(b" ", 2)[1]), head, time.perf_counter() - began


async def test_a_call_without_a_seat_is_refused_before_its_body(edge: Edge) -> None:
    running = [asyncio.create_task(call(edge.port)) for _ in range(2)]
    await asyncio.sleep(0.2)
    refused = [await call(edge.port, body_after_s=None) for _ in range(5)]

    assert [503] * 5 == [status for status, _, _ in refused]
    assert all(re.search(rb"\r\nretry-after: [123]\r\n", head) for _, head, _ in refused)
    assert [200, 200] == [status for status, _, _ in await asyncio.gather(*running)]
    assert 2 == len(edge.operations.asked)


async def test_health_and_the_document_need_no_seat(edge: Edge) -> None:
    running = [asyncio.create_task(call(edge.port)) for _ in range(2)]
    await asyncio.sleep(0.2)
    async with httpx.AsyncClient(base_url=edge.url) as client:
        answers = [await client.get(path) for path in ("/v1/health/live", "/v1/health/ready", "/schema/openapi.json")]
    mcp = await call(edge.port)

    assert [200] * 3 == [answer.status_code for answer in answers] and 503 == mcp[0]
    await asyncio.gather(*running)


async def test_a_slow_body_holds_no_seat(edge: Edge) -> None:
    slow = [asyncio.create_task(call(edge.port, body_after_s=0.6)) for _ in range(3)]
    await asyncio.sleep(0.1)
    quick = await call(edge.port)

    assert 200 == quick[0]
    assert [200] * 3 == [status for status, _, _ in await asyncio.gather(*slow)]


async def test_bodies_that_come_together_are_bounded_too() -> None:
    """Twice the seats run at most, however many were let in to send their bodies."""
    async with running_edge(FakeOperations(delay_s=1.0), calls_at_once=2) as edge:
        answers = await asyncio.gather(*(call(edge.port, body_after_s=0.4) for _ in range(12)))

    assert {200: 4, 503: 8} == {code: sum(status == code for status, _, _ in answers) for code in (200, 503)}


async def test_a_client_that_leaves_gives_its_seat_back(edge: Edge) -> None:
    for _ in range(2):
        _, writer = await asyncio.open_connection("127.0.0.1", edge.port)
        writer.write(f"{HEAD}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
        await asyncio.sleep(0.15)
        writer.close()
    await asyncio.sleep(0.2)

    assert [200, 200] == [status for status, _, _ in await asyncio.gather(call(edge.port), call(edge.port))]
    assert 2 == edge.operations.cancelled
