"""`COMMONLORE_TEST_DATABASE=containers`: used where an engine answers, skipped with the reason where none does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support import containers

ROOT = Path(__file__).resolve().parents[3]
PROBE = "tests/integration/database/test_schema.py::test_a_second_upgrade_changes_nothing"


def probe(**extra: str) -> str:
    """One test that needs a database, run in a process of its own; what pytest said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COMMONLORE_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:randomly", PROBE]
    return subprocess.run(command, cwd=ROOT, env=kept | extra, capture_output=True, text=True, timeout=120, check=False).stdout


def test_where_no_engine_answers_the_reason_is_said() -> None:
    """An address that nobody answers at is no engine, whatever programs are on the path."""
    said = probe(COMMONLORE_TEST_DATABASE="containers", DOCKER_HOST="tcp://127.0.0.1:9")

    assert "1 skipped" in said and "no container engine answers" in said


def test_another_kind_of_database_is_refused() -> None:
    assert "must be embedded or containers" in probe(COMMONLORE_TEST_DATABASE="sqlite")


def test_the_container_is_a_server_for_the_tests() -> None:
    """The version and the extension that the service needs."""
    if (reason := containers.missing_engine()) is not None:
        pytest.skip(reason)

    with psycopg.connect(containers.start(), autocommit=True) as connection:
        connection.execute("create extension vector")
        assert connection.info.server_version >= 160000
