"""Named spaces: who reads and writes there, what a grant that is taken away takes with it, and what works there as in the shared one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
import pytest

from commonlore.api.administration import TeamAdministration
from commonlore.domain.community.request import UpdateCommunitiesRequest
from commonlore.domain.errors import CommonloreError
from commonlore.domain.tenancy.requests import RetireMemberRequest
from commonlore.domain.tenancy.space_requests import CreateSpaceRequest, RenameSpaceRequest, SetSpaceAccessRequest
from commonlore.workers.detect_communities import run_detection
from tests.support.communities import as_worker
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Holder, Memory, contexts

ALL = ("read", "write", "admin")
QUERY = "Where is the pelican?"


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


@dataclass
class Team:
    """An administrator who has a named space, and a member."""

    memory: Memory
    name: str
    boss: Holder
    ann: Holder
    space_id: UUID

    @classmethod
    async def make(cls, memory: Memory, name: str, space: str = "handbook") -> Team:
        boss, ann = await memory.key(name, "boss", scopes=ALL), await memory.key(name, "ann")
        made = await TeamAdministration(memory.adapters, lambda _: None).create_space(boss.key, CreateSpaceRequest(name=space), correlation_id="test")
        return cls(memory, name, boss, ann, UUID(made["space_id"]))

    @property
    def administration(self) -> TeamAdministration:
        return TeamAdministration(self.memory.adapters, lambda _: None)

    async def grant(self, holder: Holder, access: str, space_id: UUID | None = None) -> dict[str, Any]:
        request = msgspec.convert({"space_id": space_id or self.space_id, "profile_id": holder.profile_id, "access": access}, SetSpaceAccessRequest)
        return dict(await self.administration.set_space_access(self.boss.key, request, correlation_id="test"))

    async def add_space(self, name: str) -> UUID:
        made = await self.administration.create_space(self.boss.key, CreateSpaceRequest(name=name), correlation_id="test")
        return UUID(made["space_id"])


async def refusal(work: Any) -> str | None:
    try:
        await work
    except CommonloreError as error:
        return error.code
    return None


async def test_a_grant_opens_a_space_and_its_end_closes_it_at_once(memory: Memory) -> None:
    """Without one the space is as absent as one that never was; reading is not writing; what is taken away is gone for the next request."""
    team = await Team.make(memory, "opens")
    boss, ann = team.boss, team.ann
    await memory.remember(boss, content="The pelican is in Lisbon.", space="handbook")

    async def seen() -> list[Any]:
        answer = await memory.recall(ann, QUERY)
        written = await refusal(memory.remember(ann, content=f"A pelican, {len(found)}.", space="handbook"))
        return [[(item["context"], item.get("space")) for item in answer["results"] if "Lisbon" in item["context"]], written]

    found: list[Any] = []
    found.append(await seen())
    for access in ("read", "write", "none"):
        await team.grant(ann, access)
        found.append(await seen())

    lisbon = [("The pelican is in Lisbon.", "handbook")]
    assert [[[], "not_found"], [lisbon, "space_read_only"], [lisbon, None], [[], "not_found"]] == found
    assert await refusal(memory.remember(ann, content="x y", space="no such")) == "not_found"


async def test_results_say_where_they_lie_and_spaces_are_fused_in_one_order(memory: Memory) -> None:
    """Private, shared, then named ones by name; a receipt and every item name the space, and only a named one."""
    team = await Team.make(memory, "order", "zebra")
    await team.add_space("almanac")
    text = "The pelican is in Lisbon."
    receipts = [
        await memory.remember(team.boss, content=text, **place)
        for place in ({"space": "zebra"}, {"space": "almanac"}, {"target_space": "private"}, {})
    ]

    answer = await memory.recall(team.boss, QUERY)

    places = [("private", None), ("team_shared", None), ("team_shared", "almanac"), ("team_shared", "zebra")]
    assert places == [(item["space_kind"], item.get("space")) for item in answer["results"]]
    assert [places[3], places[2], places[0], places[1]] == [(item["space_kind"], item.get("space")) for item in receipts]


async def test_a_recall_is_narrowed_to_some_spaces(memory: Memory) -> None:
    """By name; the private and the shared one by what they are called; a space that is not open is not found, and nobody learns why."""
    team = await Team.make(memory, "narrow")
    await team.add_space("closed")
    await memory.remember(team.boss, content="A pelican, closed.", space="closed")
    await team.grant(team.ann, "write")
    for place in ({"space": "handbook"}, {"target_space": "private"}, {}):
        await memory.remember(team.ann, content=f"A pelican, {next(iter(place.values()), 'shared')}.", **place)

    async def found(*spaces: str) -> list[str]:
        return contexts(await memory.recall(team.ann, QUERY, spaces=list(spaces)))

    assert [["A pelican, handbook."], ["A pelican, private."], ["A pelican, shared."]] == [
        await found(name) for name in ("handbook", "private", "team_shared")
    ]
    assert ["A pelican, private.", "A pelican, handbook."] == await found("handbook", "private")
    assert 3 == len(await found())
    assert ["not_found"] * 2 == [await refusal(memory.recall(team.ann, QUERY, spaces=[name])) for name in ("closed", "never was")]
    assert ["A pelican, closed."] == contexts(await memory.recall(team.boss, QUERY, spaces=["closed"]))


async def test_a_reader_of_a_space_changes_nothing_there(memory: Memory) -> None:
    """Retracting, correcting, contesting, holding and deciding need the right to write, also for what the member wrote when it had it."""
    team = await Team.make(memory, "reader")
    bob = await memory.key("reader", "bob", scopes=ALL)
    await team.grant(bob, "write")
    relationship = await memory.relate(bob, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem", space="handbook")
    evidence = (await memory.recall(bob, "Mark"))["results"][0]["evidence_id"]
    await team.grant(bob, "read")

    refused = [
        await refusal(memory.retract(bob, evidence)),
        await refusal(memory.correct(bob, relationship, patch={"object_entity": {"name": "Atlas", "entity_kind": "project"}})),
        await refusal(memory.quarantine(bob, evidence)),
    ]

    assert ["space_read_only", "space_read_only", "not_found"] == refused
    assert relationship == (await memory.trace(bob, relationship))["relationship"]["relationship_id"]
    await team.grant(bob, "none")
    assert ["not_found"] * 3 == [
        await refusal(memory.trace(bob, relationship)),
        await refusal(memory.retract(bob, evidence)),
        await refusal(memory.correct(bob, relationship, patch={"object_entity": {"name": "Atlas", "entity_kind": "project"}})),
    ]


async def test_entities_and_groups_are_those_of_the_space(memory: Memory) -> None:
    """The same statement in two spaces has ends of its own in each, and each is traced where it lies."""
    team = await Team.make(memory, "entities")
    said = ("Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    ids = [await memory.relate(team.boss, *said, space="handbook"), await memory.relate(team.boss, *said)]
    traced = [(await memory.trace(team.boss, key))["relationship"] for key in ids]

    assert ["handbook", None] == [item.get("space") for item in traced]
    assert 2 == len({item["subject"]["entity_id"] for item in traced})


async def test_a_grant_is_the_members_and_ends_with_it(memory: Memory) -> None:
    """Every key of the member has it, as far as its scopes go; retiring the member ends it, and what the grants were stays written."""
    team = await Team.make(memory, "inherits")
    await team.grant(team.ann, "write")
    reader, bound = (
        await memory.key("inherits", "ann", scopes=("read",)),
        await memory.key("inherits", "ann", binding="shared_only"),
    )
    await memory.remember(bound, content="The pelican is in Lisbon.", space="handbook")

    assert 1 == len(contexts(await memory.recall(reader, QUERY)))
    assert "unauthorized_scope" == await refusal(memory.remember(reader, content="no", space="handbook"))
    await team.administration.retire_member(team.boss.key, RetireMemberRequest(profile_id=team.ann.profile_id), correlation_id="test")
    rows = memory.sql("select access, known_to is null from commonlore.space_grant where profile_id = %s", team.ann.profile_id)
    assert [("write", False)] == rows


async def test_two_teams_have_spaces_of_the_same_name(memory: Memory) -> None:
    """A grant names a space of the own team only; foreign spaces and members are as absent as what never was."""
    one, other = await Team.make(memory, "first"), await Team.make(memory, "second")
    await memory.remember(one.boss, content="The pelican of the first.", space="handbook")

    refused = [await refusal(one.grant(holder, "read", space_id)) for holder, space_id in ((other.ann, one.space_id), (one.ann, other.space_id))]

    assert ["not_found"] * 2 == refused
    assert [] == contexts(await memory.recall(other.boss, QUERY))


async def test_a_space_keeps_its_content_and_grants_under_another_name(memory: Memory) -> None:
    """A name is taken by one active space of the team, and no space is called as those are that every team has."""
    team = await Team.make(memory, "renamed")
    await team.add_space("second")
    await memory.remember(team.boss, content="The pelican is in Lisbon.", space="handbook")

    def rename(name: str) -> Any:
        request = RenameSpaceRequest(space_id=team.space_id, name=name)
        return team.administration.rename_space(team.boss.key, request, correlation_id="test")

    assert ["name_taken", "invalid_input", None] == [await refusal(rename(name)) for name in ("second", "private", "guide")]
    assert ["guide"] == [item.get("space") for item in (await memory.recall(team.boss, QUERY))["results"]]
    assert "not_found" == await refusal(memory.remember(team.boss, content="no", space="handbook"))


async def test_communities_and_vectors_of_a_named_space_are_made_as_those_of_the_shared_one(memory: Memory) -> None:
    """Switched on by its name by who may write there, detected by a worker, and seen by those who are granted it alone."""
    team = await Team.make(memory, "communities")
    await team.grant(team.ann, "read")
    outsider = await memory.key("communities", "outsider")
    for subject, predicate, target in (
        ("Ada", "works_on", "Atlas"),
        ("Bob", "works_on", "Atlas"),
        ("Atlas", "uses", "Postgres"),
        ("Atlas", "funded_by", "Initech"),
    ):
        await memory.relate(team.boss, f"{subject} {predicate.replace('_', ' ')} {target}.", subject, predicate, target, space="handbook")
    place = msgspec.convert({"space": "handbook", "enabled": True}, UpdateCommunitiesRequest)
    described = await team.administration.update_communities(team.boss.key, place, correlation_id="test")
    async with as_worker(memory) as adapters:
        await run_detection(adapters, team_id=team.boss.team_id, space_id=team.space_id)

    seen = [(await memory.recall(holder, "What does Ada work on?", limit=1))["related_communities"] for holder in (team.boss, team.ann, outsider)]

    assert ("team_shared", "handbook", True) == (described["target_space"], described["space"], described["enabled"])
    assert [{"handbook"}, {"handbook"}, set()] == [{item["space"] for item in found} for found in seen]
