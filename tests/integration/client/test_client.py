"""Every tool through the client, sync and async, against the real service."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from commonlore.api.operations import TOOLS
from commonlore.client import AsyncClient, Client, NotAnswered, Retries, ServiceError
from commonlore.client.proposals import RelationshipProposal
from tests.support.databases import TestDatabase
from tests.support.memory import Holder
from tests.support.server import Service, running_service

NOTHING = str(uuid4())
SCOPES = ("read", "write", "admin")


@pytest.fixture
def service(database: TestDatabase) -> Iterator[Service]:
    with running_service(database) as running:
        yield running


class Waiting:
    """An async client whose methods are called as those of a sync one."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client, self._runner = client, runner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **request: Any) -> Any:
            made = method(*arguments, **request)
            return self._runner.run(made) if inspect.isawaitable(made) else self._runner.run(_all(made))  # type: ignore[arg-type]

        return call


async def _all(entries: Any) -> list[Any]:
    return [entry async for entry in entries]


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest, service: Service) -> Iterator[Any]:
    """Makes a client of the kind for a holder."""
    made: list[Any] = []
    with asyncio.Runner() as runner:

        def of(holder: Holder) -> Any:
            if request.param == "sync":
                made.append(Client(service.url, holder.text))
                return made[-1]
            made.append(AsyncClient(service.url, holder.text))
            return Waiting(made[-1], runner)

        yield of
        for client in made:
            runner.run(client.close()) if isinstance(client, AsyncClient) else client.close()


def proposal(text: str, subject: str, target: str) -> dict[str, Any]:
    relationship: RelationshipProposal = {
        "ref": "r",
        "subject": {"name": subject, "entity_kind": "project"},
        "predicate": {"proposed_key": "located_in"},
        "object": {"entity": {"name": target, "entity_kind": "place"}},
        "evidence_indices": [0],
    }
    return {"evidence": [{"content": text}], "relationships": [relationship]}


def refused(call: Any, **request: Any) -> str:
    with pytest.raises(ServiceError) as raised:
        call(**request)
    return raised.value.code


def test_every_tool_answers(service: Service, connect: Any) -> None:
    """The types are what is sent and what comes back; each tool of the table is called, and what is not there is said by its code."""
    called: set[str] = set()
    memory = connect(service.key(scopes=SCOPES))

    def tool(name: str) -> Any:
        called.add(name)
        return getattr(memory, name)

    stored = tool("remember")(**proposal("Orion is located in Lisbon.", "Orion", "Lisbon"))
    relationship_id = stored["relationship_results"][0]["splits"][0]["relationship_id"]
    evidence_id = stored["evidence"][0]["evidence_id"]
    other = memory.remember(evidence=[{"content": "Orion launched in 2025."}, {"content": "Orion launched in 2026."}])
    pair = [{"evidence_id": item["evidence_id"], "start": 0, "end": 5} for item in other["evidence"]]

    session = {"framework": "adk", "app_name": "planner", "user_id": "ada", "session_id": "7"}
    taken = tool("ingest_session")(**session, events=[{"event_id": "e1", "text": "Orion moves in July."}])

    found = tool("recall_memory")(query="Orion", limit=10)
    traced = tool("trace_memory")(relationship_id=UUID(relationship_id))
    contested = tool("contest_evidence")(case_key="year", question="When?", positions=pair, reason="two years")
    decided = tool("resolve_conflict")(conflict_id=contested["conflict_id"], expected_version=1, action="dismiss", reason="both")
    corrected = tool("correct_relationship")(
        relationship_id=relationship_id,
        expected_version=1,
        patch={"object_entity": {"name": "Porto", "entity_kind": "place", "create_if_missing": True}},
    )
    retracted = tool("retract_evidence")(evidence_ids=[evidence_id], reason="a test")

    assert {evidence_id} <= {item["evidence_id"] for item in found["results"]}
    assert 1 == len(taken["events"])
    assert relationship_id == traced["relationship"]["relationship_id"]
    assert ("dismissed", contested["conflict_id"]) == (decided["status"], decided["conflict_id"])
    assert corrected["processing_state"] in ("completed", "rejected")
    assert "retracted" == retracted["evidence"][0]["disposition"]
    assert [] == tool("list_dreams")()["dreams"] == list(memory.each_of_list_dreams())
    assert "not_found" == refused(tool("get_dream"), hypothesis_id=NOTHING)
    assert "not_found" == refused(tool("resolve_dream_feedback"), hypothesis_id=NOTHING, decision="reject", reason="no")
    said = {"recall_event_id": NOTHING, "used": True, "answer_supported": True, "quality": "high"}
    assert "reference_not_found" == tool("submit_recall_session_feedback")(recalls=[said])["reason_code"]
    _answer_a_brief(tool, memory)
    for name in sorted(set(TOOLS) - called):
        _try_its_example(memory, name)


