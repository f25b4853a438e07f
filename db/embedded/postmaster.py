"""What can be believed about a running server, from its pid file, its socket and the process table.

A pid file alone proves nothing: after a crash or a reboot its number may belong to anybody. A server is alive if it
answers on its socket; a process is ours if it is a postgres that works in our data folder.
"""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

_READY = "ready"
_SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@dataclass(frozen=True, slots=True)
class PidFile:
    """The lines of postmaster.pid that matter here."""

    pid: int
    port: int
    ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    """Return what postmaster.pid says, with port 0 while the server has not written it, or None without a usable file."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        pid = abs(int(lines[0]))
    except (OSError, ValueError, IndexError):
        return None
    port = int(lines[3]) if len(lines) > 3 and lines[3].strip().isdigit() else 0
    return PidFile(pid, port, len(lines) > 7 and lines[7].startswith(_READY))


def answering(data: Path, sockets: Path | None) -> PidFile | None:
    """Return the pid file if a server that accepts queries answers on its socket within two seconds, else None."""
    found = read_pid_file(data)
    if found is None or not found.ready or sockets is None:
        return None
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        client.connect(str(sockets / f".s.PGSQL.{found.port}"))
        client.sendall(_SSL_REQUEST)
        if client.recv(1) in (b"S", b"N"):
            return found
    return None


def is_ours(pid: int, data: Path, uid: int) -> bool:
    """Say whether a process is a live postgres of this data folder, run by `uid`. In doubt, yes: then it is waited for.

    Doubt is a postgres of that account whose working folder we may not read (root in a container without SYS_PTRACE).
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres") or process.uids().real != uid:
            return False
        return Path(process.cwd()).samefile(data)
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, OSError):
        return False


def wait_gone(pid: int, data: Path) -> None:
    """Wait until a server that has said goodbye is gone, at most five seconds. A zombie counts as gone."""
    deadline = time.monotonic() + 5
    while is_ours(pid, data, data.stat().st_uid) and time.monotonic() < deadline:
        time.sleep(0.005)


def clear_stale(data: Path, sockets: Path, uid: int) -> None:
    """Remove what a dead server left and a new one would take for a living one.

    The caller holds the start lock and has seen that no server of ours is alive. A file that names no process at all is
    left to PostgreSQL, which reads from it whether old backends still use the shared memory.
    """
    found = read_pid_file(data)
    if found is not None and psutil.pid_exists(found.pid) and not is_ours(found.pid, data, uid):
        (data / "postmaster.pid").unlink(missing_ok=True)
    for leftover in sockets.glob(".s.PGSQL.*"):
        leftover.unlink(missing_ok=True)
