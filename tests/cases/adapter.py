"""The one adapter between the cases of `tests/data/cases/cases.jsonl` and the running service.

The cases speak of another system. Here: ingest is `remember`, text is `evidence.content`, external_id is `source_key` with a
`source_revision`, a private text has `target_space: private`, "embedder off" is an embedder that cannot be reached, and
"sql_as app" is the serving role. Every answer that passes through is read by a strict JSON parser, and a refusal may
contain nothing of the machinery.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID, uuid4

import httpx
import psycopg
from psycopg.rows import TupleRow

from commonlore.domain.ports import Embedder
from tests.support.databases import clone, drop
from tests.support.embedders import FailingEmbedder
from tests.support.memory import Holder
from tests.support.server import Service, running_service

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "data" / "cases" / "cases.jsonl"

Check = Callable[["World"], None]


@dataclass(frozen=True)
class Case:
    id: str
    area: str
    input: dict[str, Any]
    expectation: str


CASES: dict[str, Case] = {case["id"]: Case(**case) for case in map(json.loads, FILE.read_text("utf-8").splitlines())}
RUN: dict[str, Check] = {}
REFUSED: dict[str, tuple[str, Check]] = {}
"""Why our contract answers otherwise, and the check that it answers as it says."""


def case(case_id: str) -> Callable[[Check], Check]:
    """Register the check of a case."""

    def register(check: Check) -> Check:
        assert case_id in CASES, case_id
        assert case_id not in RUN | REFUSED, case_id
        RUN[case_id] = check
        return check

    return register


def refused(case_id: str, reason: str) -> Callable[[Check], Check]:
    """Register the check of what we answer instead."""

    def register(check: Check) -> Check:
        assert case_id in CASES, case_id
        assert case_id not in RUN | REFUSED, case_id
        REFUSED[case_id] = (reason, check)
        return check

    return register


LEAK = re.compile(r"SQLSTATE|psycopg|Traceback|/site-packages/|\.py\b|\bselect\b|commonlore\.(?!problem)\w+|row[- ]level", re.IGNORECASE)


def _strict_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a name twice: {names}"
    return dict(pairs)


def _no_constant(text: str) -> NoReturn:
    raise AssertionError(f"{text} is no JSON")


def read_strictly(body: bytes) -> Any:
    """JSON without duplicate names, NaN and infinities, in strict UTF-8."""
    return json.loads(body.decode("utf-8", "strict"), object_pairs_hook=_strict_pairs, parse_constant=_no_constant)


def observe(answer: httpx.Response) -> httpx.Response:
    """What holds for every answer of the service."""
    assert answer.status_code not in (500, 502), answer.text
    if answer.content and "json" in answer.headers.get("content-type", ""):
        read_strictly(answer.content)
    if answer.status_code >= 400:
        assert LEAK.search(answer.text) is None, answer.text
        assert "text/html" not in answer.headers.get("content-type", "")
    return answer


@dataclass
class Actor:
    """A member of a team with its client."""

    holder: Holder
    http: httpx.Client

    def post(self, path: str, body: Any = None, *, raw: str | bytes | None = None, **headers: str) -> httpx.Response:
        content = json.dumps(body).encode() if raw is None else raw.encode() if isinstance(raw, str) else raw
        return observe(self.http.post(path, content=content, headers={"content-type": "application/json", **headers}))

    def get(self, path: str) -> httpx.Response:
        return observe(self.http.get(path))

    def _ok(self, tool: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.post(f"/v1/{tool}", body)
        assert 200 == answer.status_code, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def remember(self, **body: Any) -> dict[str, Any]:
        return self._ok("remember", body)

    def ingest(self, text: str, *, relationships: list[dict[str, Any]] | None = None, private: bool = False, **fields: Any) -> dict[str, Any]:
        """One text; `fields` are those of the evidence, `private` its space."""
        space = "private" if private else "team_shared"
        return self.remember(evidence=[{"content": text, **fields}], relationships=relationships or [], target_space=space)

    def ingest_all(self, texts: list[str], **fields: Any) -> None:
        """Many texts, twenty a call."""
        for start in range(0, len(texts), 20):
            self.remember(evidence=[{"content": text, **fields} for text in texts[start : start + 20]])

    def recall(self, query: str, **body: Any) -> dict[str, Any]:
        return self._ok("recall_memory", {"query": query, **body})

    def contexts(self, query: str, **body: Any) -> list[str]:
        return [item["context"] for item in self.recall(query, **body)["results"]]

    def trace(self, relationship_id: str, **body: Any) -> dict[str, Any]:
        return self._ok("trace_memory", {"relationship_id": relationship_id, **body})

    def mcp(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool call over MCP."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answer = self.post("/mcp", message, accept="application/json, text/event-stream")
        assert 200 == answer.status_code, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result


def split_of(answer: dict[str, Any], place: int = 0) -> dict[str, Any]:
    """The first stored relationship of a proposal."""
    split: dict[str, Any] = answer["relationship_results"][place]["splits"][0]
    return split


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and the pointer of the first wrong field of a refusal."""
    body = answer.json()
    return answer.status_code, body["code"], body.get("errors", [{}])[0].get("pointer", "")


@dataclass
class World:
    """What a check may use: the service, teams of its own, and both roles of the database."""

    case: Case
    service: Service
    template: str
    folder: Path
    _actors: dict[tuple[str, str | None], Actor] = field(default_factory=dict)
    _mark: str = field(default_factory=lambda: uuid4().hex[:12])

    @property
    def given(self) -> dict[str, Any]:
        return self.case.input

    def actor(self, team: str = "A", member: str | None = None, **key: Any) -> Actor:
        """The member of a team that only this case has; the same again for the same names."""
        if (team, member) not in self._actors:
            holder = self.service.key(f"{self._mark} {team}", member, **key)
            self._actors[team, member] = Actor(holder, self.service.client(holder))
        return self._actors[team, member]

    @contextlib.contextmanager
    def embedder(self, inner: Embedder) -> Iterator[None]:
        """Another embedder behind the service for the length of the block."""
        before, self.service.embedder.inner = self.service.embedder.inner, inner
        try:
            yield
        finally:
            self.service.embedder.inner = before

    def embedder_off(self) -> contextlib.AbstractContextManager[None]:
        return self.embedder(FailingEmbedder())

    @contextlib.contextmanager
    def own(self, embedder: Embedder | None = None, **settings: Any) -> Iterator[World]:
        """The same with a service and a database of its own."""
        database = clone(self.template)
        try:
            with running_service(database, embedder, **settings) as service:
                yield World(self.case, service, self.template, self.folder)
        finally:
            drop(database.name)

    @contextlib.contextmanager
    def admin(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """A superuser's connection in autocommit."""
        with psycopg.connect(self.service.database.admin_conninfo, autocommit=True) as connection:
            yield connection

    @contextlib.contextmanager
    def app(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """The serving role's connection in autocommit, without a team."""
        with psycopg.connect(self.service.database.serving_conninfo, autocommit=True) as connection:
            yield connection

    def tenant_tables(self) -> list[str]:
        """Every table under row security that the serving role may read."""
        with self.admin() as connection:
            rows = connection.execute(
                "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                "where n.nspname = 'commonlore' and c.relkind in ('r', 'p') and c.relrowsecurity "
                "and has_table_privilege('commonlore_app', c.oid, 'select') order by 1"
            ).fetchall()
        return [str(row[0]) for row in rows]


def in_team(connection: psycopg.Connection[TupleRow], team: UUID | str) -> None:
    """Fix the team of the open transaction, as the service does."""
    connection.execute("select set_config('commonlore.team_id', %s, true)", (str(team),))