def _try_its_example(memory: Any, name: str) -> None:
    """A tool that nobody wrote a call for: its own example, which may name what is not there."""
    with contextlib.suppress(ServiceError):
        getattr(memory, name)(**TOOLS[name].example)


def _answer_a_brief(tool: Any, memory: Any) -> None:
    """A relationship whose end the text does not carry is a question."""
    memory.remember(**proposal("It is over there.", "Vega", "Madrid"))
    [brief] = [item for item in memory.each_of_list_briefs(limit=1) if item["kind"] == "verify_relationship"]
    listed = tool("list_briefs")(limit=1)
    described = tool("describe_brief")(brief_id=brief["brief_id"])
    claimed = tool("claim_brief")(brief_id=brief["brief_id"])
    released = tool("release_brief")(brief_id=brief["brief_id"], claim_id=claimed["claim_id"], reason="not now")
    again = memory.claim_brief(brief_id=brief["brief_id"])
    answered = tool("submit_verdict")(
        brief_id=brief["brief_id"], claim_id=again["claim_id"], decision="insufficient", reason="neither end stands there", quotes=[]
    )

    assert (1, brief["brief_id"], "open") == (len(listed["briefs"]), described["brief_id"], released["state"])
    assert brief["brief_id"] == answered["brief_id"]


def test_administration_and_pages(service: Service, connect: Any) -> None:
    """Any operation below /v1/admin; every entry of every page once."""
    admin = connect(service.key(scopes=SCOPES))
    for number in range(5):
        admin.administer("add_member", name=f"m{number}", profile_kind="agent")
    names = [member["name"] for member in admin.each("/v1/admin/list_members", {"limit": 2}, "members")]

    assert (6, True) == (len(names), {"m0", "m4"} <= set(names))
    assert "name_taken" == refused(lambda: admin.administer("add_member", name="m0", profile_kind="agent"))


def test_a_repeated_write_is_one(service: Service, connect: Any) -> None:
    """The same key, the same answer; without one each call is another."""
    memory = connect(service.key())
    first, second = (memory.remember(evidence=[{"content": "Zebra."}], idempotency_key="once") for _ in range(2))
    third = memory.remember(evidence=[{"content": "Zebra."}])

    assert first == second
    assert first["submission_id"] != third["submission_id"]


def test_an_answer_that_was_lost_is_asked_for_again(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service stored it and the connection broke: the second try gets the first answer, and one text is stored."""
    ada = service.key()
    lost: list[str] = []
    real = httpx.Client.post

    def post(self: httpx.Client, *arguments: Any, **named: Any) -> httpx.Response:
        answer = real(self, *arguments, **named)
        if not lost:
            lost.append(answer.json()["submission_id"])
            raise httpx.ReadError("the connection broke")
        return answer

    monkeypatch.setattr(httpx.Client, "post", post)
    with Client(service.url, ada.text, retries=Retries(first_s=0.0)) as memory:
        stored = memory.remember(evidence=[{"content": "Zebra."}])
        found = memory.recall_memory(query="Zebra")

    assert lost == [stored["submission_id"]]
    assert 1 == len(found["results"])


def test_a_wrong_key_and_a_wrong_address_are_two_things(service: Service) -> None:
    with Client(service.url, "cl_wrong") as client:
        assert "credential_invalid" == refused(lambda: client.recall_memory(query="x"))
    with Client("http://127.0.0.1:9", "cl_wrong", retries=Retries(tries=1)) as client, pytest.raises(NotAnswered) as raised:
        client.recall_memory(query="x")
    assert not raised.value.reached


async def test_many_calls_at_once_over_one_client(service: Service) -> None:
    ada = service.key()
    async with AsyncClient(service.url, ada.text) as memory:
        stored = await asyncio.gather(*(memory.remember(evidence=[{"content": f"Zebra {number}."}]) for number in range(8)))
        found = await memory.recall_memory(query="Zebra", limit=20)

    assert {item["evidence"][0]["evidence_id"] for item in stored} == {item["evidence_id"] for item in found["results"]}
