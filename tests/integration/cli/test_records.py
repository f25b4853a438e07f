"""`commonlore retention`, `feedback` and `report feedback` against a running service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from commonlore.api.cli.main import main
from tests.support.databases import TestDatabase
from tests.support.memory import Holder
from tests.support.server import Service, running_service

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        yield running


@pytest.fixture
def boss(service: Service, monkeypatch: pytest.MonkeyPatch) -> Holder:
    holder = service.key(scopes=("read", "write", "admin"))
    monkeypatch.setenv("COMMONLORE_KEY", holder.text)
    monkeypatch.setenv("COMMONLORE_URL", service.url)
    return holder


@pytest.fixture
def run(boss: Holder, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str]:
        code = main(words)
        return code, capsys.readouterr().out

    return call


def document(run: Run, *words: str, code: int = 0) -> Any:
    found, out = run(*words, "--json")
    assert found == code, out
    return json.loads(out)


def test_a_rule_is_previewed_set_and_run(run: Run) -> None:
    """`show` with days changes nothing; `never` keeps for ever; a number of days is asked for by name."""

    previewed = document(run, "retention", "show", "--audit-days", "90", "--answer-days", "never")
    unchanged = document(run, "retention", "show")
    changed = document(run, "retention", "set", "--audit-days", "90", "--feedback-days", "7")
    wrong = document(run, "retention", "set", "--audit-days", "soon", code=1)
    code, text = run("retention", "show")

    assert [90, None, 90] == [found["rule"]["audit_days"] for found in (previewed, unchanged, changed)]
    assert {"audit_entries": 0, "kept_recalls": 0, "answers": 0, "jobs": 0} == changed["would_remove"]
    assert ("/audit_days", 0, True) == (wrong["errors"][0]["pointer"], code, "for ever" in text and "has not run yet" in text)
    assert document(run, "retention", "run")["job_id"] is not None
    assert document(run, "retention", "run")["job_id"] is None


def test_feedback_is_switched_and_reported(run: Run, service: Service, boss: Holder) -> None:
    client = service.client(boss)
    client.post("/v1/remember", json={"evidence": [{"content": "Orion moved."}]})
    empty = run("report", "feedback")
    switched = run("feedback", "enable")
    kept = client.post("/v1/recall_memory", json={"query": "Orion"}).json()
    said = {"recall_event_id": kept["recall_id"], "used": True, "answer_supported": True, "quality": "high"}
    refs = [{"type": "evidence", "id": kept["results"][0]["evidence_id"], "rank": 1}]
    complaint = {**said, "irrelevant": True, "feedback_comment": "no", "irrelevant_result_refs": refs}
    receipt = client.post("/v1/submit_recall_session_feedback", json={"recalls": [complaint]}).json()
    code, text = run("report", "feedback")
    [ranking] = document(run, "report", "feedback")["rankings"]
    off = document(run, "feedback", "disable")

    assert (0, True, True) == (empty[0], "No recall of this time was kept." in empty[1], "commonlore feedback enable" in empty[1])
    assert ((0, True), {"recorded": 1}, {"enabled": False}) == ((switched[0], "are kept" in switched[1]), receipt, off)
    assert (0, True, 1, 1) == (code, "evidence" in text and "1.0" in text, ranking["answered"], ranking["lanes"][0]["irrelevant_first"])
