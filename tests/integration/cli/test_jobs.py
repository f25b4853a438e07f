"""`commonlore jobs` and the administration of jobs against a running service, with a worker beside it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from commonlore.api.cli import jobs as commands
from commonlore.api.cli.main import main
from commonlore.db.settings import read_settings
from commonlore.domain.jobs.kind import EMBED_PARTS
from commonlore.workers import main as worker
from commonlore.workers.run import Handler, JobRun, Outcome
from tests.support.databases import TestDatabase
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Holder, ServedHashEmbedder
from tests.support.server import Service, running_service
from tests.support.worker_process import QUICK


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database, FailingEmbedder()) as running:
        yield running


def a_job(service: Service, holder: Holder) -> None:
    """A text whose vector waits, so that a job is asked for."""
    assert service.client(holder).post("/v1/remember", json={"evidence": [{"content": f"Zebra {uuid4()}."}]}).status_code == 200


def run(service: Service, key: str, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["jobs", *words, "--url", service.url, "--key", key])
    written = capsys.readouterr()
    return code, written.out + written.err


@contextmanager
def a_worker(service: Service, handler: Handler) -> Iterator[None]:
    """A worker in a thread of its own."""
    loop = asyncio.new_event_loop()
    work = worker.run(
        read_settings({}), service.database.worker_conninfo, rules=QUICK, handlers={EMBED_PARTS.name: handler}, make_embedder=ServedHashEmbedder
    )
    task = loop.create_task(work)

    def follow() -> None:
        loop.run_until_complete(asyncio.wait((task,)))

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        while thread.is_alive():  # one cancellation can be lost
            loop.call_soon_threadsafe(task.cancel)
            thread.join(5)
        loop.close()


def test_a_job_is_listed_watched_cancelled_and_retried(service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is drawn line by line where nobody looks at a terminal; the exit code says how it ended."""
    ada = service.key(scopes=("read", "write", "admin"))
    a_job(service, ada)
    code, listed = run(service, ada.text, capsys, "list", "--json")
    [job] = json.loads(listed)["jobs"]
    cancelled = run(service, ada.text, capsys, "cancel", job["job_id"])
    watched = run(service, ada.text, capsys, "watch", job["job_id"], "--json")
    retried = run(service, ada.text, capsys, "retry", job["job_id"])

    looks = 0

    def sleep(seconds: float) -> None:
        nonlocal looks
        time.sleep(seconds)
        looks += 1

    async def looked_at() -> None:
        """Until whoever watches has looked once more from the beginning."""
        wanted = looks + 3
        while looks < wanted:  # noqa: ASYNC110  it looks from another thread
            await asyncio.sleep(0.01)

    async def walk(run: JobRun) -> Outcome:
        await looked_at()
        for stage, done in (("walking", 1), ("arriving", 4)):
            await run.tell(stage, done, 4)
            await looked_at()
        return Outcome.DONE

    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep))
    with a_worker(service, walk):
        followed = run(service, ada.text, capsys, "watch", "--every", "0.1")

    assert (0, "embed_parts", "queued", None) == (code, job["kind"], job["state"], job["progress"])
    assert (0, f"{job['job_id']}: embed_parts is cancelled\n") == cancelled
    assert (1, "cancelled", "cancelled") == (watched[0], *(json.loads(watched[1])[name] for name in ("state", "reason")))
    assert (0, f"{job['job_id']}: embed_parts is queued\n") == retried
    assert 0 == followed[0]
    assert "running  walking 1/4, 25%" in followed[1] and "succeeded  arriving 4/4, 100%" in followed[1]
    assert (1, True) == ((again := run(service, ada.text, capsys, "retry", job["job_id"]))[0], "the job is over: succeeded" in again[1])
    assert (0, True) == ((shown := run(service, ada.text, capsys, "show", job["job_id"]))[0], "succeeded" in shown[1])
    assert (0, "No job waits or runs.\n") == run(service, ada.text, capsys, "watch")


def test_pages_are_whole_and_in_order_whatever_comes_between(service: Service) -> None:
    """The newest first; a cursor of another team is refused, and so is one that was changed."""
    ada, eve = service.key(scopes=("read", "write", "admin")), service.key(team="eve", scopes=("read", "admin"))
    own = service.client(ada)
    for _ in range(5):
        a_job(service, ada)
        [job] = own.post("/v1/admin/list_jobs", json={"limit": 1}).json()["jobs"]
        own.post("/v1/admin/cancel_job", json={"job_id": job["job_id"]})
    seen: list[str] = []
    cursor = None
    while True:
        answer = own.post("/v1/admin/list_jobs", json={"limit": 2, "cursor": cursor}).json()
        seen += [job["job_id"] for job in answer["jobs"]]
        a_job(service, ada)
        if (cursor := answer["next_cursor"]) is None:
            break
        foreign = service.client(eve).post("/v1/admin/list_jobs", json={"cursor": cursor})
        assert (422, "/cursor") == (foreign.status_code, foreign.json()["errors"][0]["pointer"])

    assert 5 == len(set(seen)) == len(seen)
    assert sorted(seen, reverse=True) == seen
    assert 5 == len(own.post("/v1/admin/list_jobs", json={"state": "cancelled"}).json()["jobs"])
    assert [] == own.post("/v1/admin/list_jobs", json={"kind": "render_documents"}).json()["jobs"]


def test_foreign_and_missing_jobs_are_answered_alike_and_nothing_changes(service: Service) -> None:
    ada, eve, ben = service.key(scopes=("read", "write", "admin")), service.key(team="eve", scopes=("admin",)), service.key()
    a_job(service, ada)
    [job] = service.client(ada).post("/v1/admin/list_jobs", json={}).json()["jobs"]

    def said(holder: Holder, operation: str, job_id: str) -> tuple[int, Any]:
        answer = service.client(holder).post(f"/v1/admin/{operation}", json={"job_id": job_id})
        return answer.status_code, {name: value for name, value in answer.json().items() if name != "correlation_id"}

    for operation in ("describe_job", "cancel_job", "retry_job"):
        assert said(eve, operation, job["job_id"]) == said(eve, operation, str(uuid4()))
        assert 404 == said(eve, operation, job["job_id"])[0]
        assert 403 == said(ben, operation, job["job_id"])[0]

    assert [] == service.client(eve).post("/v1/admin/list_jobs", json={}).json()["jobs"]
    assert job == service.client(ada).post("/v1/admin/describe_job", json={"job_id": job["job_id"]}).json()


@pytest.mark.parametrize(
    ("operation", "body", "pointer"),
    [
        ("list_jobs", {"state": "lost"}, "/state"),
        ("list_jobs", {"kind": "sweep"}, "/kind"),
        ("list_jobs", {"limit": 0}, "/limit"),
        ("list_jobs", {"team_id": str(uuid4())}, ""),
        ("list_jobs", {"cursor": "nonsense"}, "/cursor"),
        ("describe_job", {"job_id": "7"}, "/job_id"),
        ("cancel_job", {}, "/job_id"),
    ],
)
def test_a_wrong_request_names_the_field(service: Service, operation: str, body: dict[str, Any], pointer: str) -> None:
    answer = service.client(service.key(scopes=("admin",))).post(f"/v1/admin/{operation}", json=body)

    assert (422, pointer) == (answer.status_code, answer.json()["errors"][0]["pointer"])
