"""Folders and small files, written so that a crash leaves the old or the new one and no foreign mode changes."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from commonlore.db.embedded.account import Account

_SOCKET_NAME = ".s.PGSQL.65535"
_SOCKET_LIMIT = 100  # bytes; Linux allows 107 and macOS 103


def make_home(home: Path, account: Account | None) -> None:
    """Make the folder and its missing parents, passable for the account. What exists already keeps its mode and owner."""
    missing = [step for step in (home, *home.parents) if not step.exists()]
    for step in reversed(missing):
        try:
            step.mkdir(0o700)
        except FileExistsError:
            continue
        step.chmod(0o711 if account else 0o700)


def make_private(folder: Path, account: Account | None) -> None:
    """Make a folder that only the account, or the calling user, may enter. One that exists is left as it is."""
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        return
    folder.chmod(0o700)
    if account:
        os.chown(folder, account.uid, account.gid)


def write_file(path: Path, text: str, *, owner: Account | None = None) -> None:
    """Replace a file durably, with mode 0600.

    The folder may belong to the server's account, which must not lead root elsewhere: a link at either name is replaced,
    never followed.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fchmod(handle, 0o600)
        if owner:
            os.fchown(handle, owner.uid, owner.gid)
        os.fsync(handle)
    os.replace(new, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def socket_folder(preferred: Path, recorded: Path | None, account: Account | None) -> Path:
    """Return an existing private folder for the server's socket.

    It is `preferred` if a socket's address can hold that path. Otherwise it is the recorded one if that is still ours
    alone, or else a new one with a random name below the system's temporary folder.
    """
    text = str(preferred)
    # libpq and the server both split this setting at commas.
    if len(os.fsencode(preferred / _SOCKET_NAME)) <= _SOCKET_LIMIT and not set(text) & set(',"'):
        make_private(preferred, account)
        return preferred
    if recorded is not None and recorded != preferred and _is_private(recorded, account):
        return recorded
    made = Path(tempfile.mkdtemp(prefix="commonlore-"))
    if account:
        os.chown(made, account.uid, account.gid)
    return made


def _is_private(folder: Path, account: Account | None) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    wanted = account.uid if account else os.geteuid()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == wanted and stat.S_IMODE(found.st_mode) == 0o700
