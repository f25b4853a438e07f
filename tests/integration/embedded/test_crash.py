"""What survives kill -9, stale files and folders that vanish."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from commonlore.db.embedded import EmbeddedPostgres, postmaster
from commonlore.domain.errors import OperatorError

FAST = {"fsync": "off"}


def numbers(server: EmbeddedPostgres) -> set[int]:
    with psycopg.connect(server.superuser_conninfo()) as connection:
        return {row[0] for row in connection.execute("select n from t")}


def make_table(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
        connection.execute("drop table if exists t; create table t (n int)")
        connection.execute("insert into t values (1)")


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_kill_9_of_the_server_loses_no_acknowledged_row(home: Path, eventually: Callable[[Callable[[], bool]], None]) -> None:
    """Every row whose commit was acknowledged before kill -9 is there after the same holder starts again."""
    acknowledged: list[int] = []

    def write(conninfo: str) -> None:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for number in range(2, 1_000_000):
                connection.execute("insert into t values (%s)", (number,))
                acknowledged.append(number)

    def write_until_it_dies(conninfo: str) -> None:
        with pytest.raises(psycopg.OperationalError):
            write(conninfo)

    with EmbeddedPostgres(home) as server:
        make_table(server)
        before = server.pid
        writer = threading.Thread(target=write_until_it_dies, args=(server.superuser_conninfo(),))
        writer.start()
        eventually(lambda: len(acknowledged) >= 50)
        os.kill(before, signal.SIGKILL)
        outcome = server.start()
        writer.join()
        lost = {1, *acknowledged} - numbers(server)
        after = server.pid

    assert ("started", True, set()) == (outcome, before != after, lost)


def test_kill_9_of_a_holder_leaks_no_server(home: Path, hold: Callable[[Path], Any]) -> None:
    """A holder that dies by kill -9 leaves the server running, and the next clean release stops it."""
    killed = hold(home)
    pid = int(killed.line().split()[1])
    killed.end()
    survived = runs(pid)
    server = EmbeddedPostgres(home, parameters=FAST)

    assert (True, "attached", 1, "stopped", False) == (survived, server.start(), server.status().holders, server.release(), runs(pid))


@contextmanager
def bystander(folder: Path, name: str, uid: int) -> Iterator[int]:
    """A process of the server's own account, under a chosen name, that has nothing to do with it."""
    folder.mkdir()
    program = folder / name
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "600"], cwd=folder, **({"user": uid} if os.geteuid() == 0 else {}))
    try:
        while psutil.Process(process.pid).status() != psutil.STATUS_SLEEPING:
            time.sleep(0.005)
        yield process.pid
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", ["sleep", "postgres"])
def test_a_bystander_named_in_the_pid_file_is_left_alone(home: Path, base: Path, name: str) -> None:
    """A crash left a pid file whose number now belongs to someone else: that process lives on, and the server starts."""
    server = EmbeddedPostgres(home, parameters=FAST)
    server.start()
    make_table(server)
    port, data = server.port, home / "data"
    lines = (data / "postmaster.pid").read_text().splitlines()
    server.release()
    with bystander(base / "elsewhere", name, data.stat().st_uid) as pid:
        for stale in (data / "postmaster.pid", home / "s" / f".s.PGSQL.{port}.lock"):
            stale.write_text("\n".join([str(pid), *lines[1:]]) + "\n")
            os.chown(stale, data.stat().st_uid, data.stat().st_gid)
        before = server.status().running
        outcomes = (server.start(timeout_s=10), numbers(server), server.pid != pid, server.release(), psutil.Process(pid).status())

    assert (False, "started", {1}, True, "stopped", "sleeping") == (before, *outcomes)


def test_releasing_stops_no_bystander(home: Path, base: Path) -> None:
    """The server died and its number was given away: a release says that nothing ran and stops nothing."""
    server = EmbeddedPostgres(home, parameters=FAST)
    server.start()
    data = home / "data"
    os.kill(server.pid, signal.SIGKILL)
    with bystander(base / "elsewhere", "postgres", data.stat().st_uid) as pid:
        stale = data / "postmaster.pid"
        stale.write_text("\n".join([str(pid), *stale.read_text().splitlines()[1:]]) + "\n")

        assert ("not_running", "sleeping") == (server.release(), psutil.Process(pid).status())


