"""Promotions: copies of private texts in a shared space, direct or by a request, as their owner's words, and taken back alone."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from commonlore.api import promotions
from commonlore.api.administration import TeamAdministration
from commonlore.domain.errors import CommonloreError, Unavailable
from commonlore.domain.promote.request import DecidePromotionRequest, ListPromotionsRequest, PromoteRequest, RevokePromotionRequest
from commonlore.domain.remember.prepare import prepare
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.tenancy.space_requests import CreateSpaceRequest, SetSpaceAccessRequest
from tests.support.cuts import cut, fail
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Holder, Memory, contexts

ALL = ("read", "write", "admin")
SAID = ("Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


async def promote(memory: Memory, holder: Holder, *evidence_ids: str, **request: Any) -> dict[str, Any]:
    decoded = msgspec.convert({"evidence_ids": list(evidence_ids), **request}, PromoteRequest)
    return await memory.operations.promote_evidence(holder.key, decoded, correlation_id="test")


async def decide(memory: Memory, holder: Holder, promotion_id: str, decision: str = "approve") -> dict[str, Any]:
    decoded = msgspec.convert({"promotion_id": promotion_id, "decision": decision, "reason": "a test"}, DecidePromotionRequest)
    return await memory.operations.decide_promotion(holder.key, decoded, correlation_id="test")


async def take_back(memory: Memory, holder: Holder, promotion_id: str) -> dict[str, Any]:
    decoded = msgspec.convert({"promotion_id": promotion_id, "reason": "a test"}, RevokePromotionRequest)
    return await memory.operations.revoke_promotion(holder.key, decoded, correlation_id="test")


async def listed(memory: Memory, holder: Holder, **request: Any) -> list[dict[str, Any]]:
    answer: Any = await memory.operations.list_promotions(holder.key, msgspec.convert(request, ListPromotionsRequest), correlation_id="test")
    return list(answer["promotions"])


async def refusal(work: Any) -> str | None:
    try:
        await work
    except CommonloreError as error:
        return error.code
    return None


async def private(memory: Memory, holder: Holder, content: str) -> str:
    return str((await memory.remember(holder, content=content, target_space="private"))["evidence"][0]["evidence_id"])


async def space(memory: Memory, boss: Holder, name: str, holder: Holder, access: str) -> None:
    administration = TeamAdministration(memory.adapters, lambda _: None)
    made = await administration.create_space(boss.key, CreateSpaceRequest(name=name), correlation_id="test")
    grant = msgspec.convert({"space_id": made["space_id"], "profile_id": str(holder.profile_id), "access": access}, SetSpaceAccessRequest)
    await administration.set_space_access(boss.key, grant, correlation_id="test")


async def test_the_owner_copies_a_text_and_what_it_states(memory: Memory) -> None:
    """Others find it from then on, as its owner's words, with ends of the shared space; the same again changes nothing; the original stays."""
    ann, bob = await memory.key("direct", "ann"), await memory.key("direct", "bob")
    original = await memory.relate(ann, *SAID, target_space="private")
    evidence = (await memory.trace(ann, original))["evidence"][0]["evidence_id"]

    answer = await promote(memory, ann, evidence)
    again = await promote(memory, ann, evidence)

    copy = answer["evidence"][0]["evidence_id"]
    found = await memory.recall(bob, "Mark")
    relationship = answer["relationship_results"][0]["splits"][0]["relationship_id"]
    ends = [(await memory.trace(ann, key))["relationship"] for key in (original, relationship)]
    assert [(copy, SAID[0])] == [(item["evidence_id"], item["context"]) for item in found["results"]]
    assert ("already_promoted", copy, None) == (again["evidence"][0]["disposition"], again["evidence"][0]["evidence_id"], again["promotion_id"])
    assert [str(ann.profile_id)] * 2 == [str(item["owner_profile_id"]) for item in ends]
    assert ends[0]["subject"]["entity_id"] != ends[1]["subject"]["entity_id"]
    assert ["active", "active"] == [item["relationship_status"] for item in ends]
    [entry] = await listed(memory, ann)
    assert ("promoted", "ann", evidence, copy) == (
        entry["state"],
        entry["owner_name"],
        entry["evidence"][0]["source_evidence_id"],
        entry["evidence"][0]["evidence_id"],
    )
    assert [] == await listed(memory, bob)


