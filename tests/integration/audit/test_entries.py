"""Every way in and every change: who did it is in the log, in the same transaction, and nothing of what was said is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

import commonlore.db
from commonlore.api.admin import ADMIN
from commonlore.api.operations import TOOLS
from commonlore.db.acting import acting, operators_act
from commonlore.db.session import actor_transaction, team_transaction
from commonlore.domain.errors import CommonloreError, Conflict, NotVisible
from tests.support.audit import Entry, entries
from tests.support.conflicts import contest
from tests.support.databases import clone, drop
from tests.support.hypotheses import dream, dreaming, dreams
from tests.support.memory import Holder, Memory, a_relationship
from tests.support.server import Service, running_service

ALL = ("read", "write", "admin", "destroy")
READS = frozenset(name for name in ADMIN if name.startswith(("list_", "describe_", "read_"))) | {"why_not"}


@pytest.fixture(scope="module")
def service(template: str) -> Iterator[Service]:
    made = clone(template)
    with running_service(made) as running:
        yield running
    drop(made.name)


def ask(service: Service, holder: Holder, path: str, body: dict[str, Any]) -> tuple[httpx.Response, list[Entry]]:
    """The answer, and what the log says of this very request."""
    correlation = f"audit-{uuid4()}"
    answer = service.client(holder, **{"x-correlation-id": correlation}).post(path, json=body)
    return answer, entries(service.database, holder.team_id, correlation=correlation)


@pytest.mark.parametrize("name", sorted(ADMIN))
def test_whoever_may_not_is_in_the_log(service: Service, name: str) -> None:
    """For every operation of administrators, those of the next version too: this walks their table."""

    holder = service.key("refused", "mallory", scopes=("read", "write"))
    answer, [entry, *more] = ask(service, holder, ADMIN[name].path, dict(ADMIN[name].example))

    assert (403, "denied", "unauthorized_scope", []) == (answer.status_code, entry.outcome, entry.code, [item for item in more if item.act != name])
    assert (name, "credential", holder.profile_id, holder.credential_id) == (entry.act, entry.actor_kind, entry.profile_id, entry.credential_id)


@pytest.mark.parametrize("name", sorted(ADMIN.keys() - READS))
def test_no_operation_of_administrators_leaves_the_log_empty(service: Service, name: str) -> None:
    """Done or refused, by the example of its page: one entry at least, and it says which."""

    holder = service.key(f"team-{name}", "boss", scopes=ALL)
    answer, found = ask(service, holder, ADMIN[name].path, dict(ADMIN[name].example))

    assert {(name, "done" if answer.status_code == 200 else "refused")} == {(entry.act, entry.outcome) for entry in found}, answer.text
    assert {None if answer.status_code == 200 else answer.json()["code"]} == {entry.code for entry in found}
    assert {ADMIN[name].example.get("reason")} == {entry.reason for entry in found}


def writes(service: Service) -> Iterator[tuple[str, dict[str, Any], Holder]]:
    """One call of each tool that writes, each with what it needs."""
    ann = service.key("tools", "ann", scopes=ALL)
    client = service.client(ann)

    def stored(content: str, *relationships: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = client.post("/v1/remember", json={"evidence": [{"content": content}], "relationships": list(relationships)}).json()
        return found

    yield "remember", {"evidence": [{"content": "A zebra stood there."}]}, ann
    yield "retract_evidence", {"evidence_ids": [stored("A mistake.")["evidence"][0]["evidence_id"]], "reason": "a zebra was said"}, ann
    yield "ingest_session", dict(TOOLS["ingest_session"].example), ann
    client.post("/v1/admin/update_feedback", json={"enabled": True})
    kept = client.post("/v1/recall_memory", json={"query": "zebra"}).json()["recall_id"]
    said = {"recall_event_id": kept, "used": True, "answer_supported": True, "quality": "high"}
    yield "submit_recall_session_feedback", {"recalls": [said]}, ann
    texts = [stored(f"Orion launched in {year}.")["evidence"][0]["evidence_id"] for year in (2025, 2026)]
    positions = [{"evidence_id": key, "start": 0, "end": 23} for key in texts]
    contested = {"case_key": "year", "question": "When was Orion launched?", "positions": positions, "reason": "two zebras"}
    yield "contest_evidence", contested, ann
    case = client.post("/v1/admin/list_conflicts", json={}).json()["conflicts"][0]
    yield "resolve_conflict", {"conflict_id": case["conflict_id"], "expected_version": case["version"], "action": "dismiss", "reason": "both"}, ann
    said = stored("Mark works on Borealis.", a_relationship("Mark", "works_on", "Borealis"))
    split = said["relationship_results"][0]["splits"][0]
    patch = {"polarity": "-"}
    corrected = {"relationship_id": split["relationship_id"], "expected_version": split["relationship_version"], "patch": patch, "reason": "x"}
    yield "correct_relationship", corrected, ann
    for name in ("Ada", "Eve", "Mia"):
        stored(f"{name[0]}. moved there in spring.", a_relationship(name, "lives_in", "Lisbon", kinds=("person", "place")))
    briefs = [item["brief_id"] for item in client.post("/v1/list_briefs", json={}).json()["briefs"]]
    yield "claim_brief", {"brief_id": briefs[0]}, ann
    held = {"brief_id": briefs[1], "claim_id": client.post("/v1/claim_brief", json={"brief_id": briefs[1]}).json()["claim_id"]}
    yield "release_brief", {**held, "reason": "no zebra"}, ann
    held = {"brief_id": briefs[2], "claim_id": client.post("/v1/claim_brief", json={"brief_id": briefs[2]}).json()["claim_id"]}
    yield "submit_verdict", {**held, "decision": "insufficient", "reason": "no name"}, ann
    proposed = asyncio.run(a_hypothesis(service, ann))
    yield "resolve_dream_feedback", {"hypothesis_id": proposed, "decision": "reject", "reason": "no zebra"}, ann
    yield from promotions(service, ann, client)


async def a_hypothesis(service: Service, holder: Holder) -> str:
    """Proposed by a worker's run over what its holder stored."""
    async with Memory.open(service.database) as memory:
        await memory.relate(holder, "Quokka works on Ledger.", "Quokka", "works_on", "Ledger", kinds=("project", "project"))
        await memory.relate(holder, "Ledger uses Kafka.", "Ledger", "uses", "Kafka", kinds=("project", "product"))
        await dreaming(memory, holder)
        assert "completed" == await dream(memory, holder)
        return str((await dreams(memory, holder))[0]["hypothesis_id"])


