"""Why somebody cannot see something: the reasons in order, nothing of what it says, and nothing of another team."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from commonlore.api.administration import TeamAdministration
from commonlore.domain.errors import CommonloreError
from commonlore.domain.tenancy.membership import Access
from commonlore.domain.tenancy.requests import RetireMemberRequest, RevokeKeyRequest
from commonlore.domain.tenancy.space_requests import CreateSpaceRequest, SetSpaceAccessRequest, WhyNotRequest
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Holder, Memory

ALL = ("read", "write", "admin")


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


def administration(memory: Memory) -> TeamAdministration:
    return TeamAdministration(memory.adapters, lambda _: None)


async def ask(memory: Memory, boss: Holder, target_id: object, **who: Any) -> dict[str, Any]:
    request = msgspec.convert({"target_id": str(target_id), **who}, WhyNotRequest)
    request.validate()
    return dict(await administration(memory).why_not(boss.key, request, correlation_id="test"))


async def reasons(memory: Memory, boss: Holder, target_id: object, **who: Any) -> list[str]:
    return [item["reason"] for item in (await ask(memory, boss, target_id, **who))["reasons"]]


async def space_of(memory: Memory, boss: Holder, name: str, holder: Holder | None = None, access: Access = "read") -> UUID:
    made = UUID((await administration(memory).create_space(boss.key, CreateSpaceRequest(name=name), correlation_id="test"))["space_id"])
    if holder is not None:
        request = SetSpaceAccessRequest(space_id=made, profile_id=holder.profile_id, access=access)
        await administration(memory).set_space_access(boss.key, request, correlation_id="test")
    return made


async def stored(memory: Memory, holder: Holder, **request: Any) -> str:
    return str((await memory.remember(holder, **request))["evidence"][0]["evidence_id"])


async def test_the_reasons_of_a_text_come_in_the_order_in_which_a_recall_meets_them(memory: Memory) -> None:
    """Who asks, then where it lies, then how it stands; none where it is seen."""
    boss, ann = await memory.key("order", "boss", scopes=ALL), await memory.key("order", "ann")
    weak = await memory.key("order", "ann", scopes=("write",))
    space_id = await space_of(memory, boss, "handbook")
    text = await stored(memory, boss, content="The pelican is in Lisbon.", space="handbook")
    open_text = await stored(memory, boss, content="The pelican is in Porto.")
    by_ann, by_weak = {"profile_id": str(ann.profile_id)}, {"credential_id": str(weak.credential_id)}

    assert [] == await reasons(memory, boss, open_text, **by_ann)
    assert ["scope_missing"] == await reasons(memory, boss, open_text, **by_weak)
    assert ["no_grant"] == await reasons(memory, boss, text, **by_ann) == await reasons(memory, boss, space_id, **by_ann)
    await memory.retract(boss, text, open_text)
    await administration(memory).revoke_key(boss.key, RevokeKeyRequest(credential_id=weak.credential_id), correlation_id="test")
    assert ["key_revoked", "scope_missing", "no_grant", "retracted"] == await reasons(memory, boss, text, **by_weak)
    await administration(memory).retire_member(boss.key, RetireMemberRequest(profile_id=ann.profile_id), correlation_id="test")
    assert ["member_retired", "retracted"] == await reasons(memory, boss, open_text, **by_ann)


async def test_the_reasons_agree_with_the_recall(memory: Memory) -> None:
    """Where there is a reason the recall does not show it, and where there is none it does, in the views of the present and of another time."""
    boss, ann = await memory.key("agree", "boss", scopes=ALL), await memory.key("agree", "ann")
    await space_of(memory, boss, "handbook", ann)
    texts = {
        name: await stored(memory, boss, content=f"The pelican, {name}.", **place)
        for name, place in (("shared", {}), ("granted", {"space": "handbook"}), ("private", {"target_space": "private"}), ("held", {}), ("gone", {}))
    }
    before = memory.clock.advance(days=1).isoformat()
    await memory.quarantine(boss, texts["held"])
    await memory.retract(boss, texts["gone"])
    texts["late"] = await stored(memory, boss, content="The pelican, late.")

    async def seen(**view: str) -> dict[str, list[str]]:
        found = {item["evidence_id"] for item in (await memory.recall(ann, "pelican", limit=50, **view))["results"]}
        told = {name: await reasons(memory, boss, key, profile_id=str(ann.profile_id), **view) for name, key in texts.items()}
        assert {name for name, key in texts.items() if key in found} == {name for name, reason in told.items() if not reason}
        return {name: reason for name, reason in told.items() if reason}

    assert {"private": ["private_space"], "held": ["quarantined"], "gone": ["retracted"]} == await seen()
    assert {"private": ["private_space"], "late": ["not_yet_known"]} == await seen(known_at=before)


async def test_a_relationship_says_why_it_does_not_count(memory: Memory) -> None:
    """By the reasons of a trace: what is corrected, and what holds at another time."""
    boss, ann = await memory.key("relationship", "boss", scopes=ALL), await memory.key("relationship", "ann")
    later = await memory.relate(boss, "Mark works on Atlas.", "Mark", "works_on", "Atlas", valid_from="2026-06-01T00:00:00Z")
    by_ann = {"profile_id": str(ann.profile_id)}

    assert [] == await reasons(memory, boss, later, **by_ann)
    assert ["not_yet_valid"] == await reasons(memory, boss, later, **by_ann, valid_at="2026-01-01T00:00:00Z")
    evidence = (await memory.trace(boss, later))["evidence"][0]["evidence_id"]
    await memory.retract(boss, evidence)
    assert ["retracted"] == await reasons(memory, boss, later, **by_ann)


async def test_nothing_is_told_of_a_private_space(memory: Memory) -> None:
    """That an id lies in one, no more: not whose, and not how it stands; a member's own one is told of."""
    boss, ann, bob = await memory.key("private", "boss", scopes=ALL), await memory.key("private", "ann"), await memory.key("private", "bob")
    text = await stored(memory, ann, content="My salary is 1.", target_space="private")
    await memory.retract(ann, text)

    answer = await ask(memory, boss, text, profile_id=str(bob.profile_id))

    assert (["private_space"], "private", None) == ([item["reason"] for item in answer["reasons"]], answer["space_kind"], answer["space"])
    assert "salary" not in msgspec.json.encode(answer).decode() and str(ann.profile_id) not in msgspec.json.encode(answer).decode()
    assert ["retracted"] == await reasons(memory, boss, text, profile_id=str(ann.profile_id))


