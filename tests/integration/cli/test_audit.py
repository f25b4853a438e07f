"""`commonlore audit` against a running service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonlore.api.cli.main import main
from tests.support.databases import TestDatabase
from tests.support.server import Service, running_service

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        yield running


@pytest.fixture
def run(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    boss = service.key(scopes=("read", "write", "admin"))
    monkeypatch.setenv("COMMONLORE_KEY", boss.text)
    monkeypatch.setenv("COMMONLORE_URL", service.url)
    client = service.client(boss)
    for number in range(3):
        client.post("/v1/remember", json={"evidence": [{"content": f"Text {number}."}]})

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["audit", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def document(run: Run, *words: str, code: int = 0) -> Any:
    found, out, _ = run(*words, "--json")
    assert found == code, out
    return json.loads(out)


def test_the_log_is_listed_for_people_and_programs(run: Run) -> None:
    listed = document(run, "list", "--act", "remember", "--limit", "2")
    code, out, _ = run("list", "--act", "remember", "--limit", "2", "--cursor", listed["next_cursor"])

    assert (["remember"] * 2, 0, 1) == ([entry["act"] for entry in listed["entries"]], code, out.count("remember"))
    assert (0, "There is no such entry.\n") == run("list", "--outcome", "denied")[:2]


def test_an_export_is_whole_or_not_there(run: Run, tmp_path: Path, service: Service) -> None:
    """One object a line, every entry once, the newest first; a file that is there stays, and a refused one leaves none."""

    file = tmp_path / "log.jsonl"
    made = document(run, "export", str(file), "--act", "remember", "--since", "2026-01-01T00:00:00Z")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    again, _, _ = run("export", str(file))
    refused, _, _ = run("export", str(tmp_path / "other.jsonl"), "--since", "yesterday")

    assert (3, 3, 2, 1) == (made["entries"], len({line["entry_id"] for line in lines}), again, refused)
    assert sorted((line["entry_id"] for line in lines), reverse=True) == [line["entry_id"] for line in lines]
    assert [file] == list(tmp_path.iterdir())


def test_what_was_changed_is_said(run: Run, service: Service, database: TestDatabase) -> None:
    from commonlore.db.audit_log import seal_batch
    from commonlore.db.session import make_pool
    from commonlore.domain.time import system_clock

    async def seal() -> None:
        async with make_pool(database.worker_conninfo, size=1, name="test-worker") as pool:
            await seal_batch(pool, service._teams["atlas"], now=system_clock())

    service.run(seal())
    found = document(run, "verify")
    known, unknown = document(run, "verify", "--head", found["head_sha256"]), document(run, "verify", "--head", "0" * 64, code=1)
    with psycopg.connect(database.admin_conninfo, autocommit=True) as connection:
        connection.execute("update commonlore.audit_entry set act = 'forget' where act = 'remember'")
    code, out, _ = run("verify")

    assert (True, 1, 6, True, False) == (found["verified"], found["seals"], found["entries"], known["verified"], unknown["head_is_in_the_chain"])
    assert (1, True) == (code, "NOT as it was sealed" in out)
