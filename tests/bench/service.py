"""The real service for a benchmark: `commonlore up` as a process of its own, on an embedded home in a temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from commonlore.db.locate import open_database
from commonlore.db.settings import read_settings


@dataclass(frozen=True)
class Service:
    """A running service. `key` belongs to the first team."""

    url: str
    key: str
    home: Path
    process: subprocess.Popen[str]
    started_s: float

    def rss_mb(self) -> dict[str, float]:
        """Resident memory in MB of the API, the worker, and the database's share (PSS)."""
        api = psutil.Process(self.process.pid)
        workers = [child for child in api.children(recursive=True) if "workers" in " ".join(child.cmdline())]
        pid = int((self.home / "data" / "postmaster.pid").read_text().split()[0])
        postgres = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        return {
            "api": api.memory_info().rss / 1e6,
            "worker": max((child.memory_info().rss for child in workers), default=0) / 1e6,
            "postgres": sum(map(_pss, postgres)) / 1e6,
        }


def _pss(process: psutil.Process) -> int:
    """A worker of autovacuum may end while it is looked at."""
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_full_info().pss)
    return 0


@contextmanager
def running(home: Path | None = None) -> Iterator[Service]:
    """Start, wait for the first line of JSON, stop at the end. A given home is kept, a temporary one is removed."""
    with tempfile.TemporaryDirectory(prefix="commonlore-bench-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)
        place = home or Path(folder) / "home"
        environment = {**os.environ, "COMMONLORE_HOME": str(place)}
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("commonlore")), "up", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=(Path(folder) / "log").open("w"),
            text=True,
            env=environment,
        )
        try:
            assert process.stdout is not None
            text = ""
            while not text.rstrip().endswith("}"):
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError((Path(folder) / "log").read_text()[-2000:])
                text += line
            shown = json.loads(text)
            yield Service(shown["url"], shown.get("key") or "", place, process, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait(60)


def admin_conninfo(home: Path) -> str:
    """The superuser's address of the home's database, while the service holds it."""
    with open_database(read_settings({"COMMONLORE_HOME": str(home)})) as database:
        return database.admin_conninfo
