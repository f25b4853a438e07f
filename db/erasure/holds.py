"""Legal holds: what may not be erased until somebody releases it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.db.erasure.scope import Plan, spaces
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.erasure.request import ErasureTarget, HoldKind, PlaceHoldRequest
from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.ids import new_id

_SQL = statements("erasure_scope")


@dataclass(frozen=True, slots=True)
class Hold:
    hold_id: UUID
    target_kind: HoldKind
    target_id: UUID
    reason: str
    placed_by: UUID
    known_from: datetime
    released_by: UUID | None
    released_at: datetime | None


async def standing(transaction: TeamTransaction, plan: Plan, target: ErasureTarget) -> list[UUID]:
    """The holds that cover any of what goes, by id. Called before anything is hidden, under the lock of the team's holds."""
    rows = await (await transaction.execute(_SQL["standing_holds"])).fetchall()
    if not rows:
        return []
    whole, owners = {space.space_id for space in plan.whole}, {target.target_id}
    touched = whole | set(plan.items)
    found = {
        row["hold_id"]
        for row in rows
        if row["target_kind"] == "team"
        or (row["target_kind"] == "space" and row["target_id"] in touched)
        or (row["target_kind"] == "profile" and row["target_id"] in owners)
    }
    for space in plan.whole:
        if space.lifecycle_state == "active":
            await transaction.enter(space.space_id)
            found |= await _held_texts(transaction, None)
    for space_id, doomed in plan.items.items():
        await transaction.enter(space_id)
        found |= await _held_texts(transaction, list(doomed.evidence))
    return sorted(found)


async def _held_texts(transaction: TeamTransaction, evidence_ids: list[UUID] | None) -> set[UUID]:
    cursor = await transaction.execute(_SQL["held_texts"], evidence_ids=evidence_ids)
    return {row["hold_id"] for row in await cursor.fetchall()}


async def lock_holds(transaction: TeamTransaction) -> None:
    """Until the transaction ends nobody places a hold in the team."""
    await transaction.execute(_SQL["lock_team"])


async def standing_targets(transaction: TeamTransaction) -> set[UUID]:
    """What the standing holds of the team are of."""
    return {row["target_id"] for row in await (await transaction.execute(_SQL["standing_holds"])).fetchall()}


async def reaches_space(transaction: TeamTransaction, space_id: UUID, targets: Collection[UUID]) -> bool:
    """Whether a hold of one of `targets` covers anything in the space, which is open."""
    return transaction.team_id in targets or space_id in targets or bool(await _held_texts(transaction, None))


def require_free(holds: tuple[UUID, ...]) -> None:
    """
    Raises:
        Conflict: `legal_hold`, with the ids of the holds.
    """
    if holds:
        raise Conflict("legal_hold", "a legal hold keeps this from being erased", details={"hold_ids": [str(hold) for hold in holds[:20]]})


async def place(transaction: TeamTransaction, request: PlaceHoldRequest, *, profile_id: UUID, now: datetime) -> Hold:
    """
    Raises:
        NotVisible: nothing of this team has the id.
        Conflict: `stale_input`, it is held already.
    """
    await transaction.execute(_SQL["lock_team"])
    await _require_target(transaction, request)
    cursor = await transaction.execute(
        _SQL["add_hold"],
        hold_id=new_id(),
        target_kind=request.target_kind,
        target_id=request.target_id,
        reason=request.reason,
        profile_id=profile_id,
        now=now,
    )
    row = await cursor.fetchone()
    if row is None:
        raise Conflict("stale_input", "this is held already")
    return await _read(transaction, row["hold_id"])


async def _require_target(transaction: TeamTransaction, request: PlaceHoldRequest) -> None:
    """
    Raises:
        NotVisible: absent, foreign and erased alike.
    """
    if request.target_kind == "team":
        found = request.target_id == transaction.team_id
    elif request.target_kind in ("space", "profile"):
        statement = "read_target_space" if request.target_kind == "space" else "read_profile"
        found = await (await transaction.execute(_SQL[statement], target_id=request.target_id)).fetchone() is not None
    else:
        found = False
        for space in await spaces(transaction, "spaces_of_team"):
            await transaction.enter(space.space_id)
            if found := await (await transaction.execute(_SQL["exists_evidence"], target_id=request.target_id)).fetchone() is not None:
                break
    if not found:
        raise NotVisible("not_found", f"/target_id: there is no such {request.target_kind} here")


async def release(transaction: TeamTransaction, hold_id: UUID, *, profile_id: UUID, now: datetime) -> Hold:
    """
    Raises:
        NotVisible: no hold of this team that stands.
    """
    if await (await transaction.execute(_SQL["release_hold"], hold_id=hold_id, profile_id=profile_id, now=now)).fetchone() is None:
        raise NotVisible("not_found", "this team has no standing hold of this id")
    return await _read(transaction, hold_id)


async def _read(transaction: TeamTransaction, hold_id: UUID) -> Hold:
    row = await (await transaction.execute(_SQL["read_hold"], hold_id=hold_id)).fetchone()
    assert row is not None
    return Hold(**row)


async def list_holds(transaction: TeamTransaction, *, released: bool, limit: int) -> list[Hold]:
    """The newest first."""
    cursor = await transaction.execute(_SQL["list_holds"], released=released, limit=limit)
    return [Hold(**row) for row in await cursor.fetchall()]