async def test_another_teams_ids_are_ids_of_nothing(memory: Memory) -> None:
    """Targets, members and keys; and it takes the scope admin."""
    boss, other = await memory.key("own", "boss", scopes=ALL), await memory.key("foreign", "boss", scopes=ALL)
    foreign_space = await space_of(memory, other, "handbook")
    foreign_text = await stored(memory, other, content="The pelican is in Lisbon.")
    foreign_relationship = await memory.relate(other, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    me = {"profile_id": str(boss.profile_id)}

    answers = [await ask(memory, boss, key, **me) for key in (foreign_space, foreign_text, foreign_relationship, uuid4())]
    refused = []
    for who in ({"profile_id": str(other.profile_id)}, {"credential_id": str(other.credential_id)}, {"profile_id": str(uuid4())}):
        with pytest.raises(CommonloreError) as failure:
            await ask(memory, boss, foreign_text, **who)
        refused.append(failure.value.code)
    ann = await memory.key("own", "ann")
    with pytest.raises(CommonloreError) as failure:
        await ask(memory, ann, foreign_text, **me)

    assert [(["not_in_team"], None, None)] * 4 == [
        ([item["reason"] for item in answer["reasons"]], answer["target_kind"], answer["space_kind"]) for answer in answers
    ]
    assert (["not_found"] * 3, "unauthorized_scope") == (refused, failure.value.code)