@pytest.mark.parametrize("harm", ["folder", "version file"])
def test_an_empty_cluster_never_replaces_one_that_vanished(home: Path, base: Path, harm: str) -> None:
    """If the data are gone the start is refused, names the marker file and makes nothing."""
    lost = home / "data" if harm == "folder" else home / "data" / "PG_VERSION"
    lost.rename(base / "lost")
    left = sorted(path.name for path in home.iterdir())
    server = EmbeddedPostgres(home, parameters=FAST)
    with pytest.raises(OperatorError, match="initialised") as caught:
        server.start()
    now = sorted(path.name for path in home.iterdir())
    (base / "lost").rename(lost)

    assert ("embedded_data_missing", left, 0) == (caught.value.code, now, server.status().holders)


def test_a_cluster_killed_in_the_making_is_made_anew(
    empty_home: Path, hold: Callable[[Path], Any], eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """kill -9 in the middle of initdb leaves no data folder. The next start does not write beside what still runs, then begins again."""
    holder = hold(empty_home)
    eventually(lambda: (empty_home / "data.new" / "global").is_dir())
    [initdb] = [process for process in psutil.Process(holder.process.pid).children() if process.name() == "initdb"]
    initdb.suspend()
    holder.end()
    half_done = (not (empty_home / "data").exists(), (empty_home / "initialising").exists(), (empty_home / "initialised").exists())
    server = EmbeddedPostgres(empty_home, parameters=FAST)
    with pytest.raises(OperatorError, match="still starting"):
        server.start(timeout_s=0.2)
    initdb.resume()
    with server:
        make_table(server)
        found = numbers(server)

    assert ((True, True, False), {1}, False) == (half_done, found, (empty_home / "data.new").exists())


def test_a_crash_between_completion_and_marker_keeps_the_cluster(home: Path) -> None:
    """A cluster that was completed but not yet marked is taken as it is, and marked."""
    with EmbeddedPostgres(home, parameters=FAST) as server:
        make_table(server)
    (home / "initialised").rename(home / "initialising")
    with EmbeddedPostgres(home, parameters=FAST) as server:
        found = numbers(server)

    assert ({1}, True, False) == (found, (home / "initialised").exists(), (home / "initialising").exists())


@pytest.mark.parametrize("name", ["data", "data.new"])
def test_a_folder_that_we_did_not_make_is_not_removed(empty_home: Path, name: str) -> None:
    """An unmarked folder in the way is an error, and what it holds stays."""
    (empty_home / name).mkdir(parents=True)
    (empty_home / name / "letter").write_text("mine")
    if os.geteuid() == 0:
        shutil.chown(empty_home / name, "nobody")
    with pytest.raises(OperatorError, match="did not make it") as caught:
        EmbeddedPostgres(empty_home, parameters=FAST).start()

    assert ("embedded_start_failed", "mine") == (caught.value.code, (empty_home / name / "letter").read_text())


def test_a_port_taken_meanwhile_is_replaced(home: Path, base: Path) -> None:
    """If another program took the last port, the server starts on a new one."""
    with EmbeddedPostgres(home, parameters=FAST) as server:
        port = server.port
    program = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print('up', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with EmbeddedPostgres(home, parameters=FAST) as server:
            moved = server.port != port
        other.communicate()

    assert moved


def test_a_live_server_of_ours_is_recognised(home: Path) -> None:
    """The process test that spares bystanders does accept the real server, and only in its own folder."""
    with EmbeddedPostgres(home, parameters=FAST) as server:
        uid = (home / "data").stat().st_uid
        found = (
            postmaster.is_ours(server.pid, home / "data", uid),
            postmaster.is_ours(server.pid, home, uid),
            postmaster.is_ours(server.pid, home / "data", 1),
        )

    assert (True, False, False) == found