def promotions(service: Service, ann: Holder, client: httpx.Client) -> Iterator[tuple[str, dict[str, Any], Holder]]:
    """A text is promoted and taken back; what another member asks to have reviewed is decided by one who administers."""

    def private(asking: httpx.Client, content: str) -> str:
        [stored] = asking.post("/v1/remember", json={"evidence": [{"content": content}], "target_space": "private"}).json()["evidence"]
        return str(stored["evidence_id"])

    yield "promote_evidence", {"evidence_ids": [private(client, "A zebra is private.")], "reason": "zebras for all"}, ann
    mine = {"evidence_ids": [private(client, "Another zebra is private.")]}
    revoked = client.post("/v1/promote_evidence", json=mine).json()["promotion_id"]
    yield "revoke_promotion", {"promotion_id": revoked, "reason": "no zebra"}, ann
    bob = service.client(service.key("tools", "bob"))
    asked = bob.post("/v1/promote_evidence", json={"evidence_ids": [private(bob, "Bob saw a zebra.")], "review": True}).json()["promotion_id"]
    yield "decide_promotion", {"promotion_id": asked, "decision": "approve", "reason": "as an administrator said"}, ann


def test_no_tool_that_writes_leaves_the_log_empty(service: Service) -> None:
    """Every tool of the table that is not read only, at its first success."""

    seen = {}
    for name, body, holder in writes(service):
        answer, found = ask(service, holder, f"/v1/{name}", body)
        assert 200 == answer.status_code, (name, answer.text)
        seen[name] = {(entry.act, entry.outcome, entry.profile_id) for entry in found}

    assert {name: {(name, "done", service._members[holder.team_id, "ann"])} for name in seen} == seen
    assert {name for name, spec in TOOLS.items() if not spec.read_only} == seen.keys()


