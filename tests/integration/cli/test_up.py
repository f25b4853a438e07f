"""`commonlore up`: the first start, the next ones, and every way to end."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil

from commonlore.db.embedded import EmbeddedPostgres
from tests.integration.cli.conftest import Home, Run, Service


def ask(url: str, key: str, tool: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(f"{url}/v1/{tool}", json=body, headers={"authorization": f"Bearer {key}"}, timeout=30, trust_env=False)


def test_it_answers_an_agent_and_keeps_what_was_told(home: Home, start: Callable[..., Service]) -> None:
    """What was remembered before Ctrl-C is recalled after the next start."""

    first = start(home.path)
    stored = ask(first.url, home.key, "remember", {"evidence": [{"content": "Ada moved the Orion project to Lisbon."}]})
    code = first.stop(signal.SIGINT)
    second = start(home.path, "--no-worker")
    found = ask(second.url, home.key, "recall_memory", {"query": "Where is the Orion project?"})
    refused = ask(second.url, home.key[:-1] + ("a" if home.key[-1] != "a" else "b"), "recall_memory", {"query": "x"})
    second.stop()

    assert (stored.status_code, code) == (200, 0)
    assert "Ada moved the Orion project to Lisbon." in [item["context"] for item in found.json()["results"]]
    assert refused.status_code == 401


def test_after_a_kill_the_next_start_works(home: Home, start: Callable[..., Service]) -> None:
    """kill -9 leaves the database to the next start, which attaches to it; the worker ended with its parent."""

    killed = start(home.path)
    worker = psutil.Process(killed.facts["worker_pid"])
    killed.stop(signal.SIGKILL)
    again = start(home.path)
    answer = ask(again.url, home.key, "recall_memory", {"query": "anything"})
    worker.wait(timeout=30)
    code = again.stop()

    assert (200, 0) == (answer.status_code, code)
    assert not EmbeddedPostgres(home.path).status().running


def test_a_taken_port_is_told_before_anything_starts(base: Path, run: Run) -> None:
    """The message names it, and no data folder was made."""

    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run(base / "never", "up", "--port", str(taken.getsockname()[1]))

    assert refused.returncode == 1
    assert "is taken" in refused.stderr
    assert not (base / "never").exists()


def test_a_database_that_does_not_answer_is_not_replaced(base: Path, run: Run) -> None:
    """No embedded database is made in its place, and the password in the address is not shown."""

    url = "postgresql://someone:marker-secret@127.0.0.1:1/lore"
    refused = run(base / "external", "up", COMMONLORE_DATABASE_URL=url)

    assert refused.returncode == 1
    assert "COMMONLORE_DATABASE_URL names does not answer" in refused.stderr
    assert "marker-secret" not in refused.stderr + refused.stdout
    assert not (base / "external" / "data").exists()


def test_a_wrong_setting_is_named(base: Path, run: Run) -> None:
    """An unknown variable stops the start."""

    refused = run(base / "never", "up", COMMONLORE_PROT="7")

    assert refused.returncode == 1
    assert "COMMONLORE_PROT is not a setting" in refused.stderr


def test_the_first_start_shows_a_key_and_later_ones_do_not(home: Home, start: Callable[..., Service]) -> None:
    """The key stands in the first start's output once, and nowhere in its log or in the home; a later start shows none.

    That one ends with its terminal: API, worker and database stop, and the exit code says that nothing went wrong.
    """

    again = start(home.path)
    worker = again.facts["worker_pid"]
    code = again.stop(signal.SIGHUP)

    assert home.first.said.count(home.key) == 1
    assert again.facts["key"] is None
    secret = home.key.rsplit("_", 1)[1]
    texts = [home.first.said.replace(home.key, ""), again.said, home.first.log.read_text(), again.log.read_text()]
    assert [False] * 4 == [secret in text for text in texts]
    assert not [path for path in home.path.glob("*") if path.is_file() and secret in path.read_text(errors="replace")]
    assert code == 0
    assert not psutil.pid_exists(worker)
    assert not EmbeddedPostgres(home.path).status().running


def test_what_dies_is_started_again(home: Home, start: Callable[..., Service]) -> None:
    """A killed worker and a killed database have successors; requests are refused as retryable meanwhile, and a stop still stops everything."""

    service = start(home.path)
    first = service.facts["worker_pid"]
    os.kill(first, signal.SIGKILL)
    os.kill(EmbeddedPostgres(home.path).pid, signal.SIGKILL)
    statuses: set[int] = set()
    workers: set[int] = set()
    deadline = time.monotonic() + 120
    while not (workers and 200 in statuses) and time.monotonic() < deadline:
        time.sleep(0.1)
        statuses.add(ask(service.url, home.key, "recall_memory", {"query": "anything"}).status_code)
        workers = {child.pid for child in psutil.Process(service.process.pid).children() if "tied" in " ".join(child.cmdline())} - {first}
    code = service.stop()

    assert workers
    assert {200} <= statuses <= {200, 503}
    assert code == 0
    assert not EmbeddedPostgres(home.path).status().running


def test_other_machines_are_let_in_only_once_there_is_a_key(home: Home, start: Callable[..., Service]) -> None:
    """An empty installation refuses to listen elsewhere than on this machine; one with a key does not.

    A client that does not send its request loses its connection, with or without an answer; others are answered meanwhile, and a kept-alive one is not touched.
    """

    service = start(home.path, "--host", "0.0.0.0", "--no-worker", COMMONLORE_HEADER_TIMEOUT_MS="300")
    place = urlsplit(service.url)
    assert place.hostname is not None
    begun = time.perf_counter()
    with socket.create_connection((place.hostname, place.port or 0), timeout=60) as slow, httpx.Client(trust_env=False, timeout=60) as kept:
        slow.sendall(b"GET /v1/health/live HTTP/1.1\r\nHost: a\r\n")
        statuses = [kept.get(f"{service.url}/v1/health/live").status_code]
        end = slow.recv(100)
        seconds = time.perf_counter() - begun
        statuses.append(kept.get(f"{service.url}/v1/health/live").status_code)
    service.stop()

    assert home.refused.returncode == 1
    assert "there is no key yet" in home.refused.stderr
    assert "Traceback" not in home.refused.stderr
    assert end[:12] in (b"", b"HTTP/1.1 408")
    assert seconds >= 0.3
    assert statuses == [200, 200]
