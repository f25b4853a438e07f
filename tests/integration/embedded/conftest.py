"""A home for a server, and other processes that hold one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonlore.db.embedded import EmbeddedPostgres, postmaster

_HOLDER = """
import signal, sys
from pathlib import Path
from commonlore.db.embedded import EmbeddedPostgres
signal.signal(signal.SIGINT, signal.SIG_IGN)
server = EmbeddedPostgres(Path(sys.argv[1]), parameters={"fsync": "off"})
print(server.start(), server.pid, flush=True)
sys.stdin.readline()
print(server.release(), flush=True)
"""


class Holder:
    """Another process with a hold on the server, in a process group of its own."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def release(self) -> str:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return self.line()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that every account can enter. pytest's own is closed to all but root when root runs the tests."""
    folder = make_base()
    yield folder
    stop_servers(folder)
    shutil.rmtree(folder)


@pytest.fixture
def empty_home(base: Path) -> Path:
    """Where nothing is yet."""
    return base / "home"


@pytest.fixture(scope="session")
def shared() -> Iterator[Path]:
    folder = make_base()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(shared: Path) -> Iterator[Path]:
    """A home with a cluster and no server. The cluster is made once: most of a test's time would be its 40 MB."""
    home = shared / "home"
    if not ((home / "initialised").exists() and (home / "data" / "PG_VERSION").exists()):
        shutil.rmtree(home, ignore_errors=True)
        with EmbeddedPostgres(home, parameters={"fsync": "off"}):
            pass
    yield home
    stop_servers(shared)


@pytest.fixture
def hold() -> Iterator[Callable[[Path], Holder]]:
    """Start another holder of a home."""
    made: list[Holder] = []

    def make(home: Path) -> Holder:
        made.append(Holder(home))
        return made[-1]

    yield make
    for holder in made:
        holder.end()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    return wait_until


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)


def make_base() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="commonlore-test-"))
    folder.chmod(0o755)
    return folder


def stop_servers(base: Path) -> None:
    for data in base.rglob("data"):
        found = postmaster.read_pid_file(data)
        if found and postmaster.is_ours(found.pid, data, data.stat().st_uid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(found.pid, signal.SIGINT)
            postmaster.wait_gone(found.pid, data)
