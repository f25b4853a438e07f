"""The published client `densemem` 2.7.0, unchanged and in an environment of its own, against the real service."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from commonlore.domain.tenancy.key import mint
from tests.support.databases import clone, drop
from tests.support.memory import Holder
from tests.support.server import Service, running_service

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".test-environments" / "densemem"
SCRIPT = Path(__file__).with_name("densemem_script.py")
TEXT = "Mark Huang works on Dense-Mem."
RELATIONSHIP = {
    "ref": "r1",
    "subject": {"name": "Mark Huang", "entity_kind": "person"},
    "predicate": {"proposed_key": "works on"},
    "object": {"entity": {"name": "Dense-Mem", "entity_kind": "project"}},
    "polarity": "+",
    "evidence_indices": [0],
}


def request_of(key: str, text: str = TEXT, *, relationships: tuple[dict[str, Any], ...] = (RELATIONSHIP,)) -> dict[str, Any]:
    return {"target_space": "team_shared", "idempotency_key": key, "evidence": [{"content": text}], "relationships": list(relationships)}


Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of the client's environment; made here when the Makefile has not made it.

    Where it cannot be made, the tests are skipped, except in CI.
    """
    given = os.environ.get("COMMONLORE_TEST_DENSEMEM")
    if given:
        return str(Path(given) / "bin" / "python")
    ENVIRONMENT.parent.mkdir(exist_ok=True)
    with (ENVIRONMENT.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes of tests one makes it
        if not (ENVIRONMENT / ".installed").exists():
            try:
                _install()
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                if os.environ.get("CI"):
                    raise
                pytest.skip(f"the environment of the published client cannot be made here: {error}")
    return str(ENVIRONMENT / "bin" / "python")


def _install() -> None:
    """Every package checked against its hash."""
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True, capture_output=True, timeout=120)
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    locked = ["--require-hashes", "-r", str(ROOT / "requirements" / "densemem-client.txt")]
    subprocess.run([*pip, *locked], check=True, capture_output=True, timeout=600)
    (ENVIRONMENT / ".installed").touch()


@pytest.fixture(scope="module")
def service(template: str) -> Iterator[Service]:
    database = clone(template)
    with running_service(database) as running:
        yield running
    drop(database.name)


@pytest.fixture
def ann(service: Service) -> Holder:
    """A member of a team of this test's own."""
    return service.key(team=f"team-{uuid4().hex[:8]}")


