"""The review of cases that are due, each in a transaction of its own: what the votes say, applied where the team lets it count by itself.

A person's decision comes first: the review takes the same locks, and a case that is closed by then is left alone. What it
writes is an event of the case and its new state, once; looked at again, a case that stands as before gets no second event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from commonlore.db.conflict_closing import close_by_decision, scope_of
from commonlore.db.conflict_views import read_cases, review_rules
from commonlore.db.conflicts import Write, review_scopes, write_events
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledger
from commonlore.domain.conflict.policy import Verdict
from commonlore.domain.conflict.resolution import Resolution, sides_of
from commonlore.domain.conflict.view import preview
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import TemporalView

_SQL = statements("conflict_review")
_CASES = statements("conflict")
_WORKER = statements("worker")
_TIMEOUT_MS = 60_000
# A case that nothing happens to is looked at again after this: the team's rules may have changed.
AGAIN_AFTER = timedelta(hours=1)
_PRESENT = TemporalView()


@dataclass(frozen=True, slots=True)
class CaseReviews:
    """The due cases of one space of one team, under the worker's role."""

    pool: Pool
    team_id: UUID
    space_id: UUID

    async def due(self, now: datetime, *, most: int = 100) -> list[UUID]:
        """Cases that want a review, the longest due first; none for a space that is gone."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await self._open(transaction):
                return []
            return [row["conflict_id"] for row in await (await transaction.execute(_SQL["due"], now=now, most=most)).fetchall()]

    async def review(self, conflict_id: UUID, now: datetime) -> str:
        """Review one case and say what became of it: `resolved`, `dismissed`, `overdue` or `unchanged`."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await self._open(transaction):
                return "unchanged"
            instant = await lock_ledger(transaction, now)
            row = await self._current(transaction, conflict_id, instant)
            if row is None or row["status"] not in ("open", "overdue"):
                return "dismissed" if row is not None and row["status"] == "dismissed" else "unchanged"
            write = Write(transaction, None, max(instant, row["last_known_from"]))
            verdict = await self._verdict(transaction, conflict_id, now)
            became = await _apply(write, row, verdict)
            if became != "unchanged":
                transaction.noted.add("conflict", conflict_id)
            await transaction.execute(_SQL["reviewed"], conflict_id=conflict_id, next_review_at=now + AGAIN_AFTER)
            return became

    async def _current(self, transaction: TeamTransaction, conflict_id: UUID, instant: datetime) -> Mapping[str, Any] | None:
        """The case, locked, after it was brought in step with what stands: an author may have left without a write of the ledger."""
        row = await (await transaction.execute(_CASES["lock_case"], conflict_id=conflict_id)).fetchone()
        if row is None or row["status"] not in ("open", "overdue") or row["kind"] != "cross_profile_current_state":
            return row
        if conflict_id not in await review_scopes(transaction, [scope_of(row)], profile_id=None, now=instant):
            return row
        return await (await transaction.execute(_CASES["lock_case"], conflict_id=conflict_id)).fetchone()

    async def _verdict(self, transaction: TeamTransaction, conflict_id: UUID, now: datetime) -> Verdict | None:
        """What the policy says; None for a case of texts, which people alone decide."""
        _, rules = await review_rules(transaction)
        space = Space(self.space_id, "team_shared", None, True)
        [(_, case)] = await read_cases(transaction, _PRESENT, {space: [conflict_id]})
        return preview(case, rules, now)

    async def _open(self, transaction: TeamTransaction) -> bool:
        rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
        transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
        if self.space_id not in transaction.epochs:
            return False
        await transaction.enter(self.space_id)
        return True


async def is_review_due(transaction: TeamTransaction, now: datetime) -> bool:
    """Whether any case of the open space wants a review."""
    row = await (await transaction.execute(_SQL["is_due"], now=now)).fetchone()
    return row is not None and bool(row["is_due"])


async def _apply(write: Write, row: Mapping[str, Any], verdict: Verdict | None) -> str:
    if verdict is not None and verdict.applies and verdict.outcome == "resolve":
        sides = sides_of(await (await write.transaction.execute(_CASES["sides"], conflict_id=row["conflict_id"])).fetchall())
        losing = sorted(key for position, side in sides.items() if position != verdict.preferred_position_id for key in side.relationship_ids)
        assert verdict.preferred_position_id is not None
        preferred = sides[verdict.preferred_position_id]
        decision = Resolution(
            "resolved", tuple(losing), verdict.preferred_position_id, preferred.effective_at or write.now, preferred.effective_time_basis
        )
        await close_by_decision(write, row, decision, reason=verdict.reason, closed_by="policy")
        return "resolved"
    if verdict is not None and verdict.applies and verdict.outcome == "dismiss":
        await close_by_decision(write, row, Resolution("dismissed"), reason=verdict.reason, closed_by="policy")
        return "dismissed"
    if row["status"] == "overdue" or (verdict is not None and verdict.outcome == "no_op"):
        return "unchanged"
    reason = "a person decides about texts" if verdict is None else verdict.reason if verdict.applies else f"{verdict.reason}: a person confirms"
    version, ordinal = row["version"] + 1, row["last_ordinal"] + 1
    await write_events(write, row["conflict_id"], [{"action": "marked_overdue", "reason": reason}], version=version, after=row["last_ordinal"])
    await write.transaction.execute(_SQL["mark_overdue"], conflict_id=row["conflict_id"], version=version, last_ordinal=ordinal)
    return "overdue"
