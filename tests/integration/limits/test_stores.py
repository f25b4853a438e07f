"""Both stores, as processes use them: what they promise alike, and what becomes of a store that is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
import redis

from commonlore.api.limits import Limiter
from commonlore.db.limit_valkey import ValkeyLimitStore
from commonlore.db.limits import PostgresLimitStore
from commonlore.domain.ids import new_id
from commonlore.domain.limits.meter import LimitStore, LimitStoreUnavailable, Meter, Spent, UseKey
from commonlore.domain.limits.policy import ClassSetting
from commonlore.domain.time import system_clock
from tests.support.databases import TestDatabase
from tests.support.memory import Memory
from tests.support.valkey import Valkey, running_valkey
from tests.unit.limits.test_rate import setting

LIMITS = setting(read=ClassSetting(60, 20, per_day=1000))


@dataclass
class Process:
    """One API process, as far as limits go. Its clock says its own hour."""

    limiter: Limiter
    team_id: UUID
    credential_id: UUID

    @classmethod
    def made(cls, store: LimitStore, team_id: UUID, credential_id: UUID) -> Process:
        return cls(Limiter(Meter(time.monotonic, system_clock), store), team_id, credential_id)

    def call(self, times: int = 1) -> int:
        """How many of so many calls are let in."""
        taken = [self.limiter.meter.take(self.credential_id, self.team_id, "read", LIMITS) for _ in range(times)]
        return sum(not any(item.wait_us for item in standings) for standings in taken)

    def used_today(self) -> int:
        found = self.limiter.meter.standings(self.credential_id, self.team_id, "read", LIMITS)
        return next(1000 - item.remaining for item in found if item.name == "key-read-day")


@pytest.fixture(params=["postgresql", "valkey"])
async def pair(request: pytest.FixtureRequest, database: TestDatabase, tmp_path: Path) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes that share one store."""
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(Memory.open(database))
        ann = await memory.key()
        if request.param == "postgresql":
            stores: list[LimitStore] = [PostgresLimitStore(memory.adapters.pool, system_clock) for _ in range(2)]
        else:
            server = stack.enter_context(running_valkey(tmp_path))
            opened = [ValkeyLimitStore(server.url) for _ in range(2)]
            for store in opened:
                stack.push_async_callback(store.close)
            stores = list(opened)
        first, second = (Process.made(store, ann.team_id, ann.credential_id) for store in stores)
        yield first, second


async def test_processes_learn_of_each_other(pair: tuple[Process, Process]) -> None:
    """Each lets in a burst before they tell; then neither lets in more, and the day has the calls of both."""
    first, second = pair
    assert (20, 20) == (first.call(30), second.call(30))
    for process in (first, second, first):
        await process.limiter.exchange()

    assert (0, 0) == (first.call(), second.call())
    await asyncio.gather(first.limiter.exchange(), second.limiter.exchange())
    assert (40, 40) == (first.used_today(), second.used_today())


async def test_tellings_at_once_lose_nothing(pair: tuple[Process, Process]) -> None:
    first, second = pair
    for _ in range(8):
        first.call()
        second.call()
        await asyncio.gather(first.limiter.exchange(), second.limiter.exchange())
    for process in (first, second):
        process.call()
        await process.limiter.exchange()
    await first.limiter.exchange()
    first.call()
    await first.limiter.exchange()

    assert 19 <= first.used_today() <= 19


async def test_the_time_is_that_of_the_store(pair: tuple[Process, Process]) -> None:
    first, _ = pair
    first.limiter.meter.wall = lambda: system_clock().replace(year=2001)
    first.call()
    assert 2001 == first.limiter.meter.now().year
    await first.limiter.exchange()

    assert abs((first.limiter.meter.now() - system_clock()).total_seconds()) < 30


async def test_a_telling_of_nothing_says_whether_the_store_answers(pair: tuple[Process, Process]) -> None:
    first, _ = pair
    assert first.limiter.store is not None
    now, standings = await first.limiter.store.tell([])

    assert abs((now - system_clock()).total_seconds()) < 30 and [] == standings


@pytest.fixture
async def valkey(tmp_path: Path) -> AsyncIterator[tuple[Valkey, Process]]:
    with running_valkey(tmp_path) as server:
        store = ValkeyLimitStore(server.url, timeout_s=0.5)
        yield server, Process.made(store, new_id(), new_id())
        await store.close()