@pytest.fixture(scope="module")
def process(python: str) -> Iterator[subprocess.Popen[str]]:
    """The client's process, one for all tests: starting it takes two seconds."""
    with subprocess.Popen(
        [python, "-I", "-W", "ignore", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=SCRIPT.parent
    ) as running:
        yield running
        assert running.stdin is not None
        running.stdin.close()
        running.wait(20)


@pytest.fixture(params=["sync", "async"])
def ask(process: subprocess.Popen[str], service: Service, request: pytest.FixtureRequest) -> Ask:
    """Runs steps with the client of either kind; gives an answer a step."""

    def run(token: str, *steps: tuple[str, Any], path: str = "/mcp") -> list[dict[str, Any]]:
        assert process.stdin is not None and process.stdout is not None
        asked = {"endpoint": service.url + path, "token": token, "mode": request.param, "steps": steps}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "2.7.0" == answer["version"]
        answers: list[dict[str, Any]] = answer["answers"]
        assert len(steps) == len(answers)
        return answers

    return run


def errors_of(answers: list[dict[str, Any]]) -> list[Any]:
    return [answer.get("error") for answer in answers]


@pytest.mark.parametrize("of_team", [False, True], ids=["/mcp", "/teams/{team}/mcp"])
def test_the_client_works_from_handshake_to_trace(ask: Ask, ann: Holder, of_team: bool) -> None:
    """initialize, list_tools, remember, recall_memory and trace_memory, each in the client's own types."""
    path = f"/teams/{ann.team_id}/mcp" if of_team else "/mcp"

    answers = ask(
        ann.text,
        ("initialize", None),
        ("list_tools", None),
        ("remember", request_of("k1")),
        ("recall_memory", {"query": "Who works on Dense-Mem?", "limit": 5, "known_evidence_ids": [], "valid_at": None}),
        ("recall_memory", {"query": "unrelated words", "known_evidence_ids": ["$evidence"], "relationship_limit": 3, "community_limit": 0}),
        ("trace_memory", {"relationship_id": "$relationship", "include_evidence_content": True, "max_depth": 1, "topic": None}),
        path=path,
    )

    assert [None] * 6 == errors_of(answers)
    hello, listed, remembered, recalled, _, traced = (answer["result"] for answer in answers)
    assert "commonlore" == hello["serverInfo"]["name"]
    assert {"remember", "recall_memory", "trace_memory"} <= {tool["name"] for tool in listed["tools"]}
    assert ["stored"] == [item["disposition"] for item in remembered["relationship_results"]]
    assert (TEXT, "team_shared") == (recalled["results"][0]["context"], recalled["results"][0]["space_kind"])
    assert remembered["relationship_results"][0]["splits"][0]["relationship_id"] == traced["relationship"]["relationship_id"]
    assert [TEXT] == [item["content"] for item in traced["evidence"]]


def test_a_private_text_is_private(ask: Ask, service: Service, ann: Holder) -> None:
    """`private` comes back as such, and another member of the team does not see it."""
    request = {**request_of("k1", "The safe is behind the clock.", relationships=()), "target_space": "private"}
    team = next(name for name, team_id in service._teams.items() if team_id == ann.team_id)

    mine = ask(ann.text, ("remember", request), ("recall_memory", {"query": "safe clock"}))
    theirs = ask(service.key(team=team).text, ("recall_memory", {"query": "safe clock"}))

    assert [None, None, None] == errors_of(mine + theirs)
    assert ["private"] == [item["space_kind"] for item in mine[1]["result"]["results"]]
    assert [] == theirs[0]["result"]["results"]


def test_the_same_request_again_is_answered_with_the_first_answer(ask: Ask, ann: Holder) -> None:
    """Under the same key nothing is stored twice; another request under it is refused by its code."""
    first, second, other = ask(
        ann.text, ("remember", request_of("k1")), ("remember", request_of("k1")), ("remember", request_of("k1", "Other words."))
    )

    assert first["result"] == second["result"]
    assert ("DenseMemOperationError", "idempotency_conflict") == (other["error"]["class"], other["error"]["code"])


@pytest.mark.parametrize("case", ["malformed", "unknown team", "wrong secret", "revoked"])
def test_a_wrong_token_is_an_authentication_error(ask: Ask, service: Service, ann: Holder, case: str) -> None:
    """The client raises its own class, with our code; the message repeats no part of the token."""
    if case == "revoked":
        from commonlore.db import tenancy
        from commonlore.db.session import team_transaction
        from commonlore.domain.time import system_clock

        async def revoke() -> None:
            async with team_transaction(service.owner, ann.team_id, timeout_ms=5000) as transaction:
                await tenancy.revoke_key(transaction, ann.credential_id, now=system_clock())

        service.run(revoke())
    swapped = ann.text[:-1] + ("A" if ann.text[-1] != "A" else "B")
    token = {"malformed": "no-key-at-all", "unknown team": mint(uuid4()).text, "wrong secret": swapped, "revoked": ann.text}[case]

    answers = ask(token, ("initialize", None), ("list_tools", None), ("recall_memory", {"query": "x"}), ("remember", request_of("k1")))

    assert [("DenseMemAuthenticationError", "credential_invalid", 401)] * 4 == [
        tuple(error[name] for name in ("class", "code", "status_code")) for error in errors_of(answers)
    ]
    assert token not in json.dumps(answers)


def test_a_token_of_another_team_does_not_open_a_teams_path(ask: Ask, service: Service, ann: Holder) -> None:
    """The path of a team admits its own keys only."""
    stranger = service.key(team=f"team-{uuid4().hex[:8]}")

    error = ask(stranger.text, ("recall_memory", {"query": "x"}), path=f"/teams/{ann.team_id}/mcp")[0]["error"]

    assert ("DenseMemAuthenticationError", "credential_invalid") == (error["class"], error["code"])


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("recall_memory", {"query": "x", "limit": 51}),
        ("recall_memory", {"query": ""}),
        ("recall_memory", {"query": "x", "known_evidence_ids": ["no-uuid"]}),
        ("remember", {**request_of("k1"), "evidence": []}),
        ("remember", {**request_of("k1"), "target_space": "everywhere"}),
        ("trace_memory", {"relationship_id": "no-uuid"}),
    ],
    ids=["limit", "blank", "id", "no evidence", "space", "trace id"],
)
def test_invalid_input_says_what_to_do(ask: Ask, ann: Holder, method: str, request_: dict[str, Any]) -> None:
    """The operation error carries our code, a next action and a remediation."""
    error = ask(ann.text, (method, request_))[0]["error"]

    assert ("DenseMemOperationError", "invalid_input", False) == (error["class"], error["code"], error["retryable"])
    assert error["next_action"]
    assert error["remediation"]
    assert error["correlation_id"]


