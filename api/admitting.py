"""How an administrator's request gets its transaction: the key is checked in it, and the scope."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from commonlore.db.assemble import Adapters
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey


@dataclass(frozen=True, slots=True)
class Admitting:
    """What every group of an administrator's operations stands on. `note` hears of every key that was used."""

    adapters: Adapters
    note: Callable[[Actor], None]

    @asynccontextmanager
    async def _admitted(self, key: PresentedKey, *, reads: bool = False) -> AsyncIterator[tuple[Actor, TeamTransaction, datetime]]:
        """The transaction of an administrator and the one instant of all it writes."""
        adapters = self.adapters
        now = adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms, snapshot=reads) as (actor, transaction):
            self.note(actor)
            actor.require("admin")
            yield actor, transaction, now
