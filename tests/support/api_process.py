"""The service in a process of its own, as `python -m tests.support.api_process`.

The first line of its input is the database and the settings; it answers with its port. At each further line it answers with the
process ids of the backends that serve it, and at the end of the input it stops.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from psycopg import AsyncConnection

from tests.support.databases import TestDatabase
from tests.support.server import running_service


@dataclass(frozen=True)
class ApiProcess:
    """One such process, seen by the test that started it."""

    process: subprocess.Popen[str]
    port: int

    def backends(self) -> set[int]:
        return set(_ask(self.process, "backends"))


@contextmanager
def api_processes(database: TestDatabase, count: int, **settings: Any) -> Iterator[list[ApiProcess]]:
    """`count` processes that serve one database; none may have logged a failure when they stop."""
    command = [sys.executable, "-m", "tests.support.api_process"]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        for process in started:
            _say(process, {"database": asdict(database), "settings": settings})
        yield [ApiProcess(process, _hear(process)) for process in started]
        for process in started:
            _, logged = process.communicate(timeout=60)
            assert (0, "") == (process.returncode, logged)
    finally:
        for process in started:
            process.kill()
            process.wait()


def _ask(process: subprocess.Popen[str], message: object) -> Any:
    _say(process, message)
    return _hear(process)


def _say(process: subprocess.Popen[str], message: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def _hear(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)


def main() -> None:
    given = json.loads(sys.stdin.readline())
    with running_service(TestDatabase(**given["database"]), **given["settings"]) as service:
        print(service.port, flush=True)
        for _ in sys.stdin:
            gc.unfreeze()  # what is frozen is not listed
            connections = [item for item in gc.get_objects() if isinstance(item, AsyncConnection) and not item.closed]
            print(json.dumps([item.info.backend_pid for item in connections if item.info.user == "commonlore_app"]), flush=True)


if __name__ == "__main__":
    main()
