"""Retraction and quarantine over PostgreSQL. Evidence may lie in several spaces of a credential; their ledgers are locked by epoch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db import withdrawal
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.settlement import relationships_by_evidence, revoke_supports, settle
from commonlore.db.sql import statements
from commonlore.db.submissions import Session, lock_ledgers
from commonlore.domain.ledger.settlement import Cause
from commonlore.domain.submission import Replay
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.quarantine import QuarantinedEvidence, QuarantineDisposition, QuarantineRequest, require_seen
from commonlore.domain.withdraw.retract import Retraction
from commonlore.domain.withdraw.standing import Standing, after_all

_SQL = statements("withdrawal")
_WORKER = statements("worker")


@dataclass(frozen=True, slots=True)
class PostgresRetraction:
    """`RetractionLedger` for the holder of one key. `note` hears of its use."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    note: Callable[[Actor], None]

    @asynccontextmanager
    async def retracting(self) -> AsyncIterator[RetractionSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            self.note(actor)
            yield RetractionSession(actor, transaction)


class RetractionSession(Session):
    """`RetractionWriter` inside one transaction."""

    async def find_anywhere(self, idempotency_key: str) -> Replay | None:
        for space in self.actor.spaces:
            await self.enter(space)
            if (replay := await self.find_submission(idempotency_key)) is not None:
                return replay
        return None

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[Space, dict[UUID, Standing]]:
        by_id = {space.space_id: space for space in self.actor.spaces}
        return {by_id[key]: found for key, found in (await _read_standing(self._transaction, by_id, evidence_ids)).items()}

    async def lock_standing(self, evidence_ids: Collection[UUID], now: datetime) -> tuple[dict[Space, dict[UUID, Standing]], datetime]:
        by_id = {space.space_id: space for space in self.actor.spaces}
        found, instant = await lock_standing(self._transaction, by_id, evidence_ids, now)
        return {by_id[key]: items for key, items in found.items()}, instant

    async def retract(self, space: Space, retraction: Retraction, evidence_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
        if not evidence_ids:
            return {}
        await self._transaction.enter(space.space_id)
        await withdrawal.end_evidence(
            self._transaction,
            dict.fromkeys(evidence_ids),
            action="retract",
            reason=retraction.request.reason,
            actor_profile_id=self.actor.profile_id,
            submission_id=retraction.submission_id,
            now=retraction.now,
        )
        await revoke_supports(
            self._transaction, evidence_ids, reason="evidence_retracted", actor_profile_id=self.actor.profile_id, now=retraction.now
        )
        return await _settled(self._transaction, evidence_ids, "evidence_retracted", self.actor.profile_id, retraction.now)


async def _settled(
    transaction: TeamTransaction, evidence_ids: Collection[UUID], cause: Cause, actor_profile_id: UUID | None, now: datetime
) -> dict[UUID, set[UUID]]:
    changes = await settle(transaction, evidence_ids=evidence_ids, cause=cause, actor_profile_id=actor_profile_id, now=now)
    return await relationships_by_evidence(transaction, evidence_ids, [change.relationship_id for change in changes])


async def _read_standing(
    transaction: TeamTransaction, space_ids: Collection[UUID], evidence_ids: Collection[UUID]
) -> dict[UUID, dict[UUID, Standing]]:
    """By space; a space with none of the ids is missing."""
    found: dict[UUID, dict[UUID, Standing]] = {}
    for space_id in space_ids:
        await transaction.enter(space_id)
        if standing := await withdrawal.read_standing(transaction, evidence_ids):
            found[space_id] = standing
    return found


async def lock_standing(
    transaction: TeamTransaction, space_ids: Collection[UUID], evidence_ids: Collection[UUID], now: datetime
) -> tuple[dict[UUID, dict[UUID, Standing]], datetime]:
    """How the evidence stands, by space, with the ledgers of its spaces locked; and the instant of what is decided on it, after all of it was there."""
    found = await _read_standing(transaction, space_ids, evidence_ids)
    instant = await lock_ledgers(transaction, list(found), now)
    # Only now does the state stand still; ids and owners never change.
    found = await _read_standing(transaction, list(found), evidence_ids)
    if (later := after_all((item for items in found.values() for item in items.values()), instant)) > instant:
        instant = await lock_ledgers(transaction, list(found), later)
    return found, instant


# -- quarantine


async def open_spaces(transaction: TeamTransaction) -> list[UUID]:
    """Every active space of the team, for whoever holds the database; they can be entered afterwards."""
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return sorted(transaction.epochs)


async def decide_quarantine(
    transaction: TeamTransaction,
    space_ids: Sequence[UUID],
    request: QuarantineRequest,
    *,
    held: bool,
    actor_profile_id: UUID | None,
    now: datetime,
) -> list[QuarantinedEvidence]:
    """Hold or release all of the evidence or, where one id is nothing in the spaces, none; in the order of the request.

    What is in the state already is said so, and gets no event.

    Raises:
        NotVisible: `not_found`.
    """
    found, now = await lock_standing(transaction, space_ids, request.evidence_ids, now)
    standing = {key: item for items in found.values() for key, item in items.items()}
    require_seen(request.evidence_ids, standing)
    changed: dict[UUID, set[UUID]] = {}
    for space_id, items in found.items():
        ids = [key for key, item in items.items() if item.is_quarantined != held]
        if not ids:
            continue
        await transaction.enter(space_id)
        write = withdrawal.quarantine if held else withdrawal.release
        await write(transaction, ids, reason=request.reason, actor_profile_id=actor_profile_id, now=now)
        changed |= await _settled(transaction, ids, "evidence_quarantined" if held else "evidence_released", actor_profile_id, now)
    return [_quarantined(key, standing[key], held, changed) for key in request.evidence_ids]


def _quarantined(key: UUID, item: Standing, held: bool, changed: Mapping[UUID, set[UUID]]) -> QuarantinedEvidence:
    disposition: QuarantineDisposition
    disposition = ("already_quarantined" if held else "not_quarantined") if item.is_quarantined == held else "quarantined" if held else "released"
    return QuarantinedEvidence(evidence_id=key, disposition=disposition, relationships_changed=len(changed.get(key, ())))


async def list_quarantined(transaction: TeamTransaction, space_ids: Sequence[UUID], *, limit: int) -> list[dict[str, Any]]:
    """What is in quarantine, the latest of each space first, with what was found; at most `limit` a space."""
    found: list[dict[str, Any]] = []
    for space_id in space_ids:
        await transaction.enter(space_id)
        found += await (await transaction.execute(_SQL["list_quarantined"], limit=limit)).fetchall()
    return found
