"""Erasures that wait for a worker: those whose job was lost, and deletions whose time is over."""

from __future__ import annotations

import logging
from datetime import datetime

from commonlore.db.errors import stating
from commonlore.db.jobs import enqueue
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import CommonloreError
from commonlore.domain.jobs.kind import ERASE

log = logging.getLogger(__name__)
_SQL = statements("erasure_deletion")
_TIMEOUT_MS = 60_000


async def ask_for_unfinished(transaction: TeamTransaction, now: datetime) -> int:
    """One job an erasure of the team that is not over; how many were asked for."""
    rows = await (await transaction.execute(_SQL["unfinished"], now=now)).fetchall()
    return sum([await enqueue(transaction, ERASE, erasure_id=row["erasure_id"]) is not None for row in rows])


async def ask_for_erasures(pool: Pool, now: datetime) -> int:
    """The same for teams that are retired and whose time is over, which no other sweep looks at."""
    with stating():
        async with pool.connection() as connection:
            rows = await (await connection.execute(_SQL["list_leaving_teams"], {"now": now})).fetchall()
    asked = 0
    for row in rows:
        try:
            async with team_transaction(pool, row["team_id"], timeout_ms=_TIMEOUT_MS) as transaction:
                asked += await ask_for_unfinished(transaction, now)
        except CommonloreError as error:
            log.warning("sweep: leaving team %s: %s", row["team_id"], error.code)
    return asked