async def test_what_is_taken_back_takes_only_what_it_supports(memory: Memory) -> None:
    """The copy and a statement that rests on it alone; the original stays, and so does what another text of the same words supports."""
    ann, bob = await memory.key("back", "ann"), await memory.key("back", "bob")
    original = await memory.relate(ann, *SAID, target_space="private")
    evidence = (await memory.trace(ann, original))["evidence"][0]["evidence_id"]
    alone = await private(memory, ann, "The pelican is in Lisbon.")
    kept = await memory.relate(ann, *SAID)
    promoted = await promote(memory, ann, evidence, alone)
    assert "not_found" == await refusal(take_back(memory, bob, promoted["promotion_id"]))

    first = await take_back(memory, ann, promoted["promotion_id"])
    again = await take_back(memory, ann, promoted["promotion_id"])

    assert (2, 0) == (first["withdrawn"], again["withdrawn"])
    assert [SAID[0]] == contexts(await memory.recall(bob, "Mark Dense-Mem pelican"))
    assert "active" == (await memory.trace(bob, kept))["relationship"]["relationship_status"]
    assert {SAID[0], "The pelican is in Lisbon."} == set(contexts(await memory.recall(ann, "Mark Dense-Mem pelican", spaces=["private"])))
    assert "promoted" == (await promote(memory, ann, alone))["evidence"][0]["disposition"]


async def test_a_statement_that_rests_on_the_copy_alone_ends_with_it(memory: Memory) -> None:
    """Others see it no more."""
    ann, bob = await memory.key("alone", "ann"), await memory.key("alone", "bob")
    original = await memory.relate(ann, *SAID, target_space="private")
    promoted = await promote(memory, ann, (await memory.trace(ann, original))["evidence"][0]["evidence_id"])
    relationship = promoted["relationship_results"][0]["splits"][0]["relationship_id"]
    assert 1 == len((await memory.recall(bob, "Dense-Mem"))["results"])

    await take_back(memory, ann, promoted["promotion_id"])

    answer = await memory.recall(bob, "Mark Dense-Mem")
    assert ([], []) == (answer["results"], answer["related_relationships"])
    assert "active" != (await memory.trace(bob, relationship))["relationship"]["relationship_status"]
    assert "active" == (await memory.trace(ann, original))["relationship"]["relationship_status"]


async def test_a_reader_asks_and_a_writer_who_administers_decides(memory: Memory) -> None:
    """The texts are shown to those who decide and to nobody else, and lie in the space as the words of who asked."""
    boss, ann = await memory.key("asked", "boss", scopes=ALL), await memory.key("asked", "ann")
    other = await memory.key("asked", "other", scopes=ALL)
    await space(memory, boss, "handbook", ann, "read")
    text = await private(memory, ann, "The pelican is in Lisbon.")

    asked = await promote(memory, ann, text, space="handbook", reason="for everybody")

    assert ("requested", None) == (asked["state"], asked["evidence"][0]["evidence_id"])
    assert [] == contexts(await memory.recall(boss, "pelican"))
    assert "already_requested" == (await promote(memory, ann, text, space="handbook"))["evidence"][0]["disposition"]
    [entry] = await listed(memory, boss, state="requested")
    assert ("The pelican is in Lisbon.", "for everybody") == (entry["evidence"][0]["content"], entry["reason"])
    assert [] == await listed(memory, other)
    assert ["not_found", "unauthorized_scope"] == [await refusal(decide(memory, holder, asked["promotion_id"])) for holder in (other, ann)]

    approved = await decide(memory, boss, asked["promotion_id"])

    copy = approved["evidence"][0]["evidence_id"]
    [found] = (await memory.recall(boss, "pelican"))["results"]
    assert (copy, "handbook") == (found["evidence_id"], found["space"])
    owner = memory.sql("select owner_profile_id from commonlore.evidence where evidence_id = %s", copy)
    assert [(ann.profile_id,)] == owner
    assert "stale_input" == await refusal(decide(memory, boss, asked["promotion_id"], "reject"))
    assert 1 == (await take_back(memory, ann, asked["promotion_id"]))["withdrawn"]
    assert [] == contexts(await memory.recall(boss, "pelican"))