def test_the_log_holds_no_text_and_no_key(service: Service) -> None:
    """What agents say as a reason stays with the rows that they wrote; an administrator's reason is part of the log."""

    with psycopg.connect(service.database.admin_conninfo) as connection:
        [[text]] = connection.execute("select coalesce(string_agg(to_jsonb(e)::text, ' '), '') from commonlore.audit_entry e").fetchall()

    assert [] == re.findall(r"zebra|Orion|Borealis|clk_|mallory", text)


def test_a_call_over_mcp_is_named_alike(service: Service) -> None:
    holder = service.key("tools", "ann", scopes=ALL)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": {"evidence": [{"content": "By MCP."}]}}}
    headers = {"x-correlation-id": "by-mcp", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    answer = service.client(holder, **headers).post("/mcp", json=call)

    assert 200 == answer.status_code, answer.text
    assert ["remember"] == [entry.act for entry in entries(service.database, holder.team_id, correlation="by-mcp")]


async def rename_and_fail(memory: Memory, holder: Holder, error: CommonloreError) -> None:
    """A transaction of the holder that writes and then fails."""
    async with actor_transaction(memory.adapters.pool, holder.key, clock=memory.clock, timeout_ms=5_000) as (_, transaction):
        await transaction.connection.execute("update commonlore.profile set name = 'Gone'")
        raise error


async def test_each_subject_has_an_entry(memory: Memory) -> None:
    """By id, once, in the order of the request; a repeated call that writes nothing adds none."""

    ann = await memory.key(scopes=ALL)
    ids = await memory.remember_all(ann, ["One.", "Two."])
    before = len(entries(memory.database, ann.team_id))
    await memory.retract(ann, *ids, idempotency_key="k")
    added = entries(memory.database, ann.team_id)[before:]
    await memory.retract(ann, *ids, idempotency_key="k")

    assert [("unnamed", "submission")] == [(entry.act, entry.subject_kind) for entry in added]  # called from within, past every way in
    assert before + 1 == len(entries(memory.database, ann.team_id))


async def test_nothing_is_logged_that_did_not_happen(memory: Memory) -> None:
    """Reads, transactions that wrote nothing, and those that were rolled back."""

    ann = await memory.key()
    before = len(entries(memory.database))
    await memory.recall(ann, "anything")
    async with actor_transaction(memory.adapters.pool, ann.key, clock=memory.clock, timeout_ms=5_000) as (_, transaction):
        await transaction.connection.execute("select 1")
    with pytest.raises(Conflict):
        await rename_and_fail(memory, ann, Conflict("stale_input", "a test"))

    assert before == len(entries(memory.database))


async def test_whatever_the_holder_of_a_key_writes_is_logged(memory: Memory) -> None:
    """One mechanism at the transaction: a change that no operation of ours makes is in the log all the same."""

    ann = await memory.key()
    async with actor_transaction(memory.adapters.pool, ann.key, clock=memory.clock, timeout_ms=5_000) as (_, transaction):
        await transaction.connection.execute("update commonlore.profile set name = 'Someone'")

    [entry] = entries(memory.database, ann.team_id, actor_kind="credential")
    assert ("unnamed", "team", str(ann.team_id), ann.credential_id) == (entry.act, entry.subject_kind, entry.subject, entry.credential_id)


async def test_the_entry_and_the_change_are_one(memory: Memory) -> None:
    """Where the entry cannot be written the change is not there either, and the connection serves on."""

    ann = await memory.key()
    memory.sql("revoke insert on commonlore.audit_entry from commonlore_app")
    with pytest.raises(Exception, match="the database refused a statement"):
        await memory.remember(ann, content="Never.")
    memory.sql("grant insert on commonlore.audit_entry to commonlore_app")
    stored = memory.sql("select count(*) from commonlore.evidence")
    await memory.remember(ann, content="Now.")

    assert [(0,)] == stored
    assert 1 == len(entries(memory.database, ann.team_id, actor_kind="credential"))


async def test_an_administrators_refusal_is_logged_beside_the_rollback(memory: Memory) -> None:
    """The transaction that was refused is gone; the entry stands. Where even that cannot be written the refusal stands."""

    boss = await memory.key(scopes=ALL)
    with acting(operators_act("revoke_key")):
        for logs in (True, False):
            if not logs:
                memory.sql("revoke insert on commonlore.audit_entry from commonlore_app")
            with pytest.raises(NotVisible):
                await rename_and_fail(memory, boss, NotVisible("not_found", "a test"))

    assert [("revoke_key", "credential", "refused", "not_found")] == [
        (entry.act, entry.actor_kind, entry.outcome, entry.code) for entry in entries(memory.database, boss.team_id, actor_kind="credential")
    ]
    assert [] == memory.sql("select 1 from commonlore.profile where name = 'Gone'")


async def test_neither_role_can_change_or_remove_an_entry(memory: Memory) -> None:
    ann = await memory.key()
    for conninfo in (memory.database.serving_conninfo, memory.database.worker_conninfo):
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for statement in ("update commonlore.audit_entry set act = 'x'", "delete from commonlore.audit_entry", "truncate commonlore.audit_entry"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())

    assert 3 == len(entries(memory.database, ann.team_id))


async def test_the_operators_acts_are_in_the_log_of_their_team(memory: Memory) -> None:
    """Whatever the owner's pool writes in a team: here its making, a member and a key."""

    ann = await memory.key()

    assert [("operator", "team"), ("operator", "profile"), ("operator", "credential")] == [
        (entry.actor_kind, entry.subject_kind) for entry in entries(memory.database, ann.team_id)
    ]


async def test_a_worker_logs_what_it_decides(memory: Memory) -> None:
    """What it derives, vectors and statistics, is no act."""
    from tests.integration.jobs.test_conflict_review import allow, review

    team = await contest(memory)
    await allow(memory, team, automatic=True)
    memory.clock.advance(days=8)
    before = entries(memory.database, team.ann.team_id)
    await memory.run_embedding(team.ann)
    await review(memory, team)
    added = entries(memory.database, team.ann.team_id)[len(before) :]

    assert [("worker", "conflict", "done")] == [(entry.actor_kind, entry.subject_kind, entry.outcome) for entry in added]


async def test_a_transaction_by_an_unnoted_worker_is_silent(memory: Memory) -> None:
    ann = await memory.key()
    before = len(entries(memory.database))
    async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
        await transaction.connection.execute("update commonlore.credential set last_used_at = now()")

    assert before == len(entries(memory.database))


def test_no_module_opens_a_transaction_beside_the_helper() -> None:
    """Were there another way to write, it would be another way past the log. Contracts and roles are the installation's."""
    allowed = {"session.py", "contract_change.py", "provision.py"}
    folder = Path(commonlore.db.__file__).parent
    texts = {path.name: path.read_text("utf-8") for path in folder.rglob("*.py") if "isolation" not in path.parts and "embedded" not in path.parts}
    found = {name for name, text in texts.items() if re.search(r'"begin isolation|connection\.transaction\(\)', text)}

    assert found <= allowed
