"""What a call meets of the limits: before its body is read, when its key was found valid, and in the head of its answer.

A call is counted when its key was found valid, in the same transaction and by the limits that this transaction read: nothing is
ever counted against a key or a team that somebody only names. Before, one that would be refused anyway is refused at once, without
the database, where the key was seen a moment ago. Keys that failed are counted by address and by prefix, all alike.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from commonlore.domain.errors import Limited
from commonlore.domain.limits.meter import BoundStanding, Buckets, LimitStore, LimitStoreUnavailable, Meter
from commonlore.domain.limits.policy import OperationClass
from commonlore.domain.limits.rate import Rate
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey

log = logging.getLogger("commonlore.limits")

# Where a key was refused by limits older than this, the database is asked whether they still hold.
_FRESH_S = 5.0
_MOST_KEYS = 10_000
# Keys that fail: so many at once, then so many a minute.
_BY_ADDRESS = Rate(per_minute=600, burst=600)
_BY_PREFIX = Rate(per_minute=60, burst=60)
_SECOND_US = 1_000_000
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass
class Limiter:
    """The limits of one process. `store` is None where processes do not tell each other."""

    meter: Meter
    store: LimitStore | None = None
    interval_s: float = 1.0
    trusted_proxies: tuple[Network, ...] = ()
    enforced: bool = True
    store_answers: bool = True
    refused: dict[str, int] = field(default_factory=lambda: {"rate_limited": 0, "quota_exceeded": 0, "failed_keys": 0})
    _seen: OrderedDict[PresentedKey, tuple[Actor, float]] = field(default_factory=OrderedDict)
    _by_address: Buckets = field(init=False)
    _by_prefix: Buckets = field(init=False)

    def __post_init__(self) -> None:
        self._by_address, self._by_prefix = Buckets(_BY_ADDRESS, self.meter.clock), Buckets(_BY_PREFIX, self.meter.clock)

    def open(self, address: str) -> Charge:
        """The charge of one call from that address."""
        return Charge(self, address)

    def seen(self, key: PresentedKey) -> tuple[Actor, float] | None:
        """Who the key was found to be, and when."""
        return self._seen.get(key)

    def note(self, key: PresentedKey, actor: Actor) -> None:
        self._seen[key] = (actor, self.meter.clock())
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_KEYS:
            self._seen.popitem(last=False)

    def failed(self, key: PresentedKey, address: str) -> None:
        """A well-formed key was refused."""
        self._seen.pop(key, None)
        self._by_address.take(address)
        self._by_prefix.take((key.team_id, key.prefix))

    def require_unsuspected(self, key: PresentedKey, address: str) -> None:
        """
        Raises:
            Limited: too many keys failed from there, or with this prefix. Valid keys that were never seen are refused alike.
        """
        wait_us = max(self._by_address.wait_us(address), self._by_prefix.wait_us((key.team_id, key.prefix)))
        if wait_us and self.enforced:
            self.refused["failed_keys"] += 1
            raise Limited("rate_limited", "too many keys were refused", retry_after_s=_seconds(wait_us))

    def refuse(self, standings: Sequence[BoundStanding]) -> None:
        """
        Raises:
            Limited: a bound says to wait; the one that says the longest.
        """
        worst = max(standings, key=lambda item: item.wait_us, default=None)
        if worst is None or not worst.wait_us or not self.enforced:
            return
        code = "quota_exceeded" if worst.is_quota else "rate_limited"
        self.refused[code] += 1
        details = {"limit": worst.name, "quota": worst.quota, "window_s": worst.window_s}
        raise Limited(code, f"the limit {worst.name} is used up", details=details, retry_after_s=_seconds(worst.wait_us))

    async def run(self) -> None:
        """Tell the store and hear from it, every `interval_s`, until cancelled."""
        while True:
            await asyncio.sleep(self.interval_s)
            await self.exchange()

    async def exchange(self) -> None:
        """Once. Where the store does not answer, this process goes on by itself and tells it all later."""
        if self.store is None:
            return
        told, sent_at = self.meter.unsent(), self.meter.clock()
        if not told and self.store_answers:
            return
        store_now: datetime | None
        try:
            store_now, standings = await self.store.tell(told)
            answers = True
        except LimitStoreUnavailable as error:
            store_now, standings, answers = error.store_now, list(error.standings), False
        if answers != self.store_answers:
            log.warning("the store of limits answers again" if answers else "the store of limits does not answer; this process counts by itself")
        self.store_answers = answers
        if store_now is not None:
            self.meter.agree(told, standings, sent_at=sent_at, store_now=store_now)


def _seconds(wait_us: int) -> int:
    return max(1, -(-wait_us // _SECOND_US))


@dataclass(slots=True)
class Charge:
    """One call: counted once, however many transactions it opens."""

    limiter: Limiter | None = None
    address: str = ""
    key: PresentedKey | None = None
    operation_class: OperationClass = "read"
    standings: Sequence[BoundStanding] = ()
    settled: bool = False

    def present(self, key: PresentedKey) -> None:
        """The key as the caller sent it, before anything is known of it.

        Raises:
            Limited: too many keys failed.
        """
        self.key = key
        if self.limiter is not None and self.limiter.seen(key) is None:
            self.limiter.require_unsuspected(key, self.address)

    def begin(self, operation_class: OperationClass) -> None:
        """What the call is about to do.

        Raises:
            Limited: it would be refused anyway, as far as this process knows.
        """
        self.operation_class = operation_class
        if self.limiter is None or self.key is None:
            return
        seen = self.limiter.seen(self.key)
        if seen is not None and self.limiter.meter.clock() - seen[1] < _FRESH_S:
            actor = seen[0]
            self._refuse(self.limiter.meter.standings(actor.credential_id, actor.team_id, operation_class, actor.limits))

    def settle(self, actor: Actor) -> None:
        """The key was found valid: count the call.

        Raises:
            Limited
        """
        if self.limiter is None or self.key is None or self.settled:
            return
        self.settled = True
        self.limiter.note(self.key, actor)
        self._refuse(self.limiter.meter.take(actor.credential_id, actor.team_id, self.operation_class, actor.limits))

    def _refuse(self, standings: Sequence[BoundStanding]) -> None:
        assert self.limiter is not None
        self.standings = standings
        self.limiter.refuse(standings)

    def fail(self) -> None:
        """The answer is that the key is not valid."""
        if self.limiter is not None and self.key is not None:
            self.limiter.failed(self.key, self.address)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """`RateLimit-Policy`, `RateLimit` of the bound that has least left, and whether processes count together; none for strangers."""
        if not self.standings:
            return []
        policy = ", ".join(f'"{item.name}";q={item.quota};w={item.window_s}' for item in self.standings)
        least = max(self.standings, key=lambda item: (item.wait_us, -item.remaining / item.full))
        found = [
            (b"ratelimit-policy", policy.encode("ascii")),
            (
                b"ratelimit",
                f'"{least.name}";r={least.remaining};t={max(least.reset_s, _seconds(least.wait_us) if least.wait_us else 0)}'.encode("ascii"),
            ),
        ]
        if self.limiter is not None and not self.limiter.store_answers:
            found.append((b"commonlore-degraded", b"limit_store_unavailable"))
        return found


def client_address(peer: str, forwarded_for: Sequence[bytes], trusted: Sequence[Network]) -> str:
    """Whose address a call counts by: the peer's, or behind proxies that are trusted the last one that is not theirs. IPv6 by its /64."""
    found = _address(peer)
    hops = [hop.strip() for value in forwarded_for for hop in value.decode("latin-1").split(",")]
    while found is not None and hops and any(found in network for network in trusted if network.version == found.version):
        found = _address(hops.pop()) or None
    if found is None:
        return peer
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
