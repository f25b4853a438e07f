"""A PostgreSQL that is not the embedded one: prepared by an administrator, then served without knowing one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from commonlore.db.embedded import EmbeddedPostgres
from tests.integration.cli.conftest import Home, Run, Service


@pytest.fixture
def address(server: EmbeddedPostgres) -> Iterator[Callable[[str, str], str]]:
    """The address of an empty database for a role and its password."""
    name, port = f"external_{os.getpid()}", server.port
    with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    yield lambda role, password: f"postgresql://{role}:{password}@127.0.0.1:{port}/{name}"
    with psycopg.connect(server.superuser_conninfo(), autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def test_an_external_database_is_prepared_and_then_served_without_its_administrator(
    home: Home, base: Path, server: EmbeddedPostgres, address: Callable[[str, str], str], run: Run, start: Callable[..., Service]
) -> None:
    """The first start makes the key; later the API and the worker know their own roles only, and still answer."""

    roles = json.loads((home.path / "roles.json").read_text())
    admin = address("postgres", str(conninfo_to_dict(server.superuser_conninfo())["password"]))
    before = run(home.path, "up", "--no-worker", COMMONLORE_SERVING_URL=address("commonlore_app", roles["commonlore_app"]))
    migrated = run(home.path, "migrate", "--json", COMMONLORE_DATABASE_URL=admin)
    first = start(home.path, COMMONLORE_DATABASE_URL=admin)
    headers = {"authorization": f"Bearer {first.facts['key']}"}
    stored = httpx.post(
        f"{first.url}/v1/remember", json={"evidence": [{"content": "The kiln is in the barn."}]}, headers=headers, trust_env=False, timeout=60
    )
    first.stop()
    serving = address("commonlore_app", roles["commonlore_app"])
    second = start(base / "elsewhere", COMMONLORE_SERVING_URL=serving, COMMONLORE_WORKER_URL=address("commonlore_worker", roles["commonlore_worker"]))
    found = httpx.post(f"{second.url}/v1/recall_memory", json={"query": "Where is the kiln?"}, headers=headers, trust_env=False, timeout=60)
    worker_log = second.log
    second.stop()

    assert before.returncode == 1
    document = json.loads(migrated.stdout)
    assert document["revision"] == document["needed"]
    assert ("external", None) == (first.facts["database"], second.facts["key"])
    assert stored.status_code == 200
    assert [item["context"] for item in found.json()["results"]] == ["The kiln is in the barn."]
    assert "ERROR" not in worker_log.read_text()
    assert not (base / "elsewhere" / "data").exists()