async def test_an_approval_that_comes_to_nothing_is_not_logged_as_done(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    boss, ann = await memory.key("logged", "boss", scopes=ALL), await memory.key("logged", "ann")
    asked = await promote(memory, ann, await private(memory, ann, "The pelican is in Lisbon."), review=True)
    entries = "select count(*) from commonlore.audit_entry where team_id = %s"
    before = memory.sql(entries, boss.team_id)

    async def fails(*_: Any, **__: Any) -> Any:
        raise Unavailable("database_unavailable", "gone")

    with monkeypatch.context() as patched:
        patched.setattr(promotions, "remember", fails)
        assert "database_unavailable" == await refusal(decide(memory, boss, asked["promotion_id"]))

    assert before == memory.sql(entries, boss.team_id)
    assert "promoted" == (await decide(memory, boss, asked["promotion_id"]))["state"]


async def test_a_request_is_rejected_runs_out_or_is_about_what_is_gone(memory: Memory) -> None:
    """Each makes room for another; nothing of it is copied."""
    boss, ann = await memory.key("ends", "boss", scopes=ALL), await memory.key("ends", "ann")
    text = await private(memory, ann, "The pelican is in Lisbon.")
    rejected = await promote(memory, ann, text, review=True)
    assert "rejected" == (await decide(memory, boss, rejected["promotion_id"], "reject"))["state"]
    late = await promote(memory, ann, text, review=True)
    memory.clock.advance(days=15)
    assert "stale_input" == await refusal(decide(memory, boss, late["promotion_id"]))
    assert ["expired", "rejected"] == [item["state"] for item in await listed(memory, ann)]
    gone = await promote(memory, ann, text, review=True)
    await memory.retract(ann, text)

    assert "stale_input" == await refusal(decide(memory, boss, gone["promotion_id"]))
    assert [None] == [item["content"] for item in (await listed(memory, boss, state="requested"))[0]["evidence"]]
    assert [] == contexts(await memory.recall(boss, "pelican"))


async def test_only_ones_own_private_texts_that_count_are_promoted(memory: Memory) -> None:
    """Foreign ids, shared texts and those of others are as absent as ids of nothing; what was retracted is stale."""
    ann, bob, foreign = await memory.key("own", "ann"), await memory.key("own", "bob"), await memory.key("elsewhere", "ann")
    mine, gone = await private(memory, ann, "Mine."), await private(memory, ann, "Gone.")
    shared_text = str((await memory.remember(ann, content="Shared."))["evidence"][0]["evidence_id"])
    await memory.retract(ann, gone)
    ids = [await private(memory, bob, "His."), shared_text, await private(memory, foreign, "Elsewhere.")]

    assert ["not_found"] * 3 == [await refusal(promote(memory, ann, key)) for key in ids]
    assert "stale_input" == await refusal(promote(memory, ann, mine, gone))
    assert "Mine." not in contexts(await memory.recall(bob, "Mine"))
    assert "not_found" == await refusal(take_back(memory, foreign, (await promote(memory, ann, mine))["promotion_id"]))


async def test_a_page_costs_the_same_for_one_request_as_for_many(memory: Memory) -> None:
    boss, ann = await memory.key("pages", "boss", scopes=ALL), await memory.key("pages", "ann")
    texts = [await private(memory, ann, f"Text number {number}.") for number in range(4)]
    seen = []
    for text in texts:
        await promote(memory, ann, text, review=True)
        with cut(-1, fail) as found:
            page = await listed(memory, boss, state="requested")
        seen.append(found.seen)

    assert 1 == len(set(seen))
    assert [f"Text number {number}." for number in reversed(range(4))] == [entry["evidence"][0]["content"] for entry in page]


async def test_a_request_beside_others_is_shown_by_itself(memory: Memory) -> None:
    """One with a text that is gone shows none of its texts, and the others theirs."""
    boss, ann = await memory.key("beside", "boss", scopes=ALL), await memory.key("beside", "ann")
    await space(memory, boss, "handbook", ann, "read")
    both, gone = await private(memory, ann, "Both."), await private(memory, ann, "Gone.")
    await promote(memory, ann, both, gone, review=True)
    await promote(memory, ann, both, space="handbook")
    await memory.retract(ann, gone)

    assert [["Both."], [None, None]] == [[text["content"] for text in entry["evidence"]] for entry in await listed(memory, ann, state="requested")]


async def test_a_text_that_is_there_already_is_no_part_of_another_promotion(memory: Memory) -> None:
    """The originals are read once; what was copied before is told, and only the rest is copied with what it states."""
    ann = await memory.key("partly", "ann")
    first, second = await private(memory, ann, "First."), await memory.relate(ann, *SAID, target_space="private")
    stated = (await memory.trace(ann, second))["evidence"][0]["evidence_id"]
    await promote(memory, ann, first)

    answer = await promote(memory, ann, first, stated)

    assert ["already_promoted", "promoted"] == [item["disposition"] for item in answer["evidence"]]
    assert 1 == len(answer["relationship_results"])
    assert sorted(("First.", SAID[0])) == sorted(contexts(await memory.recall(ann, "First Mark", spaces=["team_shared"])))


async def test_long_texts_are_prepared_in_a_thread(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = await memory.key("long", "ann")
    text = await private(memory, ann, "The pelican is in Lisbon. " * 1_000)
    in_threads: list[bool] = []

    def observed(request: RememberRequest, *, count_tokens: Callable[[str], int]) -> Any:
        in_threads.append(threading.current_thread() is not threading.main_thread())
        return prepare(request, count_tokens=count_tokens)

    monkeypatch.setattr(promotions, "prepare", observed)
    await promote(memory, ann, text)

    assert [True] == in_threads
