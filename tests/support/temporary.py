"""Where the tests keep their files: in memory, where there is room.

A test's database is a copy of some nine hundred files. On a disk that others use this takes seconds, in memory a tenth of one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

_MEMORY = Path("/dev/shm")
# A whole run in three processes keeps about one gigabyte of files.
_ROOM = 3 << 30


def keep_in_memory(folder: Path = _MEMORY, room: int = _ROOM) -> bool:
    """From here on temporary folders lie in memory, in this process and in those it starts; not where TMPDIR says otherwise or room is short."""
    if "TMPDIR" in os.environ or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return False
    if min(shutil.disk_usage(folder).free, psutil.virtual_memory().available) < room:
        return False
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    return True
