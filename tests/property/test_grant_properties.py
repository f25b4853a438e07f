"""Grants as a law: whatever is granted, taken away and written in whatever order, a recall shows what a small model says, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from commonlore.api.administration import TeamAdministration
from commonlore.domain.errors import CommonloreError
from commonlore.domain.tenancy.membership import Access
from commonlore.domain.tenancy.requests import RetireMemberRequest
from commonlore.domain.tenancy.space_requests import CreateSpaceRequest, SetSpaceAccessRequest
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory

T = TypeVar("T")
NAMES = ("almanac", "handbook", "zebra")
MEMBERS = range(2)
STEP = st.one_of(
    st.tuples(st.just("grant"), st.sampled_from(MEMBERS), st.sampled_from(NAMES), st.sampled_from(["none", "read", "write", "write"])),
    st.tuples(st.just("write"), st.sampled_from(MEMBERS), st.sampled_from([*NAMES, "team_shared", "private"]), st.just("")),
    st.tuples(st.just("retire"), st.sampled_from(MEMBERS), st.just(""), st.just("")),
)
_TEAMS = count()


class Model:
    """Who may do what in which space, and which texts lie where."""

    def __init__(self) -> None:
        self.access: dict[tuple[int, str], str] = {}
        self.texts: list[tuple[str, int, str]] = []  # space, author, text
        self.retired: set[int] = set()

    def may(self, member: int, space: str, *, write: bool) -> str | None:
        """None where it may, or the code of the refusal."""
        if member in self.retired:
            return "credential_invalid"
        if space not in NAMES:
            return None
        access = self.access.get((member, space), "none")
        return "not_found" if access == "none" else "space_read_only" if write and access == "read" else None

    def sees(self, member: int) -> set[str]:
        return {
            text
            for space, author, text in self.texts
            if author not in self.retired and (space != "private" or author == member) and self.may(member, space, write=False) is None
        }


async def _refusal(work: Coroutine[Any, Any, object]) -> str | None:
    try:
        await work
    except CommonloreError as error:
        return error.code
    return None


class Told:
    """One team of the service under test, told what the model is told."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.model = memory, Model()
        self.administration = TeamAdministration(memory.adapters, lambda _: None)

    async def begin(self) -> None:
        team = f"grants {next(_TEAMS)}"
        self.boss = await self.memory.key(team, "boss", scopes=("read", "write", "admin"))
        self.members: list[Holder] = [await self.memory.key(team, f"member {number}") for number in MEMBERS]
        self.spaces: dict[str, UUID] = {}
        for name in NAMES:
            made = await self.administration.create_space(self.boss.key, CreateSpaceRequest(name=name), correlation_id="test")
            self.spaces[name] = UUID(made["space_id"])

    async def step(self, what: str, member: int, space: str, access: str) -> None:
        holder, model = self.members[member], self.model
        if what == "grant":
            request = SetSpaceAccessRequest(space_id=self.spaces[space], profile_id=holder.profile_id, access=access)  # type: ignore[arg-type]
            done = await _refusal(self.administration.set_space_access(self.boss.key, request, correlation_id="test"))
            assert ("not_found" if member in model.retired else None) == done
            if done is None:
                model.access[member, space] = access
        elif what == "retire":
            request = RetireMemberRequest(profile_id=holder.profile_id)  # type: ignore[assignment]
            await _refusal(self.administration.retire_member(self.boss.key, request, correlation_id="test"))  # type: ignore[arg-type]
            model.retired.add(member)
        else:
            text = f"pelican number {len(model.texts)} in {space}"
            place = {"space": space} if space in NAMES else {"target_space": space}
            done = await _refusal(self.memory.remember(holder, content=text, **place))
            assert model.may(member, space, write=True) == done
            if done is None:
                model.texts.append((space, member, text))

    async def agree(self) -> None:
        for number, holder in enumerate(self.members):
            if number in self.model.retired:
                assert "credential_invalid" == await _refusal(self.memory.recall(holder, "pelican"))
                continue
            answer = await self.memory.recall(holder, "pelican", limit=50)
            assert self.model.sees(number) == {item["context"] for item in answer["results"]}
            for name in NAMES:
                expected = self.model.may(number, name, write=False)
                assert expected == await _refusal(self.memory.recall(holder, "pelican", spaces=[name]))


def test_a_recall_shows_what_the_grants_say(database: TestDatabase) -> None:
    """After every step, for every member and space."""
    with asyncio.Runner() as runner:
        opened = Memory.open(database)
        memory = runner.run(opened.__aenter__())

        @settings(max_examples=12, deadline=None, database=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
        @given(st.lists(STEP, min_size=4, max_size=14))
        def check(steps: list[tuple[str, int, str, str]]) -> None:
            async def run() -> None:
                told = Told(memory)
                await told.begin()
                for step in steps:
                    await told.step(*step)
                    await told.agree()

            runner.run(run())

        try:
            check()
        finally:
            runner.run(opened.__aexit__(None, None, None))


def test_the_model_grants_nothing_by_itself() -> None:
    """A model that allowed everything would agree with a service that does."""
    access: Access = "read"
    model = Model()
    model.texts = [("handbook", 0, "a"), ("private", 1, "b"), ("team_shared", 0, "c")]
    model.access[1, "handbook"] = access

    assert ({"c"}, {"a", "b", "c"}) == (model.sees(0), model.sees(1))
