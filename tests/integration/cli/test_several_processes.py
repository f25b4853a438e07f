"""`commonlore up --processes 2`: one service, whichever process answers, and every way to end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from commonlore.db.embedded import EmbeddedPostgres
from tests.integration.cli.conftest import Run, Service

pytestmark = pytest.mark.skipif("sys.platform != 'linux'", reason="several API processes need Linux")
SAID = "Mark works on Atlas since the first day of June."
Begin = Callable[..., Service]


def begin_two(start: Begin, home: Path) -> Service:
    return start(home, "--processes", "2", COMMONLORE_METRICS="on")


@pytest.fixture(scope="module")
def two(base: Path, start: Begin) -> Iterator[Service]:
    """The first start of a home of its own, with two processes; its key is in the facts."""
    service = begin_two(start, base / "several")
    yield service
    if service.process.poll() is None:
        assert 0 == service.stop()


@contextlib.contextmanager
def connections(service: Service) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """One kept connection to each process, by its number: a connection stays with the process that took it."""
    found: dict[str, httpx.Client] = {}
    with contextlib.ExitStack() as opened:
        deadline = time.monotonic() + 60
        while len(found) < 2:
            assert time.monotonic() < deadline, f"only {sorted(found)} answered"
            client = opened.enter_context(httpx.Client(base_url=service.url, timeout=60, trust_env=False))
            found.setdefault(process_of(client), client)
        yield found["1"], found["2"]


def process_of(client: httpx.Client) -> str:
    return re.findall(r'commonlore_calls_limit\{process="(\d+)"\}', client.get("/metrics").text)[0]


def call(client: httpx.Client, service: Service, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
    return client.post(path, json=body, headers={"authorization": f"Bearer {key or service.facts['key']}"})


def remember(client: httpx.Client, service: Service, text: str) -> Any:
    answer = call(client, service, "/v1/remember", {"evidence": [{"content": text}]})
    assert 200 == answer.status_code, answer.text
    return answer.json()["evidence"][0]


def test_what_one_process_stored_another_recalls(two: Service) -> None:
    """Also with the key of the first start, which both know; and a connection stays where it is."""

    with connections(two) as (first, second):
        remember(first, two, "Ada moved the Orion project to Lisbon.")
        found = call(second, two, "/v1/recall_memory", {"query": "Where is the Orion project?"})
        places = process_of(first), process_of(second)

    assert ("1", "2") == places
    assert "Ada moved the Orion project to Lisbon." in [item["context"] for item in found.json()["results"]]


def test_connections_that_come_together_are_spread(two: Service) -> None:
    """Eight of one client: about four for each process, where whoever woke first would take them all."""

    place = urlsplit(two.url)
    with contextlib.ExitStack() as opened:
        taken = [opened.enter_context(socket.create_connection((place.hostname or "", place.port or 0), timeout=60)) for _ in range(8)]
        answers = []
        for client in taken:
            client.sendall(f"GET /metrics HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n\r\n".encode())
            answers.append(client.makefile("rb").read().decode())

    numbers = re.findall(r'commonlore_calls_limit\{process="(\d+)"\}', "".join(answers))
    assert 8 == len(numbers)
    assert 3 <= numbers.count("1") <= 5


def test_a_session_of_mcp_goes_on_at_any_process(two: Service) -> None:
    """It begins at one and calls its tools at the other: no process keeps a session, and none names one."""

    def message(client: httpx.Client, method: str, params: dict[str, Any], **more: Any) -> httpx.Response:
        return call(client, two, "/mcp", {"jsonrpc": "2.0", "method": method, "params": params, **more})

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    with connections(two) as (first, second):
        begun = message(first, "initialize", hello, id=1)
        noted = message(second, "notifications/initialized", {})
        listed = message(second, "tools/list", {}, id=2)
        stored = message(second, "tools/call", {"name": "remember", "arguments": {"evidence": [{"content": "Zoe paints boats."}]}}, id=3)
        found = message(first, "tools/call", {"name": "recall_memory", "arguments": {"query": "Who paints boats?"}}, id=4)

    assert [200, 202, 200, 200, 200] == [answer.status_code for answer in (begun, noted, listed, stored, found)]
    assert "mcp-session-id" not in begun.headers
    assert "recall_memory" in [tool["name"] for tool in listed.json()["result"]["tools"]]
    assert not stored.json()["result"]["isError"]
    assert "Zoe paints boats." in [item["context"] for item in found.json()["result"]["structuredContent"]["results"]]


def test_a_limit_counts_the_calls_of_all_processes(two: Service) -> None:
    """Eight a day, told each second: both refuse after some ten of sixteen. By itself each would have let in eight."""

    with connections(two) as (first, second):
        member = call(first, two, "/v1/admin/list_members", {}).json()["members"][0]["profile_id"]
        made = call(second, two, "/v1/admin/create_key", {"profile_id": member, "name": "limited", "scopes": ["read"]}).json()
        limits = {"credential_id": made["credential_id"], "read": {"per_day": 8}}
        set_to = call(first, two, "/v1/admin/update_limits", limits)
        statuses = []
        for _ in range(4):
            for client in (first, first, second, second):
                statuses.append(call(client, two, "/v1/recall_memory", {"query": "x"}, made["key"]).status_code)
            time.sleep(1.5)

    assert 200 == set_to.status_code, set_to.text
    assert 8 <= statuses.count(200) <= 12
    assert [429] * 4 == statuses[-4:]


def test_an_echo_is_known_where_it_was_not_recalled(two: Service) -> None:
    """What one process recalled the other knows some seconds later, not half a minute."""

    with connections(two) as (first, second):
        source = remember(first, two, SAID)["evidence_id"]
        call(first, two, "/v1/recall_memory", {"query": SAID})
        echoes: list[str] = []
        for turn in range(20):
            echoes = remember(second, two, f"Time {turn}, I recall that {SAID}").get("echo_of", [])
            if echoes:
                break
            time.sleep(1)

    assert [source] == echoes


def test_each_process_says_which_numbers_are_its_own(two: Service) -> None:
    """Its own samples have its number; those of the database are the same from both and have none."""

    with connections(two) as (first, second):
        texts = [client.get("/metrics").text for client in (first, second)]

    for number, text in zip("12", texts, strict=True):
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        own = {line.split("{")[0].split(" ")[0] for line in lines if f'process="{number}"' in line}
        assert "commonlore_requests_total" in own and "commonlore_pool_connections" in own
        assert not [line for line in lines if "process=" in line and f'process="{number}"' not in line]
        assert {"commonlore_jobs", "commonlore_oldest_pending_job_seconds"} <= {line.split("{")[0] for line in lines if "process=" not in line}


def test_a_killed_process_has_a_successor(two: Service) -> None:
    """Meanwhile every new connection is answered by the other."""

    killed = two.facts["api_pids"][1]
    os.kill(killed, signal.SIGKILL)
    psutil.wait_procs([child for child in psutil.Process(two.process.pid).children() if child.pid == killed], timeout=30)
    statuses = []
    for _ in range(5):
        with httpx.Client(base_url=two.url, timeout=60, trust_env=False) as client:
            statuses.append(call(client, two, "/v1/recall_memory", {"query": "x"}).status_code)
    with connections(two) as (first, second):
        answers = [call(client, two, "/v1/recall_memory", {"query": "x"}).status_code for client in (first, second)]
    children = {child.pid for child in psutil.Process(two.process.pid).children() if "sibling" in " ".join(child.cmdline())}

    assert [200] * 5 == statuses
    assert [200, 200] == answers
    assert 1 == len(children) and killed not in children


def test_a_stop_ends_all_the_worker_after_the_api(base: Path, start: Begin) -> None:
    """A process of the API never outlives the worker; the database ends last, and the exit code is 0."""

    home = base / "stopped"
    service = begin_two(start, home)
    sibling, worker = (psutil.Process(pid) for pid in (service.facts["api_pids"][1], service.facts["worker_pid"]))
    service.process.send_signal(signal.SIGINT)
    too_early = False
    while sibling.is_running() or worker.is_running():
        too_early |= not worker.is_running() and sibling.is_running() and sibling.status() != psutil.STATUS_ZOMBIE
        time.sleep(0.002)
    code = service.stop()

    assert (False, 0) == (too_early, code)
    assert not EmbeddedPostgres(home).status().running


def test_the_processes_end_with_a_parent_that_was_killed(base: Path, start: Begin) -> None:
    """kill -9 leaves none that holds the port: the next start listens on it again. They run at the priority of their parent."""

    home = base / "orphans"
    service = begin_two(start, home)
    sibling = psutil.Process(service.facts["api_pids"][1])
    niceness = sibling.nice()
    service.stop(signal.SIGKILL)
    sibling.wait(timeout=30)
    again = start(home, "--port", service.url.rsplit(":", 1)[1])
    code = again.stop()

    assert os.nice(0) == niceness
    assert (service.url, 0) == (again.url, code)


def test_more_connections_than_the_database_has_are_refused(base: Path, run: Run) -> None:
    """Before anything starts, with a number that fits."""

    refused = run(base / "never", "up", "--processes", "8")

    assert 1 == refused.returncode
    assert "set COMMONLORE_POOL_SIZE to 5 or less" in refused.stderr
    assert not (base / "never").exists()
