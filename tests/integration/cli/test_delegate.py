"""`commonlore brief` and `commonlore delegate` against a running service, with a stub in the place of the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from commonlore.api.cli.main import main
from tests.support.briefs import SAYING_TEXT
from tests.support.chat_endpoint import Answer, ChatEndpoint, Raw, Script, chat_endpoint
from tests.support.databases import clone, drop
from tests.support.memory import Holder, a_relationship
from tests.support.server import Service, running_service

_NUMBERS = count()
FOREIGN = "01982f00-0000-7000-8000-00000000abcd"


@dataclass
class World:
    """A service with one pending relationship of Ann's and the text that says it. `worker` is the worker's own key."""

    service: Service
    ann: Holder
    worker: Holder
    brief_id: str
    relationship_id: str
    text_id: str

    def post(self, name: str, **body: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.service.client(self.worker).post(f"/v1/{name}", json=body).json()
        return found

    @property
    def state(self) -> tuple[str, list[str]]:
        found = self.post("describe_brief", brief_id=self.brief_id)
        return found["state"], [event["action"] for event in found["events"]]


@pytest.fixture(scope="module")
def service(template: str) -> Iterator[Service]:
    database = clone(template)
    with running_service(database) as running:
        yield running
    drop(database.name)


@pytest.fixture
def world(service: Service) -> World:
    """In a team of the test's own."""
    team = f"team {next(_NUMBERS)}"
    ann, worker = service.key(team, "Ann"), service.key(team, "worker")
    proposal = a_relationship("Ada", "lives_in", "Lisbon", kinds=("person", "place"))
    answers = [
        service.client(ann).post("/v1/remember", json={"evidence": [{"content": text}], "relationships": relationships}).json()
        for text, relationships in (("She moved there in spring.", [proposal]), (SAYING_TEXT, []))
    ]
    relationship_id = answers[0]["relationship_results"][0]["splits"][0]["relationship_id"]
    return World(service, ann, worker, f"verify_relationship:{relationship_id}:1", relationship_id, answers[1]["evidence"][0]["evidence_id"])


def entailed(brief: dict[str, Any], **change: Any) -> dict[str, Any]:
    """What a careful model says of the one brief."""
    [text] = [item for item in brief["texts"] if "Lisbon" in item["content"]]
    return {"decision": "entailed", "reason": "it says so", "quotes": [{"evidence_id": text["evidence_id"], "quote": SAYING_TEXT}], **change}


def delegate(
    world: World, endpoint: ChatEndpoint, capsys: pytest.CaptureFixture[str], *words: str, key: str | None = None
) -> tuple[int, dict[str, Any]]:
    """One `--once` run; its exit code and its document."""
    options = ("--endpoint", endpoint.url, "--model", "stub-1", "--url", world.service.url, "--key", key or world.worker.text)
    code = main(["delegate", *options, "--once", "--per-minute", "6000", "--timeout", "5", "--json", *words])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def run(world: World, script: Script, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], ChatEndpoint]:
    with chat_endpoint(script) as endpoint:
        code, found = delegate(world, endpoint, capsys, *words)
    assert code == 0, found
    return found, endpoint


def test_a_brief_is_answered_by_the_model(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    found, endpoint = run(world, lambda brief, _: entailed(brief), capsys)

    assert ({"entailed": 1}, 0, 1, 1) == (found["decided"], found["given_back"], found["endpoint_calls"], len(endpoint.asked))
    assert ("decided", ["claimed", "decided", "applied"]) == world.state
    assert "stub-1" == world.post("describe_brief", brief_id=world.brief_id)["events"][1]["detail"]["answered_by"]


def test_the_endpoint_learns_neither_key_nor_claim(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "secret-of-the-model")
    _, endpoint = run(world, lambda brief, _: entailed(brief), capsys, "--endpoint-key-env", "MODEL_KEY")
    [(headers, request)] = endpoint.asked

    sent = json.dumps([headers, request])
    assert ("/v1/chat/completions", "Bearer secret-of-the-model") == (headers["path"], headers.get("Authorization") or headers.get("authorization"))
    assert [] == [word for word in (world.worker.text, "claim_id", str(world.worker.credential_id)) if word in sent]
    assert "stub-1" == request["model"]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("no JSON", "I think that she does live there."),
        ("cut JSON", '{"decision": "entailed", "quotes": ['),
        ("no decision of the brief", {"decision": "merge", "reason": "why not"}),
        ("a quote that does not stand there", {"decision": "entailed", "quotes": [{"evidence_id": "TEXT", "quote": "Ada lives in lisbon"}]}),
        ("an id that is none", {"decision": "entailed", "quotes": [{"evidence_id": "the second text", "quote": "Ada"}]}),
        ("an id that it made up", {"decision": "entailed", "quotes": [{"evidence_id": FOREIGN, "quote": SAYING_TEXT}]}),
        (
            "fields of another decision",
            {"decision": "entailed", "quotes": [{"evidence_id": "TEXT", "quote": SAYING_TEXT}], "keep_entity_id": FOREIGN},
        ),
        ("fields of another type", {"decision": "entailed", "quotes": "Ada lives in Lisbon"}),
    ],
)
def test_a_wrong_answer_is_asked_about_again_with_what_was_wrong(
    world: World, capsys: pytest.CaptureFixture[str], name: str, first: str | dict[str, Any]
) -> None:
    """The service refuses what the worker lets through; the second answer is taken."""

    def script(brief: dict[str, Any], messages: list[dict[str, str]]) -> Answer:
        if len(messages) > 2:
            assert messages[-1]["content"].startswith("This was refused: ")
            return entailed(brief)
        return first if isinstance(first, str) else json.dumps(first).replace("TEXT", world.text_id)

    found, _ = run(world, script, capsys)

    assert ({"entailed": 1}, 2, "decided") == (found["decided"], found["endpoint_calls"], world.state[0])


