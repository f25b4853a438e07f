"""Which account the server runs as, and how a command is run as it.

PostgreSQL refuses to run as root. Root therefore starts it as an account that already exists; every other user runs it as
itself, and then there is no `Account` at all.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commonlore.domain.errors import OperatorError

_PREFERRED = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged account that root hands the server to."""

    uid: int
    gid: int
    name: str


def choose_account(data: Path) -> Account | None:
    """Return the account to run as, or None to run as the calling user.

    A cluster that exists keeps its owner, because PostgreSQL accepts no other: an account `postgres` that was added after
    the first start would otherwise lock `nobody` out of its own data.

    Raises:
        OperatorError: `embedded_start_failed` if the data belong to root or to a user that we cannot act for.
    """
    owner = data.stat() if data.is_dir() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise OperatorError("embedded_start_failed", f"The data folder {data} belongs to another user.")
        return None
    if owner is not None:
        if owner.st_uid == 0:
            raise OperatorError("embedded_start_failed", f"The data folder {data} belongs to root; PostgreSQL must not run as root.")
        return Account(owner.st_uid, owner.st_gid, _name_of(owner.st_uid))
    for name in _PREFERRED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise OperatorError("embedded_start_failed", "Root cannot run PostgreSQL, and there is no account `postgres` or `nobody` to run it as.")


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def run_as(
    account: Account | None, command: Sequence[str | Path], *, cwd: Path = Path("/"), timeout_s: float = 60, keep_open: tuple[int, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end as the account, in a session of its own, with a small fixed environment.

    `cwd` is entered before the account changes; `keep_open` are descriptors that the command inherits. Both outputs are captured; a non-zero exit is returned, not raised.

    Raises:
        OSError: the account may not execute it.
        subprocess.TimeoutExpired: after `timeout_s` seconds; the command was killed.
    """
    return subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        umask=0o077,
        pass_fds=keep_open,
        # Ctrl-C goes to the terminal's foreground group; pg_ctl would pass it on to a server that is starting.
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def require_reach(account: Account | None, folder: Path) -> None:
    """Check that the account can enter the folder. Modes are left alone: a private parent is the operator's choice.

    Raises:
        OperatorError: `embedded_start_failed`, naming the topmost folder that shuts the account out.
    """
    if account is None or _can_enter(account, folder):
        return
    chain = [folder, *folder.parents][::-1]
    closed = next((step for step in chain if not _can_enter(account, step)), folder)
    raise OperatorError(
        "embedded_start_failed",
        f"The account {account.name}, which runs PostgreSQL for root, cannot enter {closed}. Choose a data folder outside of it, such as below /var/lib.",
    )


def _can_enter(account: Account, folder: Path) -> bool:
    return run_as(account, ["/bin/sh", "-c", 'cd "$1"', "sh", folder]).returncode == 0
