"""`commonlore mcp` as an agent's host starts it, spoken to by the official client, in front of a real service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from commonlore.api.mcp_server import LISTED
from commonlore.api.operations import TOOLS
from tests.support.databases import TestDatabase
from tests.support.memory import Holder
from tests.support.server import Service, running_service

PROGRAM = str(Path(sys.executable).with_name("commonlore"))


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        yield running


@asynccontextmanager
async def session(url: str, key: str, tmp_path: Path, *arguments: str) -> AsyncIterator[ClientSession]:
    environment = {**os.environ, "COMMONLORE_URL": url} | ({"COMMONLORE_KEY": key} if key else {})
    with (tmp_path / "stderr").open("w") as errors:
        async with (
            stdio_client(StdioServerParameters(command=PROGRAM, args=["mcp", *arguments], env=environment), errlog=errors) as (reading, writing),
            ClientSession(reading, writing) as opened,
        ):
            await opened.initialize()
            yield opened


async def test_the_tools_are_those_of_the_service(service: Service, tmp_path: Path) -> None:
    """Listed as over HTTP; what is remembered through one way in is recalled through the other; the diagnostics stay empty."""
    ada = service.key()
    async with session(service.url, ada.text, tmp_path) as opened:
        listed = [tool.name for tool in (await opened.list_tools()).tools]
        stored = await opened.call_tool("remember", {"evidence": [{"content": "Ada moved Orion to Lisbon."}]})
        by_http = service.client(ada).post("/v1/recall_memory", json={"query": "Orion"}).json()
        recalled = await opened.call_tool("recall_memory", {"query": "Orion"})
        unlisted = await opened.call_tool("list_briefs", {})

    assert [name for name in TOOLS if name in LISTED] == listed
    assert (False, 1) == (stored.is_error, len(content(stored)["evidence"]))
    assert by_http["results"] == content(recalled)["results"] != []
    assert [] == content(unlisted)["briefs"]
    assert "" == (tmp_path / "stderr").read_text()


def content(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = result.structured_content
    return found


async def test_a_refusal_is_the_problem_that_rest_answers_with(service: Service, tmp_path: Path) -> None:
    """A wrong field, a scope that is missing, a key that is revoked: an error of the tool with the code, never an end of the process."""
    ada = service.key(scopes=("read",))
    async with session(service.url, ada.text, tmp_path) as opened:
        wrong = await opened.call_tool("recall_memory", {"query": "", "limit": 0})
        forbidden = await opened.call_tool("remember", {"evidence": [{"content": "x"}]})
        by_rest = service.client(ada).post("/v1/recall_memory", json={"query": "", "limit": 0}).json()
        revoke(service, ada)
        revoked = await opened.call_tool("recall_memory", {"query": "x"})

    assert (True, by_rest | {"correlation_id": ""}) == (wrong.is_error, content(wrong) | {"correlation_id": ""})
    assert (True, "unauthorized_scope") == (forbidden.is_error, content(forbidden)["code"])
    assert (True, "credential_invalid") == (revoked.is_error, content(revoked)["code"])


def revoke(service: Service, holder: Holder) -> None:
    admin = service.key(member="root", scopes=("read", "admin"))
    answer = service.client(admin).post("/v1/admin/revoke_key", json={"credential_id": str(holder.credential_id)})
    assert 200 == answer.status_code, answer.text


async def test_a_service_that_is_not_there_is_said(tmp_path: Path) -> None:
    """The process lives on, so that the service may be started later."""
    key = f"cl_{'0' * 32}_{'a' * 12}_{'b' * 52}"
    async with session("http://127.0.0.1:9", key, tmp_path) as opened:
        answer = await opened.call_tool("recall_memory", {"query": "x"})

    assert (True, "not_ready", True) == (answer.is_error, content(answer)["code"], content(answer)["retryable"])
    assert key not in (tmp_path / "stderr").read_text()


async def test_the_key_may_stand_in_a_file(service: Service, tmp_path: Path) -> None:
    """Read once; one that others may read is warned about on standard error."""
    file = tmp_path / "key"
    file.write_text(service.key().text + "\n")
    file.chmod(0o644)
    async with session(service.url, "", tmp_path, "--key-file", str(file)) as opened:
        answer = await opened.call_tool("recall_memory", {"query": "x"})

    assert not answer.is_error
    assert "others may read" in (tmp_path / "stderr").read_text()


@pytest.mark.parametrize("arguments", [["--key", "x"], [], ["--key-file", "absent"]])
def test_without_a_key_it_says_so_on_standard_error(tmp_path: Path, arguments: list[str]) -> None:
    """And a key on the command line is not understood: other users would see it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMMONLORE_")}
    ended = subprocess.run([PROGRAM, "mcp", *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert ("", True, True) == (ended.stdout, ended.returncode in (1, 2), ended.stderr != "")


class Raw:
    """The process by its lines, as a host that is none of the SDK's would use it."""

    def __init__(self, url: str, key: str) -> None:
        environment = {**os.environ, "COMMONLORE_URL": url, "COMMONLORE_KEY": key}
        self.process = subprocess.Popen([PROGRAM, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        self.send(json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}))
        self.hello = self.read()
        self.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


def test_every_line_is_a_message_and_the_end_of_the_input_is_the_end(service: Service) -> None:
    """Nothing else reaches standard output, from the first start to the last line; the exit code is 0."""
    ada = service.key()
    with Raw(service.url, ada.text) as raw:
        raw.send('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": "x"}}}')
        answer = raw.read()
        rest, _ = raw.process.communicate(timeout=30)

    assert ("2.0", "hello", "commonlore") == (raw.hello["jsonrpc"], raw.hello["id"], raw.hello["result"]["serverInfo"]["name"])
    assert (1, False) == (answer["id"], answer["result"]["isError"])
    assert (b"", 0) == (rest, raw.process.returncode)


def test_what_cannot_be_read_keeps_nobody_from_being_answered(service: Service) -> None:
    """Garbage, arguments that are nested 100 or 100,000 deep, a line of two million characters: each is answered, and so is what comes after.

    A line that cannot be read as a message has an error without an id, in its place.
    """
    deep = '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": %s}}}'
    with Raw(service.url, service.key().text) as raw:
        raw.send("no message")
        unread = [raw.read()]
        raw.send(deep % (1, "[" * 100 + "]" * 100))
        first = raw.read()
        raw.send(deep % (2, "[" * 100_000 + "]" * 100_000))
        unread.append(raw.read())
        raw.send(deep % (3, json.dumps("x" * 2_000_000)))
        raw.send('{"jsonrpc": "2.0", "id": 4, "method": "ping"}')
        found: dict[Any, Any] = {}
        while not {3, 4} <= found.keys():
            answer = raw.read()
            found[answer.get("id")] = answer

    assert [("2.0", None, -32700)] * 2 == [(answer["jsonrpc"], answer["id"], answer["error"]["code"]) for answer in unread]
    assert (1, True, "malformed_body") == (first["id"], first["result"]["isError"], first["result"]["structuredContent"]["code"])
    assert (True, "invalid_input") == (found[3]["result"]["isError"], found[3]["result"]["structuredContent"]["code"])
    assert {} == found[4]["result"]


def test_requests_that_nobody_reads_for_a_while_are_answered_once_each(service: Service) -> None:
    """A thousand of them: no deadlock, whoever is slow."""
    with Raw(service.url, service.key().text) as raw:
        sender = threading.Thread(target=lambda: [raw.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"})) for number in range(1000)])
        sender.start()
        time.sleep(2)
        ids = [raw.read()["id"] for _ in range(1000)]
        sender.join(30)

    assert list(range(1000)) == sorted(ids)
