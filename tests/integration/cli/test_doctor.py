"""`commonlore doctor` on states that are broken in one way each. It starts nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from commonlore.db.embedded import EmbeddedPostgres
from commonlore.db.locate import DATABASE
from tests.integration.cli.conftest import Home, Run


def examine(run: Run, home: Path, **extra: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit code, and (state, advice) by check."""
    result = run(home, "doctor", "--json", **extra)
    assert result.stderr == ""
    document: dict[str, Any] = json.loads(result.stdout)
    return result.returncode, {check["name"]: (check["state"], check["advice"]) for check in document["checks"]}


def failed(found: dict[str, tuple[str, str]]) -> list[str]:
    assert all(advice for state, advice in found.values() if state != "ok")
    return [name for name, (state, _) in found.items() if state == "fail"]


def test_a_running_database_in_order_has_no_fault(home: Home, server: EmbeddedPostgres, run: Run) -> None:
    """Every check passes, the inside of the database among them."""

    code, found = examine(run, home.path)

    assert (0, []) == (code, failed(found))
    assert {"migrations", "embedding contract", "vectors", "jobs", "serving role", "worker role"} <= set(found)


def test_nothing_is_made_where_nothing_is(base: Path, run: Run) -> None:
    """A home that does not exist yet is fine, and still does not exist afterwards."""

    code, found = examine(run, base / "none")

    assert (0, []) == (code, failed(found))
    assert not (base / "none").exists()


def test_a_stopped_database_is_not_started(home: Home, run: Run) -> None:
    """It says that it is stopped and leaves it so."""

    code, _ = examine(run, home.path)

    assert code == 0
    assert not EmbeddedPostgres(home.path).status().running


def test_vanished_data_are_told(base: Path, run: Run) -> None:
    """The marker of a database without its folder is a fault: nothing empty takes its place."""

    home = base / "vanished"
    home.mkdir()
    (home / "initialised").write_text("")
    code, found = examine(run, home)
    up = run(home, "up")
    shutil.rmtree(home)

    assert (1, ["embedded PostgreSQL"]) == (code, failed(found))
    assert up.returncode == 1
    assert "no longer there" in up.stderr


def test_passwords_that_others_may_read_are_told(base: Path, run: Run) -> None:
    """The files with secrets belong to one user."""

    home = base / "open"
    home.mkdir()
    (home / "roles.json").write_text("{}")
    (home / "roles.json").chmod(0o644)
    code, found = examine(run, home)
    shutil.rmtree(home)

    assert (1, ["data folder"]) == (code, failed(found))


@pytest.fixture
def empty_database(server: EmbeddedPostgres) -> Iterator[str]:
    """A database of the same server without any table."""
    name = f"empty_{os.getpid()}"
    with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    port = server.port
    password = psycopg.conninfo.conninfo_to_dict(server.superuser_conninfo())["password"]
    yield f"postgresql://postgres:{password}@127.0.0.1:{port}/{name}"
    with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def test_a_database_without_migrations_is_told(home: Home, empty_database: str, run: Run) -> None:
    """Of an external database that was never prepared the extension and the revision are missing; its password is not shown."""

    result = run(home.path, "doctor", "--json", COMMONLORE_DATABASE_URL=empty_database)
    found = {check["name"]: (check["state"], check["advice"]) for check in json.loads(result.stdout)["checks"]}

    assert (1, ["database", "migrations"]) == (result.returncode, failed(found))
    assert empty_database.split(":")[2].split("@")[0] not in result.stdout


def test_a_role_that_passes_the_policies_is_told(home: Home, server: EmbeddedPostgres, run: Run) -> None:
    """A superuser as serving role is a fault."""

    port = server.port
    password = psycopg.conninfo.conninfo_to_dict(server.superuser_conninfo())["password"]
    url = f"postgresql://postgres:{password}@127.0.0.1:{port}/{DATABASE}"
    code, found = examine(run, home.path, COMMONLORE_DATABASE_URL=url, COMMONLORE_SERVING_URL=url)

    assert (1, ["serving role"]) == (code, failed(found))


def test_a_changed_password_of_a_role_is_told(home: Home, server: EmbeddedPostgres, run: Run) -> None:
    """The database refuses the role, and migrate repairs it."""

    with psycopg.connect(make_conninfo(server.superuser_conninfo(), dbname=DATABASE), autocommit=True) as connection:
        connection.execute("alter role commonlore_worker password 'another'")
    code, found = examine(run, home.path)
    repaired = run(home.path, "migrate")
    after, _ = examine(run, home.path)

    assert (1, ["worker role"]) == (code, failed(found))
    assert (0, 0) == (repaired.returncode, after)


def test_a_port_that_another_program_has_is_told(home: Home, run: Run) -> None:
    """Something listens that does not answer as Commonlore."""

    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=_answer_once, args=(other,))
        thread.start()
        code, found = examine(run, home.path, COMMONLORE_PORT=str(other.getsockname()[1]))
        thread.join()

    assert (1, ["service"]) == (code, failed(found))


def _answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")


def test_a_database_that_does_not_answer_is_told(base: Path, run: Run) -> None:
    """With the setting to correct, and without the password."""

    result = run(base / "none", "doctor", "--json", COMMONLORE_DATABASE_URL="postgresql://someone:marker-secret@127.0.0.1:1/lore")
    found = {check["name"]: (check["state"], check["advice"]) for check in json.loads(result.stdout)["checks"]}

    assert (1, ["database"]) == (result.returncode, failed(found))
    assert "COMMONLORE_DATABASE_URL" in found["database"][1]
    assert "marker-secret" not in result.stdout + result.stderr


def test_a_wrong_setting_is_told(base: Path, run: Run) -> None:
    """The doctor works where the settings cannot be read."""

    code, found = examine(run, base / "none", COMMONLORE_POOL_SIZE="0")

    assert (1, ["settings"]) == (code, failed(found))