async def test_a_key_of_valkey_names_its_team(valkey: tuple[Valkey, Process]) -> None:
    """B023-b: two teams, no key of both; none holds anything but counts."""
    server, first = valkey
    second = Process.made(first.limiter.store, new_id(), new_id())  # type: ignore[arg-type]
    for process in (first, second):
        process.call()
        await process.limiter.exchange()

    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        keys = sorted(client.scan_iter())
    by_team = {process.team_id: [key for key in keys if str(process.team_id) in key] for process in (first, second)}
    assert 2 == len(by_team) and all(by_team.values())
    assert keys == sorted(key for found in by_team.values() for key in found)


async def test_a_valkey_that_is_killed_takes_nothing_with_it(valkey: tuple[Valkey, Process]) -> None:
    """The process goes on by itself and says so; started anew without a disk, the server learns again what was known."""
    server, process = valkey
    assert 5 == process.call(5)
    await process.limiter.exchange()
    server.kill()
    assert 5 == process.call(5)
    await process.limiter.exchange()
    assert not process.limiter.store_answers
    assert 10 == process.call(30)  # the burst of twenty holds without the store

    server.start()
    await process.limiter.exchange()
    assert process.limiter.store_answers
    assert 20 == process.used_today()
    other = Process.made(ValkeyLimitStore(server.url), process.team_id, process.credential_id)
    other.call()
    await other.limiter.exchange()
    assert 21 == other.used_today() and 0 == other.call()
    assert isinstance(other.limiter.store, ValkeyLimitStore)
    await other.limiter.store.close()


@pytest.mark.parametrize("wrong", [b"\xff\x00 no number", b"nan", b"inf", b"-1e300", b"9e300", b"{}", b""])
async def test_foreign_bytes_in_valkey_are_counted_anew(valkey: tuple[Valkey, Process], wrong: bytes) -> None:
    """B216-b: in a field or in place of the key. The store goes on to answer, what the process knows stands there again, and nobody is shut out."""
    server, process = valkey
    process.call(3)
    await process.limiter.exchange()
    with redis.Redis.from_url(server.url) as client:
        for key in list(client.scan_iter()):
            client.hset(key, mapping=dict.fromkeys(client.hkeys(key), wrong) | {b"day": client.hget(key, "day"), b"month": client.hget(key, "month")})
        assert 1 == process.call()
        await process.limiter.exchange()
        assert (True, 4) == (process.limiter.store_answers, process.used_today())
        for key in list(client.scan_iter()):
            client.set(key, wrong)
        assert 1 == process.call()
        await process.limiter.exchange()
        kinds = {client.type(key) for key in client.scan_iter()}

    assert (True, 5) == (process.limiter.store_answers, process.used_today())
    assert {b"hash"} == kinds


async def test_a_valkey_that_answers_too_late_counts_everything_once(valkey: tuple[Valkey, Process]) -> None:
    """Each telling waits in vain; when the server goes on it reads them all, and adds each call once."""
    server, process = valkey
    process.call()
    await process.limiter.exchange()
    server.pause()
    for _ in range(4):
        process.call()
        await process.limiter.exchange()
    assert not process.limiter.store_answers
    server.go_on()
    await asyncio.sleep(0.2)
    await process.limiter.exchange()

    assert 5 == process.used_today()
    process.call()
    await process.limiter.exchange()
    assert 6 == process.used_today()


async def test_a_database_that_is_gone_is_no_answer(database: TestDatabase) -> None:
    async with Memory.open(database) as memory:
        store = PostgresLimitStore(memory.adapters.pool, system_clock)
    for told in ([], [Spent(UseKey(new_id(), new_id(), "read"), 1, 1, 1, 0, 0, 1, 0, 1, 0)]):
        with pytest.raises(LimitStoreUnavailable):
            await store.tell(told)


async def test_a_team_that_fails_is_told_later_and_the_others_once(database: TestDatabase) -> None:
    """The team between two others is not there yet: their calls count once, its own when it is."""
    async with Memory.open(database) as memory:
        holders = sorted([await memory.key(team) for team in ("one", "two", "three")], key=lambda item: item.team_id)
        absent = UUID(int=holders[0].team_id.int + 1)
        limiter = Limiter(Meter(time.monotonic, system_clock), PostgresLimitStore(memory.adapters.pool, system_clock))
        teams = [holders[0].team_id, absent, *(item.team_id for item in holders[1:])]
        for team_id in teams:
            Process(limiter, team_id, new_id()).call(2)
        counted = "select team_id, day_calls from commonlore.limit_use where subject_id = team_id order by team_id"
        for _ in range(2):
            await limiter.exchange()
            assert not limiter.store_answers
            assert [(item.team_id, 2) for item in holders] == memory.sql(counted)

        memory.sql("insert into commonlore.team (team_id, name, known_from) values (%s, 'late', now())", absent)
        await limiter.exchange()
        assert limiter.store_answers
        assert [(team_id, 2) for team_id in teams] == memory.sql(counted)
