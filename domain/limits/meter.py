"""What keys and teams have used, as one process knows it, and how it agrees with the others.

A process decides by itself, so that no call waits for a store. What it let in it tells a store that all processes share, once in a
while, and takes over what the store then knows: the calls of all. Between two tellings it sees its own calls alone, so that P
processes may together let in what the others do in the meantime as well: at most (P - 1) x (burst + rate x the time between two
tellings) more than one would, each time a burst comes. The store's debt grows by every call, so that over time the rate holds.

Times here are of a clock that never goes back; debts, not instants, go to and fro, so that the store's clock alone counts over time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol
from uuid import UUID

from commonlore.domain.limits.policy import Bounds, Limits, OperationClass, SubjectKind
from commonlore.domain.limits.rate import Rate

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class UseKey:
    """Whose calls of which class: `subject_id` is a credential's id, or that of the team for all of its keys together."""

    team_id: UUID
    subject_id: UUID
    operation_class: OperationClass


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process tells: its calls since it last told, at so many microseconds each; what it knows, in case the store has lost it.

    The bucket of the store is full at the later of `max(its own, age_us ago) + calls x interval_us` and `debt_us` from now: as
    if the calls had come with the first of them, and never emptier than this process alone knows. So calls that came at the
    full rate owe nothing, however late they are told.
    """

    key: UseKey
    calls: int
    total: int  # of this process since it began
    interval_us: int
    age_us: int
    debt_us: int
    day: int  # since the first of year 1, UTC
    known_day_calls: int
    month: int  # since the year 0
    known_month_calls: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What the store knows, all processes together: how long until the bucket is full, and the calls of this day and month."""

    key: UseKey
    debt_us: int
    day_calls: int
    month_calls: int


class LimitStore(Protocol):
    """Where processes tell each other what was used."""

    async def tell(self, spent: list[Spent]) -> tuple[datetime, list[Standing]]:
        """The store's time and what it knows of each, in any order. `spent` is sorted and may be empty.

        Raises:
            LimitStoreUnavailable: it does not answer, or not for all. What it says nothing of it may have taken or not.
        """
        ...


class LimitStoreUnavailable(Exception):
    """The store does not answer. `store_now` and `standings`: what it said before that, of those it was told of."""

    def __init__(self, store_now: datetime | None = None, standings: Sequence[Standing] = ()) -> None:
        super().__init__()
        self.store_now, self.standings = store_now, standings


@dataclass(frozen=True, slots=True)
class BoundStanding:
    """One bound as a caller sees it: `quota` calls in `window_s`; `remaining` of at most `full` may come now, all of them in `reset_s`."""

    name: str
    quota: int
    window_s: int
    full: int
    remaining: int
    reset_s: int
    wait_us: int = 0
    is_quota: bool = False


@dataclass(slots=True)
class _Use:
    full_at_us: int = 0
    day: int = 0
    day_calls: int = 0
    month: int = 0
    month_calls: int = 0
    unsent: int = 0
    since_us: int = 0
    total: int = 0
    interval_us: int = 0
    changed: bool = False


