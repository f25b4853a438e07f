"""How much a team keeps, for teams that have a bound: counted now and then, and what this process stored since added to it.

A count reads every text of a space, so it is taken at most every ten seconds, and never in more than a fiftieth of the time. Until the
next one several processes do not see what the others store: so much may be kept beyond the bound. What was erased is free again then.
Teams without a bound are never counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.errors import Limited
from commonlore.domain.limits.policy import StorageBounds

_SQL = statements("limits")
_LEAST_AGE_S, _SHARE = 10.0, 50


@dataclass(slots=True)
class Kept:
    """Of one space: texts and bytes, when they were counted, and how long that took."""

    texts: int
    bytes: int
    counted_at: float
    seconds: float


@dataclass
class KeptCounts:
    """What one process knows. `clock`: seconds that never go back."""

    clock: Callable[[], float] = time.monotonic
    _counts: dict[tuple[UUID, UUID], Kept] = field(default_factory=dict)

    async def of_space(self, transaction: TeamTransaction, space_id: UUID) -> Kept:
        """The open space's."""
        known = self._counts.get((transaction.team_id, space_id))
        began = self.clock()
        if known is not None and began - known.counted_at < max(_LEAST_AGE_S, _SHARE * known.seconds):
            return known
        row = await (await transaction.execute(_SQL["count_texts"])).fetchone()
        assert row is not None
        found = self._counts[transaction.team_id, space_id] = Kept(row["texts"], row["bytes"], began, self.clock() - began)
        return found

    async def of_team(self, transaction: TeamTransaction, space_id: UUID) -> Kept:
        """All spaces together; `space_id` is the one that is open, before and after."""
        cursor = await transaction.connection.execute(_SQL["list_open_spaces"], {"team_id": transaction.team_id})
        spaces, readable = {row["space_id"]: row["space_epoch"] for row in await cursor.fetchall()}, dict(transaction.epochs)
        texts = size = 0
        try:
            transaction.epochs.update(spaces)
            for place in spaces.keys() | {space_id}:
                await transaction.enter(place)
                found = await self.of_space(transaction, place)
                texts, size = texts + found.texts, size + found.bytes
        finally:
            transaction.epochs = readable
        await transaction.enter(space_id)
        return Kept(texts, size, 0.0, 0.0)

    def add(self, team_id: UUID, space_id: UUID, texts: int, size: int) -> None:
        """This process stored so much more. Where the write is rolled back after all, it counts until the next count."""
        known = self._counts.get((team_id, space_id))
        if known is not None:
            known.texts, known.bytes = known.texts + texts, known.bytes + size


@dataclass(frozen=True, slots=True)
class Room:
    """What was kept before a write; None where nothing bounds it."""

    bounds: StorageBounds
    space: Kept | None = None
    team: Kept | None = None

    def require(self, texts: int, size: int) -> None:
        """
        Raises:
            Limited: `storage_full`, so many more texts and bytes go beyond a bound.
        """
        for whose, kept, most_texts, most_bytes in (
            ("space", self.space, self.bounds.space_texts, self.bounds.space_bytes),
            ("team", self.team, self.bounds.texts, self.bounds.bytes),
        ):
            for unit, most, number in (("texts", most_texts, texts), ("bytes", most_bytes, size)):
                before = 0 if kept is None else getattr(kept, unit)
                if most is not None and number and before + number > most:
                    details = {"limit": f"{whose}-{unit}", "quota": most, "kept": before}
                    raise Limited("storage_full", f"the {whose} keeps {before} of at most {most} {unit}", details=details)


async def look_for_room(transaction: TeamTransaction, counts: KeptCounts, bounds: StorageBounds, space_id: UUID) -> Room | None:
    """Counts where it must; None where nothing bounds. The space is open, before and after."""
    if bounds == StorageBounds():
        return None
    space = team = None
    if bounds.space_texts is not None or bounds.space_bytes is not None:
        space = await counts.of_space(transaction, space_id)
        space = Kept(space.texts, space.bytes, space.counted_at, space.seconds)
    if bounds.texts is not None or bounds.bytes is not None:
        team = await counts.of_team(transaction, space_id)
    return Room(bounds, space, team)
