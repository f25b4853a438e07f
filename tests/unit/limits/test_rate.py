"""GCRA against a bucket of tokens counted in fractions, and what several processes let in together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from commonlore.domain.limits.meter import Meter, Spent, Standing, UseKey
from commonlore.domain.limits.policy import Bounds, ClassSetting, Limits, LimitSetting, limits_of
from commonlore.domain.limits.rate import Rate

TEAM, KEY, OTHER = UUID(int=1), UUID(int=2), UUID(int=3)
START = datetime(2026, 7, 31, 23, 59, 50, tzinfo=UTC)
RATES = st.builds(Rate, st.integers(1, 100_000), st.integers(1, 50))


def setting(**classes: ClassSetting) -> Limits:
    """A key's own numbers; its team has no bounds."""
    free = LimitSetting(**{name: ClassSetting(0, 0, 0, 0) for name in ("read", "write", "admin", "heavy")})
    return limits_of(text_of(LimitSetting(**classes)), text_of(free), "{}")


def text_of(numbers: LimitSetting) -> str:
    return msgspec.json.encode(numbers).decode()


@given(RATES, st.lists(st.integers(0, 3_000_000), max_size=80))
def test_a_call_is_let_in_exactly_when_a_token_is_there(rate: Rate, gaps: list[int]) -> None:
    """Tokens come at the interval's pace up to the burst, and each call that is let in takes one. `wait_us` is exact to the microsecond."""
    full_at, now, tokens, last = 0, 10_000_000, Fraction(rate.burst), 10_000_000
    for gap in gaps:
        now += gap
        tokens, last = min(Fraction(rate.burst), tokens + Fraction(now - last, rate.interval_us)), now
        wait = rate.wait_us(full_at, now)
        assert (wait == 0) == (tokens >= 1)
        assert int(tokens) == rate.remaining(full_at, now)
        if wait:
            assert rate.wait_us(full_at, now + wait) == 0 < rate.wait_us(full_at, now + wait - 1)
        else:
            full_at, tokens = rate.taken(full_at, now), tokens - 1


@given(RATES, st.lists(st.integers(0, 200_000), min_size=1, max_size=120))
def test_no_window_has_more_than_burst_and_rate(rate: Rate, gaps: list[int]) -> None:
    full_at, now, let_in = 0, 10_000_000, []
    for gap in gaps:
        now += gap
        if not rate.wait_us(full_at, now):
            full_at = rate.taken(full_at, now)
            let_in.append(now)
    for place, first in enumerate(let_in):
        for number, last in enumerate(let_in[place:], start=1):
            assert number <= rate.burst + (last - first) // rate.interval_us


def test_the_interval_is_rounded_up() -> None:
    assert [60_000_000, 8_571_429, 600] == [Rate(number, 1).interval_us for number in (1, 7, 100_000)]


@dataclass
class Clock:
    at: float = 1000.0

    def __call__(self) -> float:
        return self.at

    def wall(self) -> datetime:
        return START + timedelta(seconds=self.at - 1000.0)


@dataclass
class ModelStore:
    """What a store promises, in one process; its clock is an hour ahead of the others'."""

    clock: Clock
    full_at: dict[UseKey, float] = field(default_factory=dict)
    day: dict[tuple[UseKey, object], int] = field(default_factory=dict)
    month: dict[tuple[UseKey, object], int] = field(default_factory=dict)

    async def tell(self, spent: list[Spent]) -> tuple[datetime, list[Standing]]:
        now, found = self.clock.wall() + timedelta(hours=1), []
        for item in spent:
            full = max(self.full_at.get(item.key, 0.0), self.clock.at - item.age_us / 1e6) + item.calls * item.interval_us / 1e6
            full = max(full, self.clock.at + item.debt_us / 1e6)
            self.full_at[item.key] = full
            day, month = (item.key, now.date()), (item.key, (now.year, now.month))
            self.day[day] = self.day.get(day, 0) + item.calls
            self.month[month] = self.month.get(month, 0) + item.calls
            found.append(Standing(item.key, int((full - self.clock.at) * 1e6), self.day[day], self.month[month]))
        return now, found


async def exchange(meter: Meter, store: ModelStore) -> None:
    told, sent_at = meter.unsent(), meter.clock()
    now, standings = await store.tell(told)
    meter.agree(told, standings, sent_at=sent_at, store_now=now)


def let_in(meter: Meter, limits: Limits, key: UUID = KEY) -> bool:
    return not any(item.wait_us for item in meter.take(key, TEAM, "read", limits))


