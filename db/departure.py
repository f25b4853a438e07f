"""The end of a member in the shared spaces: its conflicts lose its side in the transaction that retires it.

What it wrote stays as it is. From the same commit on no recall counts its statements, no case has it as a supporter, and
a text of another member that only its statements claimed is no longer eligible.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from commonlore.db.conflicts import review_conflicts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledgers

_SQL = statements("departure")
_ROWS = statements("ledger_rows")
# Statements that are looked at in one round.
_BATCH = 1_000


async def lock_shared_ledgers(transaction: TeamTransaction, now: datetime) -> datetime:
    """The ledger locks of the team's shared spaces, before any row is locked; the instant of what is decided under them."""
    rows = await (await transaction.execute(_SQL["shared_spaces"])).fetchall()
    transaction.epochs |= {row["space_id"]: row["space_epoch"] for row in rows}
    return await lock_ledgers(transaction, [row["space_id"] for row in rows], now)


async def settle_departure(transaction: TeamTransaction, profile_id: UUID, *, actor_profile_id: UUID | None, now: datetime) -> None:
    """For a member that this transaction has retired, under the locks of `lock_shared_ledgers`."""
    for space in await (await transaction.execute(_SQL["shared_spaces"])).fetchall():
        await transaction.enter(space["space_id"])
        found = await (await transaction.execute(_SQL["standing_statements"], profile_id=profile_id)).fetchall()
        ids = [row["relationship_id"] for row in found]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            await transaction.execute(_ROWS["settle_eligibility"], relationship_ids=batch, now=now)
            await review_conflicts(transaction, batch, profile_id=actor_profile_id, now=now)
