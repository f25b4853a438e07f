"""`Server-Timing` on every answer, and the numbers at `/metrics` for who runs the service."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from commonlore.domain.recall.record import STEPS
from tests.support.databases import TestDatabase
from tests.support.edge import KEY, running_edge
from tests.support.embedders import FailingEmbedder
from tests.support.server import Service, running_service

ENTRY = re.compile(r"([a-z_]+);dur=(\d+\.\d\d)")
SECRET = "zebra-telescope"


@pytest.fixture
def measured(database: TestDatabase) -> Iterator[Service]:
    with running_service(database, metrics="on") as service:
        yield service


def read_timing(answer: httpx.Response) -> dict[str, float]:
    entries = [ENTRY.fullmatch(part) for part in answer.headers["server-timing"].split(", ")]
    assert all(entries)
    return {entry[1]: float(entry[2]) for entry in entries if entry is not None}


def value(text: str, line: str) -> float:
    return next((float(row.rpartition(" ")[2]) for row in text.splitlines() if row.startswith(line)), 0.0)


def test_an_answer_says_how_long_its_steps_took(measured: Service) -> None:
    """The whole first, then steps by the names of ARCHITECTURE.md; by MCP as well, and nothing on a failure."""
    client = measured.client(measured.key())
    client.post("/v1/remember", json={"evidence": [{"content": "Ada moved to Lisbon."}]})
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": "Lisbon"}}}

    rest = read_timing(client.post("/v1/recall_memory", json={"query": "Lisbon"}))
    mcp = read_timing(client.post("/mcp", json=call))

    unasked = ("explain", "fall_back", "seed_communities", "rank_communities", "fill_communities")
    assert ["total", *(step for step in STEPS if step not in unasked)] == list(rest) == list(mcp)
    assert rest["total"] >= rest["fetch"] + rest["authenticate"] > 0
    assert "server-timing" not in client.post("/v1/recall_memory", json={"query": ""}).headers
    assert "server-timing" not in measured.client(authorization=f"Bearer {KEY}").post("/v1/recall_memory", json={"query": "x"}).headers


def test_the_numbers_are_totals_without_ids_and_content(measured: Service) -> None:
    """Requests by operation and status, steps, degradations, pool and cache; refusals inside MCP count as what they are."""
    holder = measured.key()
    client, own = measured.client(holder), measured.client()
    client.post("/v1/remember", json={"evidence": [{"content": SECRET}]})
    for _ in range(2):
        client.post("/v1/recall_memory", json={"query": SECRET})
    client.post("/v1/recall_memory", json={"query": ""})
    wrong = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": ""}}}
    client.post("/mcp", json=wrong)
    measured.embedder.inner = FailingEmbedder()
    client.post("/v1/recall_memory", json={"query": "another"})

    text = own.get("/metrics").text

    assert 3 == value(text, 'commonlore_requests_total{operation="recall_memory",status="200"}')
    assert 2 == value(text, 'commonlore_requests_total{operation="recall_memory",status="422"}')
    assert 3 == value(text, 'commonlore_request_seconds_count{operation="recall_memory",status="200"}')
    assert 3 == value(text, 'commonlore_recall_step_seconds_count{step="fetch"}')
    assert 1 == value(text, 'commonlore_degradations_total{code="provider_unavailable",frontier="evidence"}')
    assert (1, 2) == (value(text, 'commonlore_query_vectors_total{source="hits"}'), value(text, 'commonlore_query_vectors_total{source="misses"}'))
    assert 'commonlore_pool_connections{state="idle"}' in text
    labels = set(re.findall(r'(\w+)="[^"]*"', text))
    assert {"operation", "status", "step", "frontier", "code", "state", "source", "le", "queue", "reason"} == labels
    assert None is re.search(r"[0-9a-f]{8}-[0-9a-f]{4}", text)
    assert not any(word in text for word in (SECRET, "atlas", "member-"))


def test_the_queue_is_told_over_all_teams_with_the_age_of_the_oldest(measured: Service) -> None:
    """By queue; how long the oldest job that is due waits, and that nobody takes it."""
    client, own = measured.client(measured.key()), measured.client()
    before = own.get("/metrics").text
    measured.embedder.inner = FailingEmbedder()
    client.post("/v1/remember", json={"evidence": [{"content": SECRET}]})
    with psycopg.connect(measured.database.admin_conninfo, autocommit=True) as connection:
        connection.execute("update procrastinate.procrastinate_events set at = at - interval '100 seconds'")
    text = own.get("/metrics").text

    oldest = 'commonlore_oldest_pending_job_seconds{queue="embedding"}'
    assert 'commonlore_jobs{queue="embedding",state="waiting"} 0.0' in before and f"{oldest} 0.0" in before
    assert 1 == value(text, 'commonlore_jobs{queue="embedding",state="waiting"}')
    assert 100 <= value(text, oldest) <= 130
    assert "commonlore_workers 0.0" in text and "commonlore_worker_silent_seconds" not in text


@pytest.mark.parametrize(
    "headers", [{"authorization": f"Bearer {KEY}"}, {"x-forwarded-for": "10.0.0.1"}, {"forwarded": "for=10.0.0.1"}, {"via": "1.1 proxy"}]
)
def test_a_key_or_a_proxy_does_not_reach_the_numbers(measured: Service, headers: dict[str, str]) -> None:
    """They belong to no team, and a proxy speaks for somebody elsewhere: the answer is that of no route."""

    answer = measured.client(**headers).get("/metrics")

    assert (404, "route_not_found") == (answer.status_code, answer.json()["code"])


async def test_nothing_answers_unless_it_was_switched_on() -> None:
    """By default there is no such route, with a key or without."""
    async with running_edge() as edge, httpx.AsyncClient(base_url=edge.url, timeout=60) as client:
        answers = [await client.get("/metrics", headers=headers) for headers in ({}, {"authorization": f"Bearer {KEY}"})]

    assert [404, 404] == [answer.status_code for answer in answers]
