"""The files of one cluster: where they lie, how they come into being, and what says that they did.

home/
  initialised           a cluster was completed here; while it stands, an empty one is never made in its place
  initialising          we are making one; only then is an unfinished folder ours to remove
  data.new/  data/      the cluster, while it is made and ever after
  superuser.password    0600
  server.json           the last port and socket folder
  start.lock  holders.lock
  s/  log/  programs/   socket, log and, if needed, a copy of the programs
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from commonlore.db.embedded.account import Account, run_as
from commonlore.db.embedded.folders import make_private, sync_folder, write_file
from commonlore.domain.errors import OperatorError

SUPERUSER = "postgres"

_CONF = "commonlore.conf"
_INCLUDE = f"include '{_CONF}'"
_NAME = re.compile(r"[a-z_][a-z0-9_.]*")
_LOG_LIMIT = 10 * 1024 * 1024

# Supervision depends on these.
_RESERVED = frozenset(
    ("config_file", "data_directory", "external_pid_file", "hba_file", "ident_file", "logging_collector", "port", "unix_socket_directories")
)

MAX_CONNECTIONS = 60
_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "cluster_name": "commonlore",
        "listen_addresses": "127.0.0.1",
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        # Taken as it is used: the indexes of a space of 100,000 texts fit, and an idle server stays small.
        "shared_buffers": "256MB",
        "effective_cache_size": "1GB",
        "max_connections": str(MAX_CONNECTIONS),
        "huge_pages": "off",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
        "random_page_cost": "1.1",
        # A table that has just been filled is planned badly until it is analysed; the default looks once a minute.
        "autovacuum_naptime": "5s",
        "wal_level": "replica",
        "shared_preload_libraries": "",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "logging_collector": "off",
        # A failed statement is the application's to report. Here it would write evidence and key values into the log.
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_checkpoints": "off",
        **({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}),
    }
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one cluster."""

    home: Path

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def unfinished(self) -> Path:
        return self.home / "data.new"

    @property
    def marker(self) -> Path:
        return self.home / "initialised"

    @property
    def in_progress(self) -> Path:
        return self.home / "initialising"

    @property
    def password(self) -> Path:
        return self.home / "superuser.password"

    @property
    def record(self) -> Path:
        return self.home / "server.json"

    @property
    def log(self) -> Path:
        return self.home / "log" / "server.log"

    @property
    def sockets(self) -> Path:
        return self.home / "s"

    @property
    def programs(self) -> Path:
        return self.home / "programs"


@dataclass(frozen=True, slots=True)
class Record:
    """What the last start left for the next one and for clients."""

    port: int
    sockets: Path


