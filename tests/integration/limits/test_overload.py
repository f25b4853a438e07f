"""A crowd before a small service: every call is served whole or refused before it began. The large form is `tests/bench/overload.py`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg

from tests.support.databases import TestDatabase
from tests.support.server import running_service


def test_what_is_taken_is_stored_and_what_is_refused_is_not(database: TestDatabase) -> None:
    with running_service(database, calls_at_once=3) as service:
        clients = [service.client(service.key(f"team {number % 3}")) for number in range(16)]

        def write(number: int) -> list[tuple[str, int, str]]:
            outcomes = []
            for turn in range(6):
                text = f"Crowd {number} wrote sentence {turn}."
                answer = clients[number].post("/v1/remember", json={"evidence": [{"content": text}]})
                outcomes.append((text, answer.status_code, answer.headers.get("retry-after", "")))
            return outcomes

        with ThreadPoolExecutor(len(clients)) as threads:
            seen = [outcome for outcomes in threads.map(write, range(len(clients))) for outcome in outcomes]
        with psycopg.connect(database.admin_conninfo) as admin:
            stored = sorted(text for (text,) in admin.execute("select content from commonlore.evidence").fetchall())

        statuses = {status for _, status, _ in seen}
        assert {200, 503} == statuses
        assert stored == sorted(text for text, status, _ in seen if status == 200)
        assert {"1", "2", "3"} >= {after for _, status, after in seen if status == 503}
        calm = service.client(service.key())
        for _ in range(50):
            if calm.post("/v1/recall_memory", json={"query": "sentence"}).status_code == 200:
                break
        else:
            raise AssertionError("the service never became calm")
