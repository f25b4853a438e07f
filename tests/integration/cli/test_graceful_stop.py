"""SIGTERM to the real processes while they work: what was accepted is answered, what was answered is stored, and the exit code is 0."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import psycopg
import pytest

from tests.integration.cli.conftest import PROGRAM, Home, Service
from tests.support.databases import TestDatabase
from tests.support.embedders import FailingEmbedder
from tests.support.server import running_service


class Callers:
    """Threads that store one text after the other, each call over a connection of its own, until the service is gone."""

    def __init__(self, url: str, key: str, number: int) -> None:
        self.answered: list[str] = []
        self.refused = 0
        self.broken: list[str] = []
        self._url, self._headers = url, {"authorization": f"Bearer {key}"}
        self._threads = [threading.Thread(target=self._call, args=(place,)) for place in range(number)]
        for thread in self._threads:
            thread.start()

    def _call(self, place: int) -> None:
        number = 0
        while True:
            text, number = f"Stopped text {place} {number}.", number + 1
            try:
                answer = httpx.post(
                    f"{self._url}/v1/remember", json={"evidence": [{"content": text}]}, headers=self._headers, timeout=60, trust_env=False
                )
            except httpx.ConnectError:
                return
            except httpx.TransportError as error:
                self.broken.append(f"{text} {type(error).__name__}")
                return
            if answer.status_code == 200:
                self.answered.append(text)
            elif answer.status_code == 503:
                self.refused += 1
                return
            else:
                self.broken.append(f"{text} {answer.status_code}")
                return

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)


def test_a_service_that_is_told_to_stop_answers_what_it_accepted(home: Home, start: Callable[..., Service]) -> None:
    """Texts that are stored are exactly those that were answered: nothing of a call is lost, and nothing is stored in silence."""
    service = start(home.path)
    callers = Callers(service.url, home.key, 6)
    while len(callers.answered) < 12:
        time.sleep(0.01)
    code = service.stop(signal.SIGTERM)
    callers.join()
    again = start(home.path)
    try:
        stored = {text for text in _stored(again.url, home.key, callers)}
    finally:
        assert 0 == again.stop(signal.SIGTERM)

    assert 0 == code
    assert set(callers.answered) == stored
    # What had a connection and no answer was not begun: the socket closed with it in the queue.
    assert all("ReadError" in item or "RemoteProtocolError" in item or "WriteError" in item for item in callers.broken), callers.broken


def _stored(url: str, key: str, callers: Callers) -> Iterator[str]:
    """Of all texts that were ever sent, those that the service has: a text that is there is told as a repetition."""
    sent = [*callers.answered, *(item.rpartition(" ")[0] for item in callers.broken)]
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as client:
        for place in range(0, len(sent), 20):
            texts = sent[place : place + 20]
            answer = client.post("/v1/remember", json={"evidence": [{"content": text} for text in texts]}).json()
            yield from (text for text, item in zip(texts, answer["evidence"], strict=True) if item.get("reason") == "duplicate_occurrence")


@pytest.fixture
def worker(database: TestDatabase) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts `commonlore worker` on the test's database."""
    made: list[subprocess.Popen[str]] = []
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMMONLORE_")}

    def begin() -> subprocess.Popen[str]:
        environment = kept | {"COMMONLORE_WORKER_URL": url_of(database.worker_conninfo), "COMMONLORE_SERVING_URL": url_of(database.serving_conninfo)}
        made.append(subprocess.Popen([PROGRAM, "worker"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return made[-1]

    yield begin
    for process in made:
        if process.poll() is None:
            process.kill()
            process.communicate()


def url_of(conninfo: str) -> str:
    found = psycopg.conninfo.conninfo_to_dict(conninfo)
    place = urlencode({"host": found["host"], "port": found.get("port", 5432)})  # the host may be a folder
    return f"postgresql://{found['user']}:{quote(str(found['password']), safe='')}@/{found['dbname']}?{place}"


def test_a_worker_that_is_told_to_stop_gives_back_what_it_was_at(database: TestDatabase, worker: Callable[[], subprocess.Popen[str]]) -> None:
    """No job is left running or given up; the next worker does what is left, each vector once."""
    with running_service(database, FailingEmbedder()) as service:
        client = service.client(service.key())
        for place in range(20):
            text = " ".join(f"Zebra {place} {word} runs over the hills." for word in range(40))
            assert 200 == client.post("/v1/remember", json={"evidence": [{"content": f"{text} {number}"} for number in range(4)]}).status_code

    def look(query: str) -> Any:
        with psycopg.connect(database.admin_conninfo) as connection:
            return connection.execute(query.encode()).fetchall()

    parts = look("select count(*) from commonlore.evidence_part")
    first = worker()
    until(lambda: look("select count(*) > 0 from commonlore.job where state = 'running'") == [(True,)], first)
    first.send_signal(signal.SIGTERM)
    said, _ = first.communicate(timeout=60)
    left = {state for (state,) in look("select state from commonlore.job")}
    second = worker()
    until(lambda: look("select count(*) from commonlore.evidence_vector_1") == parts, second)
    until(lambda: look("select count(*) from commonlore.job where state = 'running'") == [(0,)], second)
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=60)

    assert (0, 0) == (first.returncode, second.returncode), said
    assert left <= {"queued", "succeeded"}
    assert [(0,)] == look("select count(*) from commonlore.evidence_embedding_backlog")


def until(true: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
