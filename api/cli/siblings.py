"""Further API processes on the socket of this one: made ready before anybody is told of the service, kept running, stopped before the worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from commonlore.api.cli.accepting import Connections
from commonlore.api.cli.processes import KeptProcess, child_environment
from commonlore.db.settings import PREFIX, Settings
from commonlore.domain.errors import OperatorError, Unavailable

log = logging.getLogger("commonlore.up")

SIBLING = "commonlore.api.cli.sibling"
READY = b"ready\n"
# A process loads the model in a second or two; on a machine that is busy with something else, in many more.
_READY_S = 120.0
# Connections of the embedded database that neither an API process nor the worker has: reserved ones, and commands beside the service.
_OTHERS = 10


def processes_of(settings: Settings) -> int:
    """How many API processes there will be; one where the system cannot end children with a parent that was killed.

    Raises:
        OperatorError: `settings_invalid`, the embedded database has too few connections for them.
    """
    if settings.api_processes > 1 and sys.platform != "linux":
        log.warning("several API processes need Linux; on this system one serves")
        return 1
    return settings.api_processes


def require_connections(settings: Settings, most: int) -> None:
    """The pools of all API processes and the worker's, which may take two of them, fit into the database's `most` connections.

    Raises:
        OperatorError: `settings_invalid`, with a size of pool that fits.
    """
    pools = settings.api_processes + 2
    if settings.api_processes > 1 and pools * settings.pool_size + _OTHERS > most:
        fits = (most - _OTHERS) // pools
        advice = f"set COMMONLORE_POOL_SIZE to {fits} or less" if fits else "use a PostgreSQL of your own, which may allow more"
        message = (
            f"{settings.api_processes} API processes with {settings.pool_size} connections each are too many for a database with {most}; {advice}"
        )
        raise OperatorError("settings_invalid", message)


class ApiProcess(KeptProcess):
    """One further API process, by its number. It inherits the listening socket; how to reach the database it is told in a pipe."""

    def __init__(self, environment: Mapping[str, str], conninfo: str, listener: socket.socket, connections: Connections, number: int) -> None:
        self._conninfo, self._connections = conninfo, connections
        self._descriptors = (listener.fileno(), connections.descriptor)
        command = (sys.executable, "-m", SIBLING, str(os.getpid()), *map(str, self._descriptors), str(number))
        super().__init__(f"API process {number}", command, environment)
        self.number = number
        self.ready = asyncio.Event()
        self._hearing: asyncio.Task[None] | None = None

    async def _make(self, output: int | None) -> asyncio.subprocess.Process:
        made = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            env=dict(self._environment),
            pass_fds=self._descriptors,
            start_new_session=True,
        )
        self.ready.clear()
        self._hearing = asyncio.get_running_loop().create_task(self._begin(made))
        return made

    async def _begin(self, made: asyncio.subprocess.Process) -> None:
        """Its address of the database, which no list of processes shows; then its word that it answers, and its end."""
        assert made.stdin is not None and made.stdout is not None
        with contextlib.suppress(ConnectionError):  # it ended already, which `_keep` sees
            made.stdin.write(self._conninfo.encode() + b"\n")
            await made.stdin.drain()
            made.stdin.close()
        while line := await made.stdout.readline():
            if line == READY:
                self.ready.set()
        self._connections.leave(self.number)  # killed, it could not say so

    async def stop(self) -> None:
        """As of every process; requests under way have their time."""
        await super().stop()
        if self._hearing is not None:
            await self._hearing


@asynccontextmanager
async def siblings(
    settings: Settings, conninfo: str, listener: socket.socket, connections: Connections | None, *, environment: Mapping[str, str] = os.environ
) -> AsyncIterator[Sequence[ApiProcess]]:
    """API processes 2 to `api_processes`, started before this one loads its own model, and ended after the block at the latest."""
    given = child_environment(environment, settings) | {
        f"{PREFIX}HOST": settings.host,
        f"{PREFIX}PORT": str(settings.port),
        f"{PREFIX}API_PROCESSES": str(settings.api_processes),
    }
    if connections is None:
        yield ()
        return
    made = [ApiProcess(given, conninfo, listener, connections, number) for number in range(2, settings.api_processes + 1)]
    try:
        for one in made:
            await one.start()
        yield made
    finally:
        await _end(made)


@asynccontextmanager
async def answering(made: Sequence[ApiProcess], stop: asyncio.Event) -> AsyncIterator[None]:
    """When the block begins all of them answer, or `stop` was set meanwhile; after it none runs.

    Raises:
        Unavailable: `not_ready`, one did not answer in time.
    """
    try:
        if made:
            await _all_ready(made, stop)
        yield
    finally:
        await _end(made)


async def _end(made: Sequence[ApiProcess]) -> None:
    await asyncio.gather(*(one.stop() for one in made))


async def _all_ready(made: Sequence[ApiProcess], stop: asyncio.Event) -> None:
    everyone = asyncio.gather(*(one.ready.wait() for one in made))
    stopped = asyncio.ensure_future(stop.wait())
    try:
        done, _ = await asyncio.wait((everyone, stopped), timeout=_READY_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            late = ", ".join(str(one.number) for one in made if not one.ready.is_set())
            raise Unavailable("not_ready", f"API process {late} did not answer within {_READY_S:.0f} s; the log above says why", retry_after_s=5)
    finally:
        for waiting in (everyone, stopped):
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
