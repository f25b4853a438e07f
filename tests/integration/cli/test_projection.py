"""`commonlore projection` and `commonlore contract`, and the administration of generations over HTTP, with a worker beside the service."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from commonlore.api.cli.main import main
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.settings import read_settings
from commonlore.workers import main as worker
from tests.integration.cli.test_evidence import address
from tests.support.databases import TestDatabase
from tests.support.memory import ServedHashEmbedder, a_relationship
from tests.support.projection_process import embedders
from tests.support.server import Service, running_service
from tests.support.worker_process import QUICK

OTHER = embedders().keys()[1]


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database, ServedHashEmbedder()) as running:
        yield running


@pytest.fixture
def held(database: TestDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The environment of whoever holds the database, with a file of one remote embedder."""
    path = tmp_path / "embedders.toml"
    path.write_text('[[embedder]]\napi = "embed"\nprovider = "test-hash"\nurl = "http://127.0.0.1:9"\nmodel = "words"\ndimensions = 96\n', "utf-8")
    monkeypatch.setenv("COMMONLORE_DATABASE_URL", address(database.admin_conninfo))
    monkeypatch.setenv("COMMONLORE_HOME", str(tmp_path))
    monkeypatch.setenv("COMMONLORE_EMBEDDERS", str(path))
    return path


@contextmanager
def a_worker(service: Service) -> Iterator[None]:
    """A worker in a thread of its own."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(worker.run(read_settings({}), service.database.worker_conninfo, rules=QUICK, make_embedder=embedders))
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait((task,))), daemon=True)
    thread.start()
    try:
        yield
    finally:
        while thread.is_alive():  # one cancellation can be lost
            loop.call_soon_threadsafe(task.cancel)
            thread.join(5)
        loop.close()


def filled(service: Service) -> Any:
    ada = service.key(scopes=("read", "write", "admin"))
    body = {"evidence": [{"content": "Uma works on Orion."}], "relationships": [a_relationship("Uma", "works_on", "Orion")]}
    assert service.client(ada).post("/v1/remember", json=body).status_code == 200
    return ada


def run(service: Service, key: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["projection", *words, "--url", service.url, "--key", key])
    written = capsys.readouterr()
    return code, written.out + written.err


def owned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["contract", *words])
    written = capsys.readouterr()
    return code, written.out + written.err


def test_a_generation_is_started_watched_activated_rolled_back_and_retired(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    ada = filled(service)
    assert (0, "generation 2: projecting_text 0/1\n") == run(service, ada.text, capsys, "start")
    assert (0, "generation 2: projecting_text 0/1, paused\n") == run(service, ada.text, capsys, "pause")
    assert (0, "generation 2: projecting_text 0/1\n") == run(service, ada.text, capsys, "resume", "2")
    with a_worker(service):
        code, watched = run(service, ada.text, capsys, "watch", "--every", "0.1", "--json")
    assert (0, "standby") == (code, json.loads(watched)["generations"][0]["state"])
    assert (0, "generation 2: current 1/1, recalls read it\n") == run(service, ada.text, capsys, "activate")
    assert (0, "generation 1: current 1/1, recalls read it\n") == run(service, ada.text, capsys, "rollback")
    assert (0, "generation 2: retired\n") == run(service, ada.text, capsys, "retire", "2")
    code, shown = run(service, ada.text, capsys, "show")
    assert 0 == code
    assert f"Vectors: {CONTRACT.key}" in shown


def test_refusals_have_names_and_need_the_scope(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    ada, ben = filled(service), service.key("another")
    code, said = run(service, ada.text, capsys, "activate", "7", "--json")
    assert (1, "not_found") == (code, json.loads(said)["code"])
    code, said = run(service, ben.text, capsys, "show", "--json")
    assert (1, "unauthorized_scope") == (code, json.loads(said)["code"])
    refused = service.client(ada).post("/v1/admin/pause_projection", json={"generation": 0})
    assert (422, "invalid_input") == (refused.status_code, refused.json()["code"])
    assert 0 == run(service, ada.text, capsys, "start")[0]
    conflict = service.client(ada).post("/v1/admin/start_projection", json={})
    assert (409, "generation_building", {"generation": 2}) == (conflict.status_code, conflict.json()["code"], conflict.json()["details"])


def test_a_contract_is_started_watched_activated_and_rolled_back_by_whoever_holds_the_database(
    service: Service, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(service)
    for wrong, code in (("nonsense", "invalid_input"), ("openai:none:8:cosine:unit:doc1:query1", "invalid_input"), (CONTRACT.key, "stale_input")):
        found = owned(capsys, "start", wrong, "--json")
        assert (1, code) == (found[0], json.loads(found[1])["code"])
    assert (0, f"{OTHER}: building\n") == owned(capsys, "start", OTHER)
    refused = owned(capsys, "activate", "--json")
    assert (1, "generation_incomplete") == (refused[0], json.loads(refused[1])["code"])
    with a_worker(service):
        assert 0 == owned(capsys, "watch", "--every", "0.1")[0]
    assert (0, f"{OTHER}: served\n") == owned(capsys, "activate")
    code, listed = owned(capsys, "list", "--json")
    states = {entry["contract_key"]: (entry["state"], entry["counts"]["vectors"]) for entry in json.loads(listed)}
    assert (0, {CONTRACT.key: ("standby", 1), OTHER: ("served", 1)}) == (code, states)
    assert (0, f"{CONTRACT.key}: served\n") == owned(capsys, "rollback")
    assert (1, True) == ((early := owned(capsys, "retire"))[0], "recalls may still read" in early[1])
