"""A pooler in transaction mode between a service and the database: what PgBouncer does with `pool_mode = transaction`, as far as tests need it.

with transaction_pooler(database.serving_conninfo) as pooled:
    ...  # `pooled.conninfo` is that of the same role by way of the pooler

A client has a server connection from the first message of a transaction to its end, and the next time another one: the one that lay
longest. Nothing of a session lasts, and named statements are not carried over, as in PgBouncer before 1.21.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import make_conninfo

_REFUSED = (80877103, 80877104)  # what asks for TLS or GSS before the session begins
_SETTINGS = ("server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings")
_ENDS = b"QSF"  # messages that the server answers with ReadyForQuery
_ROLLBACK = b"rollback\0"


@dataclass(eq=False)
class _Line:
    """One connection as a queue of the messages that came; None at its end."""

    writer: asyncio.StreamWriter
    came: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)

    async def listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                head = await reader.readexactly(5)
                self.came.put_nowait(head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4))
        except (asyncio.IncompleteReadError, OSError):
            self.came.put_nowait(None)


@dataclass
class Pooler:
    """`turns` counts the transactions of each server connection."""

    conninfo: str
    settings: dict[str, bytes]
    turns: dict[int, int] = field(default_factory=dict)
    _ready: asyncio.Queue[_Line] = field(default_factory=asyncio.Queue)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _servers: list[_Line] = field(default_factory=list)

    async def take_over(self, opened: psycopg.Connection) -> None:
        """libpq knows how to authenticate; what it opened is spoken to as it is from then on."""
        raw = socket.socket(fileno=os.dup(opened.pgconn.socket))
        raw.setblocking(False)
        connect = asyncio.open_unix_connection if raw.family == socket.AF_UNIX else asyncio.open_connection
        reader, writer = await connect(sock=raw)
        line = _Line(writer)
        self._start(line, reader)
        self._servers.append(line)
        self._ready.put_nowait(line)

    async def close(self) -> None:
        for line in self._servers:
            line.writer.close()
            await line.writer.wait_closed()

    def _start(self, line: _Line, reader: asyncio.StreamReader) -> None:
        task = asyncio.ensure_future(line.listen(reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client until it leaves."""
        client = _Line(writer)
        try:
            await _greet(reader, writer, self.settings)
            self._start(client, reader)
            while (first := await client.came.get()) is not None and first[:1] != b"X":
                server = await self._ready.get()
                place = self._servers.index(server)
                self.turns[place] = self.turns.get(place, 0) + 1
                await _carry(first, client, server)
                self._ready.put_nowait(server)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


async def _greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: dict[str, bytes]) -> None:
    while True:
        length, code = struct.unpack("!ii", await reader.readexactly(8))
        await reader.readexactly(length - 8)
        if code not in _REFUSED:
            break
        writer.write(b"N")
    told = [_framed(b"S", name.encode() + b"\0" + value + b"\0") for name, value in settings.items()]
    writer.write(b"".join((_framed(b"R", struct.pack("!i", 0)), *told, _framed(b"K", struct.pack("!ii", 0, 0)), _framed(b"Z", b"I"))))


def _framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


async def _carry(first: bytes, client: _Line, server: _Line) -> None:
    """Messages both ways, until the server has answered all that it was sent and no transaction is open."""
    awaited, is_whole, is_idle = 0, True, False
    message: bytes | None = first
    asking = answering = None
    while True:
        if message is None or message[:1] == b"X":
            message = _framed(b"S", b"") + _framed(b"Q", _ROLLBACK)
            awaited += 1  # one for each of the two
            client.came.put_nowait(None)
        awaited, is_whole = awaited + (message[:1] in _ENDS), message[:1] in _ENDS
        server.writer.write(message)
        asking = asyncio.ensure_future(client.came.get())
        while not asking.done():
            answering = answering or asyncio.ensure_future(server.came.get())
            await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answer, answering = answering.result(), None
                assert answer is not None, "the server closed a connection"
                if not client.writer.is_closing():
                    client.writer.write(answer)
                if answer[:1] == b"Z":
                    awaited, is_idle = awaited - 1, answer[5:6] == b"I"
                if is_idle and is_whole and awaited == 0 and not asking.done():
                    asking.cancel()
                    return
        message = asking.result()


@contextmanager
def transaction_pooler(conninfo: str, *, connections: int = 2) -> Iterator[Pooler]:
    """A pooler on a loopback port, in a thread, until the block ends."""
    opened = [psycopg.connect(conninfo, autocommit=True) for _ in range(connections)]
    settings = {name: opened[0].pgconn.parameter_status(name.encode()) or b"" for name in _SETTINGS}
    loop, begun, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    pooler = Pooler("", settings)

    async def run() -> None:
        for connection in opened:
            await pooler.take_over(connection)
        server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
        pooler.conninfo = make_conninfo(
            conninfo, host="127.0.0.1", port=server.sockets[0].getsockname()[1], hostaddr="127.0.0.1", gssencmode="disable"
        )
        begun.set()
        await stop.wait()
        server.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await pooler.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), name="test-pooler", daemon=True)
    thread.start()
    try:
        assert begun.wait(60)
        yield pooler
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
        for connection in opened:
            connection.close()
