"""Erasures as administrators see them: listed, found by what they took, restored, and their receipts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.db.erasure.scope import spaces
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.erasure.request import ErasureState, TargetKind
from commonlore.domain.errors import Conflict, NotVisible

_SQL = statements("erasure_scope")
_DELETION = statements("erasure_deletion")


@dataclass(frozen=True, slots=True)
class ErasureReport:
    erasure_id: UUID
    target_kind: TargetKind
    target_sha256: bytes
    reason: str
    actor_profile_id: UUID
    state: ErasureState
    known_from: datetime
    purge_at: datetime | None
    restored_at: datetime | None
    finished_at: datetime | None


async def list_erasures(transaction: TeamTransaction, *, item_id: UUID | None, limit: int) -> list[ErasureReport]:
    """The newest first; with an item, those that took it from any space of the team that still is there."""
    taken = None if item_id is None else await _took(transaction, item_id)
    return await _read(transaction, taken, limit)


async def _took(transaction: TeamTransaction, item_id: UUID) -> list[UUID]:
    found: set[UUID] = set()
    for space in await spaces(transaction, "spaces_of_team"):
        await transaction.enter(space.space_id)
        rows = await (await transaction.execute(_SQL["erasures_of_item"], item_id=item_id)).fetchall()
        found |= {row["erasure_id"] for row in rows}
    return sorted(found)


async def _read(transaction: TeamTransaction, erasure_ids: list[UUID] | None, limit: int) -> list[ErasureReport]:
    rows = await (await transaction.execute(_SQL["list_erasures"], erasure_ids=erasure_ids, limit=limit)).fetchall()
    return [ErasureReport(**{**row, "target_sha256": bytes(row["target_sha256"])}) for row in rows]


async def describe_erasure(transaction: TeamTransaction, erasure_id: UUID) -> ErasureReport:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    found = await _read(transaction, [erasure_id], 1)
    if not found:
        raise NotVisible("not_found", "this team has no erasure of this id")
    return found[0]


async def read_receipt(transaction: TeamTransaction, erasure_id: UUID) -> str:
    """The receipt as it was signed.

    Raises:
        NotVisible: no such erasure, or it is not over.
    """
    row = await (await transaction.execute(_DELETION["read_erasure"], erasure_id=erasure_id)).fetchone()
    if row is None or row["receipt"] is None:
        raise NotVisible("not_found", "this team has no erasure of this id that is over")
    return str(row["receipt"])


async def restore(transaction: TeamTransaction, erasure_id: UUID, *, now: datetime) -> ErasureReport:
    """Open a deleted space again, or the team.

    Raises:
        NotVisible: absent and foreign alike.
        Conflict: `stale_input`, its time is over, or it was restored before; `name_taken`, another space has its name by now.
    """
    await transaction.execute(_SQL["lock_team"])
    row = await (await transaction.execute(_SQL["restore_erasure"], erasure_id=erasure_id, now=now)).fetchone()
    if row is None:
        found = await describe_erasure(transaction, erasure_id)
        raise Conflict("stale_input", f"it cannot be restored any more: {found.state}")
    if row["target_kind"] == "team":
        await transaction.execute(_SQL["restore_team"])
    else:
        await transaction.execute(_SQL["set_space_state"], space_id=row["target_id"], lifecycle_state="active")
    return await describe_erasure(transaction, erasure_id)


async def deletion_of(transaction: TeamTransaction, target_id: UUID) -> UUID:
    """The deletion of a space or team that can be restored.

    Raises:
        NotVisible: there is none.
    """
    row = await (await transaction.execute(_SQL["deletion_of"], target_id=target_id)).fetchone()
    if row is None:
        raise NotVisible("not_found", "nothing of this id was deleted and can be restored")
    erasure_id: UUID = row["erasure_id"]
    return erasure_id