@dataclass
class Meter:
    """The uses of one process. `clock`: seconds that never go back; `wall`: the time until a store says better. Not for several threads."""

    clock: Callable[[], float]
    wall: Callable[[], datetime]
    _uses: dict[UseKey, _Use] = field(default_factory=dict)
    _offset: timedelta | None = None
    _day: tuple[float, int, int] = (float("-inf"), 0, 0)

    def now(self) -> datetime:
        """The store's time, as far as it is known."""
        return self.wall() if self._offset is None else datetime.fromtimestamp(self.clock(), UTC) + self._offset

    def standings(self, credential_id: UUID, team_id: UUID, operation_class: OperationClass, limits: Limits) -> list[BoundStanding]:
        """Every bound of one more call, the key's first. The call may come if none of them says to wait."""
        found: list[BoundStanding] = []
        for kind, key, bounds in _subjects(credential_id, team_id, operation_class, limits):
            found += self._standings(kind, self._use(key), bounds, operation_class)
        return found

    def take(self, credential_id: UUID, team_id: UUID, operation_class: OperationClass, limits: Limits) -> list[BoundStanding]:
        """The bounds of a call that is counted, after it, none of which says to wait; or of one that must wait, and is not counted."""
        before = self.standings(credential_id, team_id, operation_class, limits)
        refused = any(item.wait_us for item in before)
        now_us = self._now_us()
        for _, key, bounds in _subjects(credential_id, team_id, operation_class, limits):
            use = self._use(key)
            use.changed = True
            if refused:
                continue
            if bounds.rate is not None:
                use.full_at_us = bounds.rate.taken(use.full_at_us, now_us)
            use.interval_us = bounds.rate.interval_us if bounds.rate else 0
            use.since_us = use.since_us if use.unsent else now_us
            use.unsent += 1
            use.total += 1
            use.day_calls += 1
            use.month_calls += 1
        if refused:
            return before
        return [replace(item, wait_us=0) for item in self.standings(credential_id, team_id, operation_class, limits)]

    def _now_us(self) -> int:
        return int(self.clock() * _SECOND_US)

    def _use(self, key: UseKey) -> _Use:
        day, month = self._today()
        use = self._uses.get(key)
        if use is None:
            use = self._uses[key] = _Use()
        if use.day != day:
            use.day, use.day_calls = day, 0
        if use.month != month:
            use.month, use.month_calls = month, 0
        return use

    def _today(self) -> tuple[int, int]:
        """Day and month by the store's clock, looked up once a second."""
        at = self.clock()
        if at - self._day[0] >= 1.0:
            now = self.now()
            month = now.year * 12 + now.month - 1
            if month != self._day[2]:
                self._forget(month)
            self._day = (at, now.toordinal(), month)
        return self._day[1], self._day[2]

    def _forget(self, month: int) -> None:
        """The uses that say nothing any more: of another month, told, and with a full bucket."""
        now_us = self._now_us()
        self._uses = {key: use for key, use in self._uses.items() if use.month == month or use.changed or use.full_at_us > now_us}

    def _standings(self, kind: SubjectKind, use: _Use, bounds: Bounds, operation_class: OperationClass) -> list[BoundStanding]:
        found, now_us = [], self._now_us()
        if bounds.rate is not None:
            debt = max(0, use.full_at_us - now_us)
            found.append(
                BoundStanding(
                    f"{kind}-{operation_class}",
                    bounds.rate.per_minute,
                    60,
                    bounds.rate.burst,
                    bounds.rate.remaining(use.full_at_us, now_us),
                    -(-debt // _SECOND_US),
                    bounds.rate.wait_us(use.full_at_us, now_us),
                )
            )
        for period, quota, used in (("day", bounds.per_day, use.day_calls), ("month", bounds.per_month, use.month_calls)):
            if quota is not None:
                left, window = self._until_next(period), {"day": 86_400, "month": 30 * 86_400}[period]
                wait_us = left * _SECOND_US if used >= quota else 0
                found.append(
                    BoundStanding(f"{kind}-{operation_class}-{period}", quota, window, quota, max(0, quota - used), left, wait_us, is_quota=True)
                )
        return found

    def _until_next(self, period: str) -> int:
        """Seconds until the next day or month of UTC begins, at least one."""
        now = self.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        after = midnight + timedelta(days=1) if period == "day" else (midnight.replace(day=1) + timedelta(days=32)).replace(day=1)
        return max(1, int((after - now).total_seconds()) + 1)

    def unsent(self) -> list[Spent]:
        """What the store should hear, sorted: what was used, and what was refused, since the last `sent`."""
        now_us = self._now_us()
        told = []
        for key, use in self._uses.items():
            if use.changed:
                age, debt = (now_us - use.since_us if use.unsent else 0), max(0, use.full_at_us - now_us)
                day_calls, month_calls = max(0, use.day_calls - use.unsent), max(0, use.month_calls - use.unsent)
                told.append(Spent(key, use.unsent, use.total, use.interval_us, age, debt, use.day, day_calls, use.month, month_calls))
        return sorted(told, key=lambda item: item.key)

    def agree(self, told: Iterable[Spent], standings: Iterable[Standing], *, sent_at: float, store_now: datetime) -> None:
        """Take over what the store knows. Calls since the telling, and those it says nothing of, are still to be told.

        `sent_at`: by `clock`, before the store was told.
        """
        calls = {item.key: item.calls for item in told}
        offset = store_now - datetime.fromtimestamp(sent_at, UTC)
        if self._offset is None or abs(offset - self._offset) > timedelta(milliseconds=50):
            self._offset, self._day = offset, (float("-inf"), 0, 0)
        for standing in standings:
            use = self._use(standing.key)
            use.unsent = max(0, use.unsent - calls.get(standing.key, 0))
            use.changed = use.unsent > 0
            # From before the telling: were it from after, each telling would add the way there to the debt.
            sent_us = int(sent_at * _SECOND_US)
            use.full_at_us = max(use.full_at_us if use.unsent else 0, sent_us + standing.debt_us + use.unsent * use.interval_us)
            use.since_us = sent_us
            use.day_calls, use.month_calls = standing.day_calls + use.unsent, standing.month_calls + use.unsent


def _subjects(credential_id: UUID, team_id: UUID, operation_class: OperationClass, limits: Limits) -> tuple[tuple[SubjectKind, UseKey, Bounds], ...]:
    return (
        ("key", UseKey(team_id, credential_id, operation_class), limits.bounds("key", operation_class)),
        ("team", UseKey(team_id, team_id, operation_class), limits.bounds("team", operation_class)),
    )


@dataclass
class Buckets:
    """Buckets of one rate by anything, the last used ones: for callers without a valid key."""

    rate: Rate
    clock: Callable[[], float]
    most: int = 10_000
    _full_at_us: dict[object, int] = field(default_factory=dict)

    def wait_us(self, name: object) -> int:
        """How long until one more may come; 0 where it may come now."""
        return self.rate.wait_us(self._full_at_us.get(name, 0), int(self.clock() * _SECOND_US))

    def take(self, name: object) -> None:
        now_us = int(self.clock() * _SECOND_US)
        at = self.rate.taken(self._full_at_us.pop(name, 0), now_us)
        if len(self._full_at_us) >= self.most:
            self._full_at_us.pop(next(iter(self._full_at_us)))
        self._full_at_us[name] = at
