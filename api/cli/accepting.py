"""Several processes that accept on one socket: each tells how many connections it has, and the one with fewest takes the next.

Left to the kernel, whoever wakes first takes all that wait, and a client's eight connections may all be one process's while another idles.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import socket
from collections.abc import Callable

log = logging.getLogger("commonlore.api")

# So long a connection waits for the process that has fewer, which may be busy or hang; then whoever looks takes it.
_PATIENCE_S = 0.02
# After a failure of the system, such as too many open files.
_PAUSE_S = 1.0
_MOST = 65


class Connections:
    """How many connections each process has, by its number, in memory that they share: 0 one that does not accept, else one more than it has."""

    def __init__(self, descriptor: int | None = None) -> None:
        """Of an inherited `descriptor`, or new ones. Linux only."""
        self.descriptor = os.memfd_create("commonlore-connections") if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, 4 * _MOST)
        self._counts = memoryview(mmap.mmap(self.descriptor, 4 * _MOST)).cast("i")

    def tell(self, number: int, connections: int) -> None:
        self._counts[number] = connections + 1

    def leave(self, number: int) -> None:
        """That process accepts no more."""
        self._counts[number] = 0

    def has_fewest(self, number: int) -> bool:
        """Nobody that accepts has fewer."""
        own = self._counts[number]
        return not any(0 < count < own for count in self._counts)

    def of(self, number: int) -> int | None:
        """None where it does not accept."""
        return self._counts[number] - 1 if self._counts[number] else None


class Acceptor:
    """Takes connections from `listener` for process `number` until closed. Whoever owns the protocols says when one was lost."""

    def __init__(self, listener: socket.socket, connections: Connections, number: int, make_protocol: Callable[[], asyncio.Protocol]) -> None:
        self._listener, self._connections, self._number = listener, connections, number
        self._make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._open, self._opening = 0, set[asyncio.Task[None]]()
        self._timer: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._changed(0)
        self._loop.add_reader(listener, self._take)

    def lost(self) -> None:
        """One that was taken is closed."""
        self._changed(-1)

    def _changed(self, difference: int) -> None:
        self._open = max(0, self._open + difference)
        if self._listener.fileno() != -1:
            self._connections.tell(self._number, self._open)

    def _take(self) -> None:
        if self._connections.has_fewest(self._number):
            self._take_now()
        else:
            self._look_again_in(_PATIENCE_S)

    def _take_now(self) -> None:
        """One, if there is any: the next may be another's."""
        try:
            taken, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            log.error("a connection could not be taken: %s", error.strerror)
            self._look_again_in(_PAUSE_S)
            return
        taken.setblocking(False)
        self._changed(+1)
        task = self._loop.create_task(self._serve(taken))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _serve(self, taken: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, taken)
        except OSError:  # it was gone already
            taken.close()
            self._changed(-1)

    def _look_again_in(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._loop.add_reader(self._listener, self._take)
        self._take_now()

    def close(self) -> None:
        """Take no more, and close this process's side of the listener."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()
        self._connections.leave(self._number)