def test_a_model_that_never_gets_it_right_gives_the_brief_back(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    found, endpoint = run(world, lambda brief, _: entailed(brief, quotes=[{"evidence_id": FOREIGN, "quote": "Ada"}]), capsys, "--tries", "2")

    assert ({}, 1, {"invalid_input": 1}, 2) == (found["decided"], found["given_back"], found["failures"], len(endpoint.asked))
    assert ("open", ["claimed", "released"]) == world.state


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Raw(body=b"<html>busy</html>"), "malformed"),
        (Raw(body=b'{"choices": []}'), "malformed"),
        (Raw(body=b'{"choices": [{"message": {"content": null}}]}'), "malformed"),
        (Raw(status=500), "endpoint_500"),
        (Raw(status=302, headers={"location": "http://127.0.0.1:1/elsewhere"}), "endpoint_302"),
        (Raw(delay_s=1.0), "ReadTimeout"),
    ],
)
def test_an_endpoint_that_fails_leaves_the_brief_to_others(world: World, capsys: pytest.CaptureFixture[str], answer: Raw, code: str) -> None:
    found, _ = run(world, lambda *_: answer, capsys, "--tries", "1", "--timeout", "0.3" if answer.delay_s else "5")

    assert ({code: 1}, ("open", ["claimed", "released"])) == (found["failures"], world.state)


def test_a_busy_endpoint_is_asked_again(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter([Raw(status=429, headers={"retry-after": "0"}), Raw(status=503)])

    found, endpoint = run(world, lambda brief, _: next(answers, None) or entailed(brief), capsys)

    assert ({"entailed": 1}, 3, 3) == (found["decided"], found["endpoint_calls"], len(endpoint.asked))


def test_an_endpoint_that_knows_no_response_format_is_asked_without(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_endpoint(lambda brief, _: entailed(brief)) as endpoint:
        endpoint.answer = lambda brief, _: Raw(status=400) if "response_format" in endpoint.asked[-1][1] else entailed(brief)
        _, found = delegate(world, endpoint, capsys)

    assert ({"entailed": 1}, 2) == (found["decided"], found["endpoint_calls"])


def test_an_endpoint_that_refuses_the_key_stops_the_worker_and_frees_the_brief(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_endpoint(lambda *_: Raw(status=401)) as endpoint:
        code, found = delegate(world, endpoint, capsys)

    assert (1, "delegation_failed", ("open", ["claimed", "released"])) == (code, found["code"], world.state)


def test_a_dry_run_claims_sends_and_decides_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    found, endpoint = run(world, lambda brief, _: entailed(brief), capsys, "--dry-run")

    assert (1, 0, [], ("open", [])) == (found["seen"], found["endpoint_calls"], endpoint.asked, world.state)


def test_a_brief_that_others_hold_is_left_to_them(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert 200 == world.service.client(world.ann).post("/v1/claim_brief", json={"brief_id": world.brief_id}).status_code

    found, endpoint = run(world, lambda brief, _: entailed(brief), capsys)

    assert (0, [], ("claimed", ["claimed"])) == (found["seen"], endpoint.asked, world.state)


def test_what_a_worker_cannot_do_is_said_before_anything_is_sent(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_endpoint(lambda *_: Raw()) as endpoint:
        wrong_key = delegate(world, endpoint, capsys, key=world.worker.text[:-4] + "AAAA")
        unset = delegate(world, endpoint, capsys, "--endpoint-key-env", "NOT_SET_ANYWHERE")
        address = delegate(world, endpoint, capsys, "--endpoint", "ftp://127.0.0.1/v1")
        asked = list(endpoint.asked)

    assert [(1, True)] * 3 == [(code, found["code"] in ("delegation_failed", "settings_invalid")) for code, found in (wrong_key, unset, address)]
    assert [] == asked


def test_a_person_lists_shows_claims_and_decides(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    def brief(*words: str) -> tuple[int, str]:
        code = main(["brief", *words, "--url", world.service.url, "--key", world.ann.text])
        written = capsys.readouterr()
        return code, written.out + written.err

    listed, shown = brief("list"), brief("show", world.brief_id)
    claimed = json.loads(brief("claim", world.brief_id, "--json")[1])
    again = brief("claim", world.brief_id)
    quote = f"{world.text_id}={SAYING_TEXT}"
    words = ("decide", world.brief_id, "--claim", claimed["claim_id"], "--decision", "entailed", "--reason", "read it")
    wrong, right = brief(*words, "--quote", quote + "!"), brief(*words, "--quote", quote)
    after = brief("show", world.brief_id)

    assert [(0, True)] * 2 == [(listed[0], world.brief_id in listed[1]), (shown[0], SAYING_TEXT in shown[1])]
    assert (1, True) == (again[0], "Somebody holds" in again[1] or "somebody holds" in again[1])
    assert (1, 0, True) == (wrong[0], right[0], "remember" in right[1])
    assert (0, True, True) == (after[0], "decided" in after[1], "Ann" in after[1])