@given(st.integers(1, 4), st.integers(60, 6_000), st.integers(1, 20), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300)), max_size=150))
def test_processes_together_let_in_little_more_than_one_would(processes: int, per_minute: int, burst: int, steps: list[tuple[int, int]]) -> None:
    """At most (processes - 1) x (burst + rate x a second between two tellings) above burst + rate x time; over time the rate holds."""

    async def run() -> None:
        clock = Clock()
        store, limits = ModelStore(clock), setting(read=ClassSetting(per_minute, min(burst, per_minute)))
        meters, admitted, told_at = [Meter(clock, clock.wall) for _ in range(processes)], 0, clock.at
        for who, gap_ms in steps:
            clock.at += gap_ms / 1000
            if clock.at - told_at >= 1.0:
                for meter in meters:
                    await exchange(meter, store)
                for meter in meters:  # the first were told before the last had told theirs
                    await exchange(meter, store)
                told_at = clock.at
            admitted += let_in(meters[who % processes], limits)
            elapsed, once = clock.at - 1000.0, min(burst, per_minute)
            # A step may be 0.3 s long, so that two tellings are at most 1.3 s apart.
            more = (processes - 1) * (once + per_minute / 60 * 1.3 + 1)
            assert admitted <= once + per_minute / 60 * elapsed + more

    asyncio.run(run())


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_one_process_counts_the_same_with_and_without_a_store(tellings: list[bool]) -> None:
    async def run(told: list[bool]) -> list[bool]:
        clock = Clock()
        store, meter, limits = ModelStore(clock), Meter(clock, clock.wall), setting(read=ClassSetting(600, 5))
        outcomes = []
        for tell in told:
            clock.at += 0.03125
            outcomes.append(let_in(meter, limits))
            if tell:
                await exchange(meter, store)
        return outcomes

    assert asyncio.run(run([False] * len(tellings))) == asyncio.run(run(tellings))


async def test_quotas_begin_anew_with_the_day_of_the_store() -> None:
    """The store's clock is an hour ahead: there it is the next day, and the next month, already."""
    clock = Clock()
    store, meter, limits = ModelStore(clock), Meter(clock, clock.wall), setting(read=ClassSetting(per_day=2, per_month=3))
    assert [True, True, False] == [let_in(meter, limits) for _ in range(3)]
    refused = [item for item in meter.standings(KEY, TEAM, "read", limits) if item.wait_us]
    assert [("key-read-day", 0, True)] == [(item.name, item.remaining, item.is_quota) for item in refused]
    assert 10_000_000 <= refused[0].wait_us <= 11_000_000

    await exchange(meter, store)
    clock.at += 86_400
    assert [True, False] == [let_in(meter, limits) for _ in range(2)]
    assert ["key-read-month"] == [item.name for item in meter.standings(KEY, TEAM, "read", limits) if item.wait_us]


async def test_a_refused_call_takes_nothing_from_anybody() -> None:
    clock = Clock()
    meter, limits = Meter(clock, clock.wall), setting(read=ClassSetting(60, 1, per_day=10))
    outcomes = [let_in(meter, limits) for _ in range(5)]

    assert [True, False, False, False, False] == outcomes
    assert 9 == next(item.remaining for item in meter.standings(KEY, TEAM, "read", limits) if item.name == "key-read-day")
    assert let_in(meter, limits, OTHER)


async def test_what_a_telling_carries_while_calls_go_on_is_neither_lost_nor_counted_twice() -> None:
    clock = Clock()
    store, meter, limits = ModelStore(clock), Meter(clock, clock.wall), setting(read=ClassSetting(600, 100))
    for _ in range(3):
        let_in(meter, limits)
    told, sent_at = meter.unsent(), meter.clock()
    let_in(meter, limits)
    now, standings = await store.tell(told)
    meter.agree(told, standings, sent_at=sent_at, store_now=now)
    await exchange(meter, store)
    await exchange(meter, store)

    assert {4} == set(store.day.values())


def test_a_ceiling_and_a_default_bound_what_a_team_sets() -> None:
    team = text_of(LimitSetting(read=ClassSetting(0, per_day=900), write=ClassSetting(per_minute=60)))
    ceiling = text_of(LimitSetting(read=ClassSetting(per_minute=600, per_day=500)))
    limits = limits_of("{}", team, ceiling)

    assert Bounds(Rate(600, 600), 500, None) == limits.bounds("team", "read")
    assert Bounds(Rate(60, 60), None, None) == limits.bounds("team", "write")
    assert Bounds(Rate(60_000, 2_000), None, None) == limits.bounds("key", "read")


async def test_a_new_month_forgets_who_used_nothing_since() -> None:
    """So that keys which are gone take no room for ever; what was not told yet stays."""
    clock = Clock()
    store, meter, limits = ModelStore(clock), Meter(clock, clock.wall), setting(read=ClassSetting(600, 5, per_month=100))
    assert let_in(meter, limits)
    await exchange(meter, store)
    assert let_in(meter, limits, OTHER)

    clock.at += 40 * 86_400
    assert let_in(meter, limits, UUID(int=4))

    assert {TEAM, OTHER, UUID(int=4)} == {key.subject_id for key in meter._uses}
    assert 2 == sum(item.calls for item in meter.unsent() if item.key.subject_id != TEAM)