def test_an_unknown_relationship_is_not_found(ask: Ask, service: Service, ann: Holder) -> None:
    """A relationship that never was and one of another team give the same error."""
    stranger = service.key(team=f"team-{uuid4().hex[:8]}")
    made = ask(stranger.text, ("remember", request_of("k1")))[0]["result"]["relationship_results"][0]["splits"][0]["relationship_id"]

    answers = ask(ann.text, ("trace_memory", {"relationship_id": str(uuid4())}), ("trace_memory", {"relationship_id": made}))

    missing, foreign = ({name: value for name, value in error.items() if name != "correlation_id"} for error in errors_of(answers))
    assert missing == foreign
    assert ("DenseMemOperationError", "not_found", False) == tuple(missing[name] for name in ("class", "code", "retryable"))


def session_of(key: str, *texts: str, **names: Any) -> dict[str, Any]:
    """A request as the client's own adapters make it."""
    events = [{"event_id": f"e{number}", "text": text, "occurred_at": f"2026-07-01T09:0{number}:00Z"} for number, text in enumerate(texts)]
    return {"idempotency_key": key, "framework": "google-adk", "app_name": "app", "user_id": "u", "session_id": "s", "events": events, **names}


def test_a_session_is_taken_in_once_and_found(ask: Ask, service: Service, ann: Holder) -> None:
    """In the client's own types, searchable when the call returns, privately; sent again it is all duplicates."""
    listed, first, second, repeated, found = ask(
        ann.text,
        ("list_tools", None),
        ("ingest_session", session_of("k1", "The safe is behind the clock.", "My cat is called Pixel.")),
        ("ingest_session", session_of("k2", "The safe is behind the clock.", "My cat is called Pixel.", "It is grey.")),
        ("ingest_session", session_of("k1", "The safe is behind the clock.", "My cat is called Pixel.")),
        ("recall_memory", {"query": "Where is the safe?", "limit": 1}),
    )
    team = next(name for name, team_id in service._teams.items() if team_id == ann.team_id)
    theirs = ask(service.key(team=team).text, ("recall_memory", {"query": "safe clock"}))

    assert [None] * 6 == errors_of([listed, first, second, repeated, found, *theirs])
    assert "ingest_session" in [tool["name"] for tool in listed["result"]["tools"]]
    counts = ("accepted_event_count", "duplicate_event_count", "processing_state", "search_state")
    assert [(2, 0, "completed", "current"), (1, 2, "completed", "current")] == [
        tuple(answer["result"][name] for name in counts) for answer in (first, second)
    ]
    assert ["duplicate", "duplicate", "accepted"] == [event["disposition"] for event in second["result"]["events"]]
    assert first["result"] == repeated["result"]
    assert [event["evidence_ids"] for event in first["result"]["events"]] == [event["evidence_ids"] for event in second["result"]["events"][:2]]
    assert ("The safe is behind the clock.", "private") == tuple(found["result"]["results"][0][name] for name in ("context", "space_kind"))
    assert [] == theirs[0]["result"]["results"]


