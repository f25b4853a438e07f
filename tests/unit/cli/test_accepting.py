"""Who takes the next connection of a socket that several share."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator

import pytest

from commonlore.api.cli.accepting import Acceptor, Connections
from commonlore.api.cli.serving import listen


class Taker:
    """What a process is to an acceptor: it keeps its connections and says when one was lost."""

    def __init__(self, listener: socket.socket, connections: Connections, number: int) -> None:
        self.opened: set[asyncio.Protocol] = set()
        self.acceptor = Acceptor(listener.dup(), connections, number, self._make)

    def _make(self) -> asyncio.Protocol:
        taker = self

        class Kept(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                taker.opened.add(self)

            def connection_lost(self, exc: Exception | None) -> None:
                taker.opened.discard(self)
                taker.acceptor.lost()

        return Kept()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as made:
        yield made


def connect(listener: socket.socket, count: int) -> list[socket.socket]:
    return [socket.create_connection(listener.getsockname()) for _ in range(count)]


async def settle(*takers: Taker, connections: int) -> None:
    async with asyncio.timeout(30):
        while sum(len(taker.opened) for taker in takers) != connections:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_connections_that_come_together_are_spread(listener: socket.socket) -> None:
    """Eight of one client: four for each, where the kernel might give one of them all."""

    connections = Connections()
    takers = [Taker(listener, connections, number) for number in (1, 2)]
    clients = connect(listener, 8)
    await settle(*takers, connections=8)
    spread = [len(taker.opened) for taker in takers]
    for client in clients:
        client.close()
    await settle(*takers, connections=0)
    left = [connections.of(number) for number in (1, 2, 3)]
    for taker in takers:
        taker.acceptor.close()

    assert [4, 4] == spread
    assert [0, 0, None] == left


async def test_who_comes_later_gets_the_next(listener: socket.socket) -> None:
    """A process that was started anew catches up with the others."""

    connections = Connections()
    first = Taker(listener, connections, 1)
    clients = connect(listener, 4)
    await settle(first, connections=4)
    second = Taker(listener, connections, 2)
    clients += connect(listener, 4)
    await settle(first, second, connections=8)
    spread = len(first.opened), len(second.opened)
    for client in clients:
        client.close()
    first.acceptor.close()
    second.acceptor.close()

    assert (4, 4) == spread


async def test_one_that_hangs_costs_moments_and_one_that_left_nothing(listener: socket.socket) -> None:
    """A process that has the fewest and does not come is waited for a moment; the connection is never lost."""

    connections = Connections()
    taker = Taker(listener, connections, 1)
    connections.tell(1, 0)
    clients = connect(listener, 1)
    await settle(taker, connections=1)
    connections.tell(2, 0)  # hangs
    begun = time.monotonic()
    clients += connect(listener, 1)
    await settle(taker, connections=2)
    waited = time.monotonic() - begun
    connections.leave(2)
    fewest = connections.has_fewest(1)
    for client in clients:
        client.close()
    taker.acceptor.close()

    assert 0.015 < waited
    assert fewest
    assert connections.of(1) is None


async def test_a_process_without_descriptors_takes_the_connection_later(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files is no end of the service: it looks again after a pause."""

    monkeypatch.setattr("commonlore.api.cli.accepting._PAUSE_S", 0.05)
    taker = Taker(listener, Connections(), 1)
    real, failures = taker.acceptor._listener, iter([True])

    class Failing:
        def accept(self) -> tuple[socket.socket, object]:
            if next(failures, False):
                raise OSError(24, "Too many open files")
            return real.accept()

        def fileno(self) -> int:
            return real.fileno()

        def close(self) -> None:
            real.close()

    taker.acceptor._listener = Failing()  # type: ignore[assignment]
    clients = connect(listener, 1)
    await settle(taker, connections=1)
    for client in clients:
        client.close()
    taker.acceptor.close()

    assert next(failures, None) is None