def read_record(layout: Layout) -> Record | None:
    """Return the record of the last start, or None."""
    try:
        found = json.loads(layout.record.read_text(encoding="utf-8"))
        return Record(int(found["port"]), Path(found["socket_folder"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(layout: Layout, record: Record) -> None:
    """Record a start."""
    write_file(layout.record, json.dumps({"port": record.port, "socket_folder": str(record.sockets)}) + "\n")


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Check the caller's server settings.

    Raises:
        OperatorError: `settings_invalid` for a name that is no name or that the supervisor sets, or a value of several lines.
    """
    for name, value in parameters.items():
        if not _NAME.fullmatch(name) or name in _RESERVED:
            raise OperatorError("settings_invalid", f"The embedded server's setting {name!r} cannot be chosen.")
        if set(value) & set("\n\r\0"):
            raise OperatorError("settings_invalid", f"The value of the embedded server's setting {name!r} must be one line.")


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs that the account can execute; no account means the calling user."""

    folder: Path
    version: str
    account: Account | None


def ensure_cluster(layout: Layout, programs: Programs, start_lock: int, *, durable: bool) -> None:
    """Make the cluster unless it exists. The caller holds the start lock through the descriptor `start_lock`.

    Interrupted at any point, the next call finishes or begins again. `durable` false skips the final flush to disk.

    Raises:
        OperatorError: `embedded_data_missing` if there was a cluster and it is gone; `embedded_start_failed` if the data
            are of another major version, initdb fails, or a folder stands in the way that we did not make.
    """
    complete = (layout.data / "PG_VERSION").is_file()
    if layout.marker.exists() and not complete:
        raise OperatorError(
            "embedded_data_missing",
            f"A database was made in {layout.data}, but it is no longer there. The marker file is {layout.marker}.",
        )
    if not complete:
        _clear_unfinished(layout)
        _initdb(layout, programs, start_lock, durable=durable)
    elif not layout.password.exists():
        raise OperatorError("embedded_start_failed", f"The superuser's password file {layout.password} is missing.")
    if not layout.marker.exists():
        write_file(layout.marker, "A database was completed in the folder `data`. While this file stands, no empty one is made in its place.\n")
    layout.in_progress.unlink(missing_ok=True)
    made_by = (layout.data / "PG_VERSION").read_text(encoding="utf-8").strip()
    if made_by != _major(programs.version):
        raise OperatorError("embedded_start_failed", f"The data are of PostgreSQL {made_by}, the installed programs are {programs.version}.")


def _major(version: str) -> str:
    return re.split(r"\D", version, maxsplit=1)[0]


def _clear_unfinished(layout: Layout) -> None:
    ours = layout.in_progress.exists()
    if os.path.lexists(layout.data):
        raise OperatorError("embedded_start_failed", f"The folder {layout.data} holds no database, and Commonlore did not make it.")
    if os.path.lexists(layout.unfinished):
        if not ours:
            raise OperatorError("embedded_start_failed", f"The folder {layout.unfinished} is in the way, and Commonlore did not make it.")
        shutil.rmtree(layout.unfinished)


def _initdb(layout: Layout, programs: Programs, start_lock: int, *, durable: bool) -> None:
    account = programs.account
    write_file(layout.in_progress, "A database is being made in the folder `data.new`.\n")
    write_file(layout.password, secrets.token_urlsafe(32), owner=account)
    make_private(layout.unfinished, account)
    major = int(_major(programs.version))
    flags = [
        f"--username={SUPERUSER}",
        f"--pwfile={layout.password.name}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--lc-collate=C.UTF-8",
        "--lc-ctype=C.UTF-8",
        *(["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if major >= 17 else []),
        *(["--data-checksums"] if major < 18 else []),
        *([] if durable else ["--no-sync"]),
    ]
    command: list[str | Path] = [programs.folder / "initdb", "-D", layout.unfinished.name, *flags]
    # An initdb that outlives its killed parent inherits the lock, so the next start waits for it instead of writing beside it.
    result = run_as(account, command, cwd=layout.home, timeout_s=300, keep_open=(start_lock,))
    if result.returncode != 0:
        raise OperatorError("embedded_start_failed", f"initdb failed: {_last_line(result.stderr)}")
    _include(layout.unfinished, account)
    os.rename(layout.unfinished, layout.data)
    sync_folder(layout.home)


def _include(data: Path, account: Account | None) -> None:
    conf = data / "postgresql.conf"
    text = conf.read_text(encoding="utf-8")
    if _INCLUDE not in text.splitlines():
        write_file(conf, f"{text.rstrip()}\n\n{_INCLUDE}\n", owner=account)


def write_conf(layout: Layout, record: Record, parameters: Mapping[str, str], account: Account | None) -> None:
    """Write the settings for the next start: our defaults, then the caller's, then what supervision needs."""
    settings = {**_DEFAULTS, **parameters, "port": str(record.port), "unix_socket_directories": str(record.sockets)}
    lines = [f"{name} = {_quoted(value)}\n" for name, value in settings.items()]
    _include(layout.data, account)
    write_file(layout.data / _CONF, "# Written at every start; use ALTER SYSTEM or postgresql.conf.\n" + "".join(lines), owner=account)


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def rotate_log(layout: Layout, account: Account | None) -> int:
    """Set a log of more than 10 MB aside, keeping one. Return the size of the log that the next start appends to, in bytes."""
    make_private(layout.log.parent, account)
    try:
        size = layout.log.lstat().st_size
    except FileNotFoundError:
        return 0
    if size <= _LOG_LIMIT:
        return size
    os.replace(layout.log, layout.log.with_name("server.log.1"))
    return 0


def log_since(layout: Layout, offset: int) -> str:
    """Return what the server logged after an offset in bytes, at most 64 kB."""
    try:
        with layout.log.open("rb") as file:
            file.seek(offset)
            return file.read(65_536).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"
