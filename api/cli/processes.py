"""What runs beside the API: processes, restarted with growing pauses, and the embedded database, started again if it dies."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.settings import PREFIX, Settings
from commonlore.domain.errors import OperatorError

log = logging.getLogger("commonlore.up")

WORKER = "commonlore.workers.main"
# How often the embedded database is looked at. A look connects, which takes about 20 ms.
_LOOK_S = 2.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
# Longer than a worker's own grace for the jobs that it runs, and an API process's for its requests.
_STOP_S = 30.0
_M_ARENA_MAX = -8


def one_arena() -> None:
    """As MALLOC_ARENA_MAX=1 for this process: without it glibc keeps up to 64 MB for each thread. Elsewhere nothing happens."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def child_environment(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """What a child is given: the settings of this process, without a client's key."""
    kept = {name: value for name, value in environment.items() if name not in (f"{PREFIX}KEY", f"{PREFIX}URL")}
    return kept | {f"{PREFIX}HOME": str(settings.home), f"{PREFIX}LOG_LEVEL": settings.log_level, "MALLOC_ARENA_MAX": "1"}


async def keep_database(settings: Settings) -> None:
    """Start the embedded server again whenever it has died, until cancelled. The caller holds it already, and goes on holding it."""
    while True:
        await asyncio.sleep(_LOOK_S)
        if await asyncio.to_thread(_runs, settings):
            continue
        log.warning("the embedded database has ended; it is started again")
        try:
            await asyncio.to_thread(_start_again, settings)
        except OperatorError as error:
            log.error("%s: %s", error.code, error.message)


def _runs(settings: Settings) -> bool:
    return EmbeddedPostgres(settings.home, binaries=settings.pg_bin).status().running


def _start_again(settings: Settings) -> None:
    with EmbeddedPostgres(settings.home, binaries=settings.pg_bin):
        pass  # this hold is let go of; the caller's keeps the server


class KeptProcess:
    """One process that is kept running until `stop`; `name` is what the log calls it.

    One that ends is started again after 1, 2, 4 ... 60 s; one that ran for more than a minute begins at 1 s again.
    It has a session of its own, so that Ctrl-C reaches this process alone and the order of stopping is ours.
    """

    def __init__(self, name: str, command: tuple[str, ...], environment: Mapping[str, str], *, log_file: Path | None = None) -> None:
        self._name = name
        self._command = command
        self._environment = environment
        self._log_file = log_file
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self.starts = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it and keep it running in the background."""
        await self._spawn()
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def _spawn(self) -> None:
        if self._log_file is None:
            self._process = await self._make(None)
        else:
            self._log_file.parent.mkdir(parents=True, exist_ok=True)
            with self._log_file.open("ab") as file:
                self._process = await self._make(file.fileno())
        self.starts += 1

    async def _make(self, output: int | None) -> asyncio.subprocess.Process:
        """Start it, with what it writes in `output`, or in this process's own where that is None."""
        return await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(self._environment),
            start_new_session=True,
        )

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        pause_s = _FIRST_PAUSE_S
        while True:
            assert self._process is not None
            started = loop.time()
            code = await self._process.wait()
            if loop.time() - started > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S
            log.warning("%s ended with %s; it is started again in %.0f s", self._name, code, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            await self._spawn()

    async def stop(self) -> None:
        """Ask it to end, wait for what it is at for half a minute, then end it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class WorkerProcess(KeptProcess):
    """A worker. What was cut off when it stops goes back to the queue."""

    def __init__(self, environment: Mapping[str, str], *, log_file: Path | None = None, command: tuple[str, ...] | None = None) -> None:
        own = (sys.executable, "-m", "commonlore.api.cli.tied", str(os.getpid()), WORKER)
        super().__init__("the worker", command or own, environment, log_file=log_file)