def test_an_event_that_changed_is_a_stated_error(ask: Ask, ann: Holder) -> None:
    """Another text under a known id, another batch under a known key, too many events: each by its code, and nothing is stored."""
    _, changed, reused, many, blank, found = ask(
        ann.text,
        ("ingest_session", session_of("k1", "The safe is behind the clock.")),
        ("ingest_session", session_of("k2", "The safe is behind the door.", "Something new about a heron.")),
        ("ingest_session", session_of("k1", "Another text.", session_id="t")),
        ("ingest_session", session_of("k3", *["x"] * 10, events=[{"event_id": str(number), "text": "x"} for number in range(21)])),
        ("ingest_session", session_of("k4", " ")),
        ("recall_memory", {"query": "heron door"}),
    )

    assert ["event_conflict", "idempotency_conflict", "invalid_input", "invalid_input"] == [
        error["code"] for error in errors_of([changed, reused, many, blank])
    ]
    assert all(error["remediation"] and error["correlation_id"] for error in errors_of([changed, reused, many, blank]))
    assert ["The safe is behind the clock."] == [item["context"] for item in found["result"]["results"]]


def test_hypotheses_are_listed_shown_and_decided(ask: Ask, service: Service, ann: Holder) -> None:
    """The client has no methods for these tools of the contract; its own call of any tool gets answers of the contract's shape."""
    admin = service.key(team=next(name for name, team_id in service._teams.items() if team_id == ann.team_id), scopes=("read", "write", "admin"))
    uses = {**RELATIONSHIP, "predicate": {"proposed_key": "uses"}, "subject": RELATIONSHIP["object"]["entity"]}  # type: ignore[index]
    uses |= {"object": {"entity": {"name": "PostgreSQL", "entity_kind": "product"}}}
    ask(ann.text, ("remember", request_of("k1")), ("remember", request_of("k2", "Dense-Mem uses PostgreSQL.", relationships=(uses,))))
    service.client(admin).post("/v1/admin/update_hypotheses", json={"enabled": True}).raise_for_status()
    service.run(_look(service, ann))

    answers = ask(
        ann.text,
        ("recall_memory", {"query": "What does Mark Huang use?"}),
        ("list_dreams", {"status": "proposed", "limit": 5}),
        ("get_dream", {"hypothesis_id": "$hypothesis"}),
        (
            "resolve_dream_feedback",
            {"hypothesis_id": "$hypothesis", "decision": "confirm_true", "evidence": [{"content": "Mark Huang uses PostgreSQL."}]},
        ),
        ("resolve_dream_feedback", {"hypothesis_id": "$hypothesis", "decision": "reject"}),
        ("get_dream", {"hypothesis_id": str(uuid4())}),
    )

    assert [None] * 4 + ["stale_input", "not_found"] == [error and error["code"] for error in errors_of(answers)]
    recalled, listed, shown, decided = (answer["result"] for answer in answers[:4])
    [item] = listed["dreams"]
    contract = {"hypothesis_id", "subject_entity_id", "predicate_key", "object_entity_id", "statement", "status", "source_relationship_ids"}
    contract |= {"source_evidence_ids", "lane", "generator_kind", "generator_version", "created_at"}
    assert contract <= set(item) and {**item, "rank": 1} == recalled["related_hypotheses"][0]
    assert ("Mark Huang uses PostgreSQL", "graph", "deterministic", None) == (
        *(item[name] for name in ("statement", "lane", "generator_kind")),
        listed["next_cursor"],
    )
    assert [1, 2] == [premise["premise_position"] for premise in shown["derivations"]]
    assert [TEXT, "Dense-Mem uses PostgreSQL."] == [premise["quote"] for premise in shown["derivations"]]
    assert ("changed", "submitted", "completed") == (
        decided["disposition"],
        decided["hypothesis"]["status"],
        decided["submission"]["processing_state"],
    )


async def _look(service: Service, holder: Holder) -> None:
    """One run of the team's shared space, as the worker role."""
    from commonlore.db.assemble import Adapters
    from commonlore.db.session import make_pool, team_transaction
    from commonlore.domain.policy import RankingPolicy
    from commonlore.workers.propose_hypotheses import run_proposal

    pool = make_pool(service.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        async with team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
            rows = await (await transaction.connection.execute("select space_id from commonlore.space where space_kind = 'team_shared'")).fetchall()
        adapters = Adapters(pool=pool, embedder=service.embedder, policy=RankingPolicy(), timeout_ms=10_000)
        assert "completed" == await run_proposal(adapters, team_id=holder.team_id, space_id=rows[0]["space_id"])
    finally:
        await pool.close()
