"""Worker processes that kill themselves, made by one process that has imported everything: a new interpreter for each takes seconds.

As a command it is that process: for each JSON line, a module and its arguments, it forks; it writes the child's pid and then how it ended.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_MODULES = ("tests.support.worker_process", "tests.support.erasure_process", "tests.support.projection_process")


@dataclass(frozen=True)
class Dying:
    """One at a time: after `start` comes `wait`, or `killed` for both."""

    _process: subprocess.Popen[str]

    def start(self, module: str, *arguments: str) -> int:
        """The pid of a process that runs `main` of a module of `tests.support`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([f"tests.support.{module}", *arguments]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def wait(self) -> int:
        """How the one that was started ended, as `subprocess` says it."""
        return self._read()

    async def killed(self, module: str, *arguments: str) -> None:
        """Start one and wait until it has killed itself."""
        pid = self.start(module, *arguments)
        waiting = asyncio.ensure_future(asyncio.to_thread(self.wait))
        ended, _ = await asyncio.wait((waiting,), timeout=120)
        if not ended:
            os.kill(pid, signal.SIGTERM)
        assert -signal.SIGKILL == await waiting

    def _read(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Dying]:
    with subprocess.Popen([sys.executable, "-m", "tests.support.dying"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Dying(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


def _child(module: str, *arguments: str) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    importlib.import_module(module).main(*arguments)


def main() -> None:
    for module in _MODULES:
        importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _child(*json.loads(line))
            finally:
                os._exit(1)
        os.write(1, f"{child}\n".encode("ascii"))
        _, status = os.waitpid(child, 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode("ascii"))


if __name__ == "__main__":
    main()
