"""Connections of a pool: a team takes what is free, and leaves something for whoever comes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonlore.db.shares import KnownKeys, Shares
from commonlore.domain.errors import Unavailable
from commonlore.domain.tenancy.key import PresentedKey, mint, parse
from tests.support.edge import TEAM


class Holders:
    """Calls of groups, each a task that holds one connection until it is let go."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self.tasks: list[tuple[str, asyncio.Task[None], asyncio.Event]] = []

    async def call(self, group: str) -> None:
        gone = asyncio.Event()

        async def hold() -> None:
            async with self.shares.one(group):
                await gone.wait()

        self.tasks.append((group, asyncio.create_task(hold()), gone))
        await settle()

    async def end(self, group: str) -> None:
        """The first of the group that is there, whether it holds or waits."""
        place = next(place for place, (name, _, _) in enumerate(self.tasks) if name == group)
        _, task, gone = self.tasks.pop(place)
        gone.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await settle()


async def settle() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


async def test_a_team_alone_leaves_a_quarter_free() -> None:
    holders = Holders(Shares(10))
    for _ in range(20):
        await holders.call("a")

    assert {"a": 8} == holders.shares.held and 12 == holders.shares.waiting


async def test_a_team_that_comes_later_gets_a_connection_at_once() -> None:
    holders = Holders(Shares(10))
    for _ in range(20):
        await holders.call("a")
    for _ in range(2):
        await holders.call("b")
    await holders.call("c")

    assert {"a": 8, "b": 2} == holders.shares.held
    await holders.end("a")
    assert {"a": 7, "b": 2, "c": 1} == holders.shares.held


async def test_a_pool_of_one_serves_everybody_in_turn() -> None:
    holders = Holders(Shares(1))
    for group in "aab":
        await holders.call(group)
    assert {"a": 1} == holders.shares.held
    await holders.end("a")
    await holders.end("a")
    assert {"b": 1} == holders.shares.held


async def test_too_many_waiting_and_too_long_waiting_are_overload() -> None:
    shares = Shares(1, most_waiting=1, wait_s=0.02)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(shares.one("a"))
        waiting = asyncio.create_task(stack.enter_async_context(shares.one("b")))
        await settle()
        for call in (stack.enter_async_context(shares.one("c")), waiting):
            with pytest.raises(Unavailable) as caught:
                await call
            assert "overloaded" == caught.value.code
    assert {} == shares.held and 0 == shares.waiting


@given(st.integers(1, 12), st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60))
def test_whatever_comes_and_goes(size: int, steps: list[tuple[str, bool]]) -> None:
    """Never more than there are; nobody waits while a group below its fair share could take a free one; at the end all are back."""

    async def run() -> None:
        holders = Holders(Shares(size))
        for group, comes in steps:
            if comes:
                await holders.call(group)
            elif any(name == group for name, _, _ in holders.tasks):
                await holders.end(group)
            held = holders.shares.held
            groups = {name for name, _, _ in holders.tasks}
            assert sum(held.values()) <= size and sum(held.values()) + holders.shares.waiting == len(holders.tasks)
            if sum(held.values()) < size:
                fair = max(1, size // (len(groups) + 1))
                asked = {name: sum(other == name for other, _, _ in holders.tasks) for name in groups}
                assert all(held.get(name, 0) >= min(fair, asked[name]) for name in groups)
        while holders.tasks:
            await holders.end(holders.tasks[0][0])
        assert {} == holders.shares.held and 0 == holders.shares.waiting

    asyncio.run(run())


async def test_a_turn_that_comes_with_the_end_of_the_caller_is_passed_on() -> None:
    holders = Holders(Shares(1))
    for group in "abc":
        await holders.call(group)
    _, waiting, _ = holders.tasks[1]
    holders.tasks[0][2].set()
    waiting.cancel()
    await settle()

    assert {"c": 1} == holders.shares.held and waiting.cancelled()


def a_key() -> PresentedKey:
    key = parse(mint(TEAM).text)
    assert key is not None
    return key


def test_the_keys_used_last_are_known() -> None:
    known, keys = KnownKeys(2), [a_key() for _ in range(3)]
    for key in (keys[0], keys[1], keys[0], keys[2]):
        known.note(key)
    assert [True, False, True] == [key in known for key in keys]
    known.forget(keys[0])
    assert keys[0] not in known
