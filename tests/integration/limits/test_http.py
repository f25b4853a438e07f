"""Limits as callers meet them, by REST and by MCP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonlore.domain.tenancy.key import mint
from tests.support.databases import TestDatabase
from tests.support.memory import Holder
from tests.support.server import Service, running_service
from tests.support.valkey import running_valkey


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        stand_still(running)
        yield running


def stand_still(service: Service) -> None:
    """No token comes back while the test runs, however slow the machine is."""
    at = service.limiter.meter.clock()
    for holder in (service.limiter.meter, service.limiter._by_address, service.limiter._by_prefix):
        holder.clock = lambda: at


def limit(service: Service, admin: Holder, holder: Holder | None = None, **classes: dict[str, int]) -> dict[str, Any]:
    body = {**classes, **({} if holder is None else {"credential_id": str(holder.credential_id)})}
    answer = service.client(admin).post("/v1/admin/update_limits", json=body)
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


def recall(client: httpx.Client, **headers: str) -> httpx.Response:
    return client.post("/v1/recall_memory", json={"query": "zebra"}, headers=headers)


def test_a_call_too_many_is_429_and_says_when(service: Service) -> None:
    admin, ann, ben = service.key(scopes=("read", "write", "admin")), service.key(), service.key()
    limit(service, admin, ann, read={"per_minute": 2, "burst": 2})
    client = service.client(ann)
    answers = [recall(client) for _ in range(4)]

    assert [200, 200, 429, 429] == [answer.status_code for answer in answers]
    assert ['"key-read";r=1;', '"key-read";r=0;'] == [re.sub(r"t=\d+", "", answer.headers["ratelimit"]) for answer in answers[:2]]
    assert '"key-read";q=2;w=60, "team-read";q=240000;w=60' == answers[0].headers["ratelimit-policy"]
    refused = answers[2].json()
    assert ("rate_limited", True, {"limit": "key-read", "quota": 2, "window_s": 60}) == (refused["code"], refused["retryable"], refused["details"])
    assert 1 <= int(answers[2].headers["retry-after"]) == refused["retry_after_seconds"] <= 30
    # Writes are another class, another key of the team has its own, and so has another team.
    assert 200 == client.post("/v1/remember", json={"evidence": [{"content": "A zebra."}]}).status_code
    assert [200, 200] == [recall(service.client(other)).status_code for other in (ben, service.key("borea"))]


def test_mcp_says_the_same_as_a_failed_tool_call(service: Service) -> None:
    admin, ann = service.key(scopes=("read", "write", "admin")), service.key()
    limit(service, admin, ann, read={"per_minute": 1, "burst": 1})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memory", "arguments": {"query": "zebra"}}}
    answers = [service.client(ann).post("/mcp", json=message) for _ in range(2)]

    assert [200, 200] == [answer.status_code for answer in answers]
    results = [answer.json()["result"] for answer in answers]
    assert (False, True) == tuple(result.get("isError", False) for result in results)
    assert ("rate_limited", 429) == (results[1]["structuredContent"]["code"], results[1]["structuredContent"]["status"])
    assert answers[1].headers["ratelimit"].startswith('"key-read";r=0;t=')


def test_a_quota_of_the_team_counts_all_its_keys(service: Service) -> None:
    admin, ann, ben = service.key(scopes=("read", "write", "admin")), service.key(), service.key()
    limit(service, admin, write={"per_day": 3})

    def remember(holder: Holder) -> httpx.Response:
        return service.client(holder).post("/v1/remember", json={"evidence": [{"content": "A zebra."}]})

    answers = [remember(holder) for holder in (ann, ben, ann, ben)]
    assert [200, 200, 200, 429] == [answer.status_code for answer in answers]
    assert ("quota_exceeded", "team-write-day") == (answers[3].json()["code"], answers[3].json()["details"]["limit"])
    assert 1 <= int(answers[3].headers["retry-after"]) <= 86_401
    # A higher quota counts at once where the limits were read too long ago to be sure of them.
    limit(service, admin, write={"per_day": 10})
    service.run(_forget(service))
    assert 200 == remember(ben).status_code


async def _forget(service: Service) -> None:
    """As if five seconds had passed since every key was seen."""
    limiter = service.limiter
    for key, (actor, at) in list(limiter._seen.items()):
        limiter._seen[key] = (actor, at - 5.0)


def test_nobody_counts_against_a_team_that_he_only_names(service: Service) -> None:
    """Forged keys of the team, and its key for another team's address: the team's own calls are as before."""
    admin, ann = service.key(scopes=("read", "write", "admin")), service.key()
    limit(service, admin, read={"per_minute": 3, "burst": 3})
    for _ in range(20):
        forged = service.client(authorization=f"Bearer {mint(ann.team_id).text}")
        assert (401, False) == (recall(forged).status_code, "ratelimit" in recall(forged).headers)

    assert [200, 200, 200, 429] == [recall(service.client(ann)).status_code for _ in range(4)]


def test_keys_that_fail_are_limited_and_say_nothing(service: Service) -> None:
    """By prefix: a wrong secret beside a right prefix and a prefix of nothing are answered alike, before and after. The right key goes on."""
    ann = service.key()
    wrong, nothing = ann.text[:-6] + ("aaaaaa" if ann.text[-6:] != "aaaaaa" else "bbbbbb"), mint(ann.team_id).text
    assert 200 == recall(service.client(ann)).status_code
    seen = []
    for text in (wrong, nothing):
        answers = [recall(service.client(authorization=f"Bearer {text}")) for _ in range(70)]
        statuses = [answer.status_code for answer in answers]
        first = statuses.index(429)
        assert {401} == set(statuses[:first]) and 60 == first
        body = answers[first].json()
        seen.append({name: body[name] for name in ("code", "message", "remediation", "status")})

    assert seen[0] == seen[1]
    assert 200 == recall(service.client(ann)).status_code


def test_limits_off_counts_and_refuses_nobody(database: TestDatabase) -> None:
    with running_service(database, limits="off") as service:
        stand_still(service)
        admin, ann = service.key(scopes=("read", "write", "admin")), service.key()
        limit(service, admin, ann, read={"per_minute": 1, "burst": 1})
        answers = [recall(service.client(ann)) for _ in range(3)]

    assert [200] * 3 == [answer.status_code for answer in answers]
    assert answers[2].headers["ratelimit"].startswith('"key-read";r=0;')


def test_the_loss_of_valkey_is_stated_and_costs_no_call(database: TestDatabase, tmp_path: Path) -> None:
    with running_valkey(tmp_path) as server, running_service(database, redis_url=server.url) as service:
        client = service.client(service.key())
        assert "commonlore-degraded" not in recall(client).headers
        service.run(service.limiter.exchange())
        server.kill()
        answers = []
        for _ in range(3):
            answers.append(recall(client))
            service.run(service.limiter.exchange())
        assert [200] * 3 == [answer.status_code for answer in answers]
        assert "limit_store_unavailable" == recall(client).headers["commonlore-degraded"]
        server.start()
        for _ in range(20):  # a telling of the service's own may have begun before, and end as lost after the first of these
            service.run(service.limiter.exchange())
            if "commonlore-degraded" not in recall(client).headers:
                break
        else:
            pytest.fail("the store answers again, and is stated as lost")


def test_an_administrator_sees_what_counts(service: Service) -> None:
    admin, ann, foreign = service.key(scopes=("read", "write", "admin")), service.key(), service.key("borea")
    found = limit(service, admin, ann, read={"per_minute": 30, "per_day": 5})
    client = service.client(admin)

    assert (30, 30, 5, None) == tuple(found["read"][name] for name in ("per_minute", "burst", "per_day", "per_month"))
    assert {"read": {"per_minute": 30, "per_day": 5}} == found["own"]
    recall(service.client(ann))
    service.run(service.limiter.exchange())
    shown = client.post("/v1/admin/describe_limits", json={"credential_id": str(ann.credential_id)}).json()
    assert (1, 1) == (shown["read"]["calls_today"], shown["read"]["calls_this_month"])
    for body, code in (
        ({"credential_id": str(foreign.credential_id), "read": {}}, "not_found"),
        ({}, "invalid_input"),
        ({"read": {"per_minute": -1}}, "invalid_input"),
        ({"credential_id": str(ann.credential_id), "storage": {"texts": 1}}, "invalid_input"),
    ):
        assert code == client.post("/v1/admin/update_limits", json=body).json()["code"]
    assert 403 == service.client(ann).post("/v1/admin/update_limits", json={"read": {}}).status_code
