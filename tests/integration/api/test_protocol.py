"""The bounds on the head of a request, on real connections."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from commonlore.api.protocol import MAX_HEAD_BYTES
from tests.support.edge import Edge, running_edge

pytestmark = pytest.mark.asyncio(loop_scope="module")
LIVE = b"GET /v1/health/live HTTP/1.1\r\nhost: localhost\r\n"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def edge() -> AsyncIterator[Edge]:
    async with running_edge(header_timeout_ms=300) as running:
        yield running


async def drip(port: int, first: bytes, piece: bytes, pause_s: float) -> tuple[bytes, float]:
    """Sends `first`, then `piece` again and again, until the server closes; what it said last, and the seconds that it took."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = bytearray()

    async def listen() -> None:
        # A piece that crosses the server's close is answered by a reset; what was said before it counts.
        with contextlib.suppress(ConnectionError):
            while heard := await reader.read(4096):
                said.extend(heard)

    writer.write(first)
    listener = asyncio.create_task(listen())
    async with asyncio.timeout(60):
        while not listener.done():
            writer.write(piece)
            await asyncio.sleep(pause_s)
    writer.close()
    await listener
    return bytes(said), time.perf_counter() - started


@pytest.mark.parametrize(
    ("first", "piece"),
    [(b"", b""), (b"G", b""), (LIVE, b"x"), (LIVE, b"x: y\r\n"), (LIVE + b"\r\n", b"\r\n")],
    ids=["nothing", "one byte", "a name that grows", "ever more headers", "blank lines after an answer"],
)
async def test_a_head_that_does_not_end_is_closed(edge: Edge, first: bytes, piece: bytes) -> None:
    """408 at the time limit, however the bytes trickle."""

    said, seconds = await drip(edge.port, first, piece, 0.02)

    assert (True, True) == (said.split(b"HTTP/1.1 ")[-1].startswith(b"408"), seconds >= 0.3)


async def test_a_head_without_end_is_not_kept(edge: Edge) -> None:
    """431 once it is larger than the bound."""

    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    writer.write(LIVE + b"x: " + b"y" * MAX_HEAD_BYTES)
    async with asyncio.timeout(60):
        said = await reader.read(12)
    writer.close()

    assert b"HTTP/1.1 431" == said


async def test_many_slow_connections_do_not_slow_the_others(edge: Edge) -> None:
    """Two hundred that drip, and a request beside them is answered before the last of them is."""

    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as client:
        slow = [asyncio.create_task(drip(edge.port, LIVE, b"x", 0.1)) for _ in range(200)]
        await asyncio.sleep(0)
        status = (await client.get("/v1/health/live")).status_code
        waiting = [task for task in slow if not task.done()]
    endings = {said[:12] for said, _ in await asyncio.gather(*slow)}

    assert (200, True, {b"HTTP/1.1 408"}) == (status, bool(waiting), endings)


async def test_a_connection_is_used_again(edge: Edge) -> None:
    """The time limit of one head does not end the next."""

    async with httpx.AsyncClient(base_url=edge.url, timeout=60) as client:
        statuses = []
        for _ in range(3):
            statuses.append((await client.get("/v1/health/live")).status_code)
            await asyncio.sleep(0.4)

    assert [200, 200, 200] == statuses
