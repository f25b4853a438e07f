"""A home that the service runs on, and the program as its users start it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commonlore.db.embedded import EmbeddedPostgres, postmaster

PROGRAM = Path(sys.executable).with_name("commonlore")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMMONLORE_")}
    return kept | {"COMMONLORE_HOME": str(home), "COMMONLORE_PORT": "0"} | extra


@dataclass
class Service:
    """A running `commonlore up --json`. `said` is everything it wrote to standard output."""

    process: subprocess.Popen[str]
    facts: dict[str, Any]
    log: Path
    said: str = field(repr=False)

    @property
    def url(self) -> str:
        return str(self.facts["url"])

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it; the rest of its output is added to `said`."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        self.said += rest
        return self.process.returncode


@pytest.fixture(scope="session")
def base() -> Iterator[Path]:
    """A folder that every account can enter. pytest's own is closed to all but root when root runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="commonlore-test-"))
    folder.chmod(0o755)
    yield folder
    _stop_servers(folder)
    shutil.rmtree(folder)


def _stop_servers(folder: Path) -> None:
    for data in folder.rglob("data"):
        found = postmaster.read_pid_file(data)
        if found and postmaster.is_ours(found.pid, data, data.stat().st_uid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(found.pid, signal.SIGINT)
            postmaster.wait_gone(found.pid, data)


@pytest.fixture(scope="session")
def start(base: Path) -> Iterator[Callable[..., Service]]:
    """Start the service on a home and wait until it answers."""
    made: list[subprocess.Popen[str]] = []

    def begin(home: Path, *arguments: str, **extra: str) -> Service:
        log = base / f"up-{len(made)}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [PROGRAM, "up", "--json", *arguments], env=environment(home, extra), stdout=subprocess.PIPE, stderr=errors, text=True
            )
        made.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if line == "}\n":
                break
        assert '"url"' in said, f"{said}\n{log.read_text()}"
        return Service(process, json.loads(said), log, said)

    yield begin
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate()


@dataclass
class Home:
    """A home after its first start, with the key that was shown then."""

    path: Path
    key: str
    first: Service
    refused: subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def home(base: Path, start: Callable[..., Service], run: Run) -> Home:
    """Made once: most of a first start is the making of the cluster. The service is stopped.

    `refused`: before there was any key, it was to listen for other machines.
    """
    path = base / "home"
    refused = run(path, "up", "--host", "0.0.0.0")
    first = start(path)
    assert first.stop() == 0
    return Home(path, first.facts["key"], first, refused)


@pytest.fixture(scope="session")
def run() -> Run:
    """One command to its end."""

    def of(home: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments], env=environment(home, extra), capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
        )

    return of


@pytest.fixture
def server(home: Home) -> Iterator[EmbeddedPostgres]:
    """The home's database alone, held for one test."""
    with EmbeddedPostgres(home.path) as held:
        yield held
