"""Who holds the server. The kernel keeps the count, so a holder that is killed is forgotten at once."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commonlore.domain.errors import OperatorError

_POLL_S = 0.02


def open_lock(path: Path) -> int:
    """Open a lock file, made with mode 0600, and return its descriptor. Programs that we start do not inherit it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@contextmanager
def exclusive(path: Path, timeout_s: float) -> Iterator[int]:
    """Hold a lock file alone and yield its descriptor.

    Raises:
        OperatorError: `embedded_start_failed` after `timeout_s` seconds.
    """
    handle = open_lock(path)
    try:
        deadline = time.monotonic() + timeout_s
        while not try_lock(handle, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise OperatorError(
                    "embedded_start_failed", f"Another process held {path} for {timeout_s:g} s; it is still starting or stopping the server."
                )
            time.sleep(_POLL_S)
        try:
            yield handle
        finally:
            # Not left to close(): a child made by fork shares this lock and would keep it.
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def try_lock(handle: int, kind: int) -> bool:
    """Take the lock at once, or return False."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def count_shared(path: Path) -> int | None:
    """Return how many hold a lock file in common, or None where the kernel does not tell (macOS).

    Taking the lock to find out would make a last holder, releasing in that moment, believe that it is not the last.
    """
    try:
        inode = str(path.stat().st_ino)
    except OSError:
        return 0
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    # "12: FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF"; the device differs from stat() on some file systems.
    fields = [line.split() for line in lines]
    return sum(1 for field in fields if len(field) > 5 and field[1] == "FLOCK" and field[3] == "READ" and field[5].rpartition(":")[2] == inode)
