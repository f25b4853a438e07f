"""Who runs the server, and what it may do to folders."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from commonlore.db.embedded import EmbeddedPostgres, account, binaries
from commonlore.domain.errors import OperatorError

FAST = {"fsync": "off"}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another account")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def rows(server: EmbeddedPostgres) -> list[Any]:
    with psycopg.connect(server.superuser_conninfo()) as connection:
        return connection.execute("select 1").fetchall()


def test_folders_that_exist_keep_their_modes_and_the_data_are_private(base: Path) -> None:
    """Parents and an existing home keep mode and owner; data, socket and log folders and the password are closed to others."""
    parent, home = base / "parent", base / "parent" / "home"
    for folder, bits in ((parent, 0o751), (home, 0o775)):
        folder.mkdir()
        folder.chmod(bits)
    before = [(path.stat().st_mode, path.stat().st_uid) for path in (base, parent, home)]
    with EmbeddedPostgres(home, parameters=FAST):
        after = [(path.stat().st_mode, path.stat().st_uid) for path in (base, parent, home)]
        private = {name: mode(home / name) for name in ("data", "s", "log", "superuser.password", "server.json", "data/commonlore.conf")}

    assert before == after
    assert {"data": 0o700, "s": 0o700, "log": 0o700, "superuser.password": 0o600, "server.json": 0o600, "data/commonlore.conf": 0o600} == private


@as_root
def test_no_server_process_belongs_to_root(home: Path) -> None:
    """Started by root, the postmaster and all its children run as an unprivileged account without root's groups."""
    with EmbeddedPostgres(home, parameters=FAST) as server:
        postmaster = psutil.Process(server.pid)
        processes = [postmaster, *postmaster.children(recursive=True)]
        uids = {uid for process in processes for uid in process.uids()}
        groups = Path(f"/proc/{server.pid}/status").read_text().split("Groups:")[1].splitlines()[0].split()

    assert (True, {(home / "data").stat().st_uid}, []) == (len(processes) > 3, uids, groups)
    assert 0 not in uids


@as_root
def test_a_cluster_keeps_its_account(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster made as `nobody` still runs as `nobody` when an account `postgres` is there later."""
    monkeypatch.setattr(account, "_PREFERRED", ("nobody",))
    with EmbeddedPostgres(empty_home, parameters=FAST):
        pass
    monkeypatch.setattr(account, "_PREFERRED", ("postgres", "nobody"))
    with EmbeddedPostgres(empty_home, parameters=FAST) as server:
        name = psutil.Process(server.pid).username()

    assert "nobody" == name


@as_root
def test_programs_below_a_private_folder_are_copied(home: Path, base: Path) -> None:
    """Programs that the account cannot reach are copied beside the data with their libraries; the folder stays closed."""
    found = binaries.find_binaries()
    package = found.parents[1]
    closed = base / "closed"
    closed.mkdir(0o700)
    for source in (package, package.with_name(package.name + ".libs")):
        if source.exists():
            (closed / source.name).symlink_to(source)
    hidden = closed / found.relative_to(package.parent)
    times = []
    for _ in range(2):
        with EmbeddedPostgres(home, parameters=FAST, binaries=hidden) as server:
            program = Path(psutil.Process(server.pid).exe())
            times.append(program.stat().st_ctime_ns)
            with psycopg.connect(server.superuser_conninfo()) as connection:
                connection.execute("create extension if not exists vector")
                connection.execute("create extension if not exists dblink")  # needs libpq, which lies outside of the tree

    assert (True, 0o700, 1) == (program.is_relative_to(home), mode(closed), len(set(times)))


@as_root
def test_a_home_below_a_private_folder_is_refused_by_name(base: Path) -> None:
    """If the account cannot enter the home, the error names the folder that is closed, which stays so."""
    closed = base / "closed"
    closed.mkdir(0o700)
    with pytest.raises(OperatorError, match=f"cannot enter {closed}\\.") as caught:
        EmbeddedPostgres(closed / "home", parameters=FAST).start()

    assert ("embedded_start_failed", 0o700) == (caught.value.code, mode(closed))


def test_a_home_with_any_name_of_any_length_works(base: Path) -> None:
    """Where the socket's path is too long or unfit, the socket lies in a private folder with a random name, kept over restarts."""
    home = base / "a, \"b\" $HOME `c` 'd'" / ("e" * 120)
    folders = []
    try:
        for _ in range(2):
            with EmbeddedPostgres(home, parameters=FAST) as server:
                assert [(1,)] == rows(server)
                folders.append(Path(psycopg.conninfo.conninfo_to_dict(server.superuser_conninfo())["host"]))
        shape = (mode(folders[0]), folders[0].stat().st_uid)
        folders[0].chmod(0o755)
        with EmbeddedPostgres(home, parameters=FAST) as server:
            folders.append(Path(psycopg.conninfo.conninfo_to_dict(server.superuser_conninfo())["host"]))
    finally:
        for folder in set(folders):
            shutil.rmtree(folder)

    assert (0o700, (home / "data").stat().st_uid) == shape
    assert folders[0] == folders[1]
    assert folders[1] != folders[2], "a recorded folder that others can enter must not be used again"


def run_as_nobody(work: Callable[[], object]) -> Any:
    """Run a function in a forked child as `nobody`. No new interpreter, whose files may be closed to that account."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            entry = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            os.write(writer, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)


@as_root
def test_an_ordinary_user_runs_its_own_server(base: Path) -> None:
    """Without root's rights the server runs as the caller: it starts, survives kill -9, restarts and stops."""
    owner = pwd.getpwnam("nobody").pw_uid
    mine = base / "mine"
    mine.mkdir(0o700)
    os.chown(mine, owner, -1)

    def work() -> list[Any]:
        server = EmbeddedPostgres(mine / "home", parameters=FAST)
        outcomes: list[Any] = [server.start(), rows(server)]
        os.kill(server.pid, 9)
        return [*outcomes, server.start(), rows(server), psutil.Process(server.pid).uids().real, server.release()]

    assert ["started", [[1]], "started", [[1]], owner, "stopped"] == run_as_nobody(work)


@as_root
def test_a_foreign_users_server_is_not_taken_over(home: Path) -> None:
    """Another user's cluster is refused with a stated error and left running."""
    with EmbeddedPostgres(home, parameters=FAST) as server:

        def work() -> object:
            try:
                return EmbeddedPostgres(home, parameters=FAST).start()
            except OperatorError as error:
                return error.code

        found = (run_as_nobody(work), server.status().running)

    assert ("embedded_start_failed", True) == found
