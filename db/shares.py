"""A fair share of the pool: no team's calls hold all connections while another team waits.

A group is a team whose key was seen to be valid; all keys that this process has not seen yet are one group, so that a forged key
never takes from the team that it names. A quarter of the connections is left free by whoever has its fair share, which is the
pool divided by the groups that hold or wait and one more; up to that a group takes any free connection. The waiting of a group
stand in line, and groups take turns.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from commonlore.domain.errors import Unavailable
from commonlore.domain.tenancy.key import PresentedKey

_MOST_WAITING = 200
_WAIT_S = 5.0
_MOST_KNOWN = 10_000


class KnownKeys:
    """Keys that this process saw to be valid, the last used ones. No proof: every transaction checks its key."""

    def __init__(self, most: int = _MOST_KNOWN) -> None:
        self._most = most
        self._known: OrderedDict[PresentedKey, None] = OrderedDict()

    def __contains__(self, key: PresentedKey) -> bool:
        return key in self._known

    def note(self, key: PresentedKey) -> None:
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def forget(self, key: PresentedKey) -> None:
        self._known.pop(key, None)


class Shares:
    """Who holds how many of `size` connections. For one event loop."""

    def __init__(self, size: int, *, most_waiting: int = _MOST_WAITING, wait_s: float = _WAIT_S) -> None:
        self._size, self._most_waiting, self._wait_s = size, most_waiting, wait_s
        self._held: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def held(self) -> dict[Hashable, int]:
        """Connections by group; a group that holds none is not there."""
        return dict(self._held)

    @property
    def waiting(self) -> int:
        """How many wait for a connection."""
        return sum(map(len, self._waiting.values()))

    def _allows(self, group: Hashable) -> bool:
        free = self._size - self._held.total()
        if free <= 0:
            return False
        groups = len(self._held.keys() | self._waiting.keys() | {group})
        return self._held[group] < max(1, self._size // (groups + 1)) or free > self._size // 4

    @asynccontextmanager
    async def one(self, group: Hashable) -> AsyncIterator[None]:
        """The right to one connection for the length of the block.

        Raises:
            Unavailable: `overloaded`, too many wait already or it took too long.
        """
        if group not in self._waiting and self._allows(group):
            self._held[group] += 1
        else:
            await self._wait(group)
        try:
            yield
        finally:
            self._give_back(group)

    async def _wait(self, group: Hashable) -> None:
        if self.waiting >= self._most_waiting:
            raise _overloaded()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(turn)
        try:
            async with asyncio.timeout(self._wait_s):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._give_back(group)  # it was our turn already
            else:
                self._leave_line(group, turn)
            if isinstance(error, TimeoutError):
                raise _overloaded() from error
            raise

    def _leave_line(self, group: Hashable, turn: asyncio.Future[None]) -> None:
        line = self._waiting.get(group, deque())
        if turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[group]
        self._hand_out()

    def _give_back(self, group: Hashable) -> None:
        self._held[group] -= 1
        if not self._held[group]:
            del self._held[group]
        self._hand_out()

    def _hand_out(self) -> None:
        while allowed := [group for group in self._waiting if self._allows(group)]:
            group = allowed[0]
            line = self._waiting[group]
            turn = line.popleft()
            if line:
                self._waiting.move_to_end(group)
            else:
                del self._waiting[group]
            if not turn.cancelled():  # its caller may have been cancelled a moment ago
                self._held[group] += 1
                turn.set_result(None)


def _overloaded() -> Unavailable:
    return Unavailable("overloaded", "no database connection became free in time", retry_after_s=1)
