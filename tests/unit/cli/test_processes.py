"""The worker beside the API: kept running, stopped in order, never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from commonlore.api.cli import processes
from commonlore.api.cli.processes import WorkerProcess
from commonlore.api.cli.tied import NICENESS

_IDLE = (sys.executable, "-c", "import time; time.sleep(60)")
_STUBBORN = (sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)")
_PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-m", "commonlore.api.cli.tied", str(os.getpid()), "this_module_waits"], env={**os.environ, "PYTHONPATH": sys.argv[1]})
time.sleep(60)
"""


async def test_a_worker_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed worker has a successor after the pause."""

    monkeypatch.setattr(processes, "_FIRST_PAUSE_S", 0.01)
    worker = WorkerProcess(os.environ, command=_IDLE)
    await worker.start()
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    async with asyncio.timeout(60):
        while worker.starts < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    second = worker.pid
    await worker.stop()

    assert first != second


async def test_a_stopped_worker_stays_stopped() -> None:
    """Stopping ends it at once and starts no other."""

    worker = WorkerProcess(os.environ, command=_IDLE)
    await worker.start()
    await worker.stop()
    await worker.stop()

    assert worker.starts == 1


async def test_a_worker_that_does_not_stop_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After the grace it is killed, so that the database can be released."""

    monkeypatch.setattr(processes, "_STOP_S", 0.05)
    log = tmp_path / "log" / "worker.log"
    worker = WorkerProcess(os.environ, command=_STUBBORN, log_file=log)
    await worker.start()
    async with asyncio.timeout(60):
        while not log.read_bytes():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    pid = worker.pid
    assert pid is not None
    await worker.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent ended")
def test_a_worker_ends_with_its_killed_parent(tmp_path: Path) -> None:
    """kill -9 of the service leaves no worker behind that holds the database. While it lives it runs at a lower priority."""

    marker = tmp_path / "pid"
    (tmp_path / "this_module_waits.py").write_text(f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()) + '.')\ntime.sleep(60)\n")
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(tmp_path)])
    child = int(_text(marker).removesuffix("."))
    assert min(19, os.nice(0) + NICENESS) == psutil.Process(child).nice()
    parent.kill()
    parent.wait()

    assert _ended(child)


def _text(path: Path) -> str:
    for _ in range(1000):
        if path.exists() and path.read_text().endswith("."):
            return path.read_text()
        _pause()
    raise TimeoutError


def _ended(pid: int) -> bool:
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        _pause()
    return False


def _pause() -> None:
    import time

    time.sleep(0.01)
