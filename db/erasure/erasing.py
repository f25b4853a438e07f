"""An erasure as a request carries it out: what is meant, held and counted, then hidden; a preview does the same and is undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from commonlore.db import tenancy
from commonlore.db.erasure import holds
from commonlore.db.erasure.copies import standing_copies
from commonlore.db.erasure.hiding import Hiding
from commonlore.db.erasure.manifest import SPACE_TABLES, rule_of
from commonlore.db.erasure.scope import Plan, SpaceRow, plan_erasure
from commonlore.db.jobs import enqueue
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledgers
from commonlore.domain.erasure.preview import Counted, added, target_sha256
from commonlore.domain.erasure.request import ErasureState, ErasureTarget
from commonlore.domain.errors import Conflict, invalid
from commonlore.domain.ids import new_id
from commonlore.domain.jobs.kind import DETECT_COMMUNITIES, ERASE
from commonlore.domain.tenancy.actor import Actor

_SQL = statements("erasure_scope")
_ROWS = statements("erasure")
_TABLES = statements("erasure_deletion")


@dataclass(frozen=True, slots=True)
class Begun:
    """An erasure that this transaction has carried out as far as a request does. `job_id` None: it waits for its time."""

    erasure_id: UUID
    counted: Counted
    state: ErasureState
    purge_at: datetime | None
    job_id: UUID | None


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases in the open transaction of an actor with the scope `destroy`."""

    transaction: TeamTransaction
    actor: Actor
    now: datetime

    async def begin(self, target: ErasureTarget, *, reason: str, purge_after: timedelta | None = None) -> Begun:
        """Hide the target; with `purge_after`, only close its spaces until then. What a hold covers is in `counted.holds`, and hidden all the same:
        the caller commits nothing of it.

        Raises:
            NotVisible: nothing of this team.
            Incorrect: a space that can only be erased, not deleted.
            Conflict: `last_admin`.
        """
        await self.transaction.execute(_SQL["lock_team"])
        plan = await plan_erasure(self.transaction, target)
        if purge_after is not None and target.target_kind == "space":
            require_deletable(plan.whole[0])
        held = await holds.standing(self.transaction, plan, target)
        now = await lock_ledgers(self.transaction, sorted(plan.items), self.now) if plan.items else self.now
        erasure_id = new_id()
        purge_at = now + purge_after if purge_after is not None else None
        state: ErasureState = "hidden" if purge_at is None else "deleted"
        await self._note(erasure_id, target, plan, reason, state, now, purge_at)
        hidden, spaces = await self._hide(erasure_id, plan, now)
        counts = [hidden.counts, *[await self._count(space) for space in plan.whole]]
        copies = await standing_copies(self.transaction, plan)
        if purge_at is None:
            await self._strike_promotions(target, plan)
            await self._end(target, plan, now)
        else:
            await self._close(target, plan, now, purge_at)
        counted = Counted(
            target.target_kind,
            target.target_id,
            plan.typed,
            added(counts),
            frozenset(hidden.ids),
            tuple(self._epochs(plan)),
            tuple(held),
            tuple(copies),
        )
        job_id = await enqueue(self.transaction, ERASE, erasure_id=erasure_id) if purge_at is None else None
        for space_id in spaces:
            await enqueue(self.transaction, DETECT_COMMUNITIES, space_id=space_id)
        return Begun(erasure_id, counted, state, purge_at, job_id)

    async def _note(
        self, erasure_id: UUID, target: ErasureTarget, plan: Plan, reason: str, state: ErasureState, now: datetime, purge_at: datetime | None
    ) -> None:
        await self.transaction.execute(
            _ROWS["begin_erasure"],
            erasure_id=erasure_id,
            target_kind=target.target_kind,
            target_id=target.target_id,
            target_sha256=target_sha256(self.transaction.team_id, target.target_kind, target.target_id),
            reason=reason,
            actor_profile_id=self.actor.profile_id,
            actor_credential_id=self.actor.credential_id,
            state=state,
            now=now,
            purge_at=purge_at,
        )
        for space in plan.whole:
            await self._scope(erasure_id, space.space_id, space.space_epoch, "whole")
        for space_id in plan.items:
            await self._scope(erasure_id, space_id, self.transaction.epochs[space_id], "items")

    async def _scope(self, erasure_id: UUID, space_id: UUID, epoch: int, extent: str) -> None:
        await self.transaction.execute(_ROWS["add_scope"], erasure_id=erasure_id, epoch=epoch, space_id=space_id, extent=extent)

    async def _hide(self, erasure_id: UUID, plan: Plan, now: datetime) -> tuple[Hiding, list[UUID]]:
        """What was hidden, and the spaces that lost their communities."""
        hidden = Hiding(self.transaction, erasure_id, self.actor.profile_id, now)
        spaces = []
        for space_id in sorted(plan.items, key=lambda key: self.transaction.epochs[key]):
            await self.transaction.enter(space_id)
            await hidden.hide(plan.items[space_id])
            if hidden.had_communities:
                spaces.append(space_id)
        return hidden, spaces

    async def _strike_promotions(self, target: ErasureTarget, plan: Plan) -> None:
        """What was said as the reason of promotions that have to do with what goes."""
        await self.transaction.execute(
            _ROWS["strike_promotions"],
            profile_id=target.target_id if target.target_kind == "profile" else None,
            space_ids=[space.space_id for space in plan.whole],
            evidence_ids=[key for doomed in plan.items.values() for key in doomed.evidence],
        )

    async def _count(self, space: SpaceRow) -> Counter[str]:
        """Rows of a space that goes whole, by table. A space that is closed is counted by the worker alone."""
        if space.lifecycle_state != "active":
            return Counter()
        await self.transaction.enter(space.space_id)
        rows = await (await self.transaction.execute(_SQL["count_rows"], tables=await space_tables(self.transaction))).fetchall()
        return Counter({row["name"]: row["row_count"] for row in rows})

    async def _end(self, target: ErasureTarget, plan: Plan, now: datetime) -> None:
        """Fence what goes whole; a member is retired, a key revoked, a team ended."""
        for space in plan.whole:
            await self.transaction.execute(_SQL["lock_epoch"], epoch=space.space_epoch)
            await self.transaction.execute(_SQL["end_epoch"], epoch=space.space_epoch, now=now)
            if space.stays and target.target_kind != "team":
                await self.transaction.execute(_SQL["renew_space"], space_id=space.space_id, now=now)
            else:
                await self.transaction.execute(_SQL["set_space_state"], space_id=space.space_id, lifecycle_state="retired")
        if target.target_kind == "team":
            await self.transaction.execute(_SQL["retire_team"], now=now, purge_at=now)
            await self.transaction.execute(_SQL["revoke_keys"], credential_id=None, now=now)
        elif target.target_kind == "profile" and not plan.is_over:
            await tenancy.retire_member(self.transaction, target.target_id, now=now, actor_profile_id=self.actor.profile_id)
        elif target.target_kind == "credential" and not plan.is_over:
            await tenancy.revoke_key(self.transaction, target.target_id, now=now)

    async def _close(self, target: ErasureTarget, plan: Plan, now: datetime, purge_at: datetime) -> None:
        """Out of sight until it is purged or restored."""
        if target.target_kind == "team":
            await self.transaction.execute(_SQL["retire_team"], now=now, purge_at=purge_at)
        else:
            await self.transaction.execute(_SQL["set_space_state"], space_id=plan.whole[0].space_id, lifecycle_state="sealed")

    def _epochs(self, plan: Plan) -> list[int]:
        return [space.space_epoch for space in plan.whole] + [self.transaction.epochs[space_id] for space_id in plan.items]


async def space_tables(transaction: TeamTransaction) -> list[str]:
    """Tables of the catalogue that belong to a space and have a line in the manifest, by name; the erasure's own left out."""
    rows = await (await transaction.execute(_TABLES["tables"])).fetchall()
    names: Collection[str] = [row["name"] for row in rows if rule_of(row["name"]) is not None]
    return sorted(name for name in names if not _own(name))


def _own(name: str) -> bool:
    return name in SPACE_TABLES and SPACE_TABLES[name].keeps_ids


def require_deletable(space: SpaceRow) -> None:
    """
    Raises:
        Incorrect: the team's own shared space, which is emptied by an erasure and never ended; a private one.
        Conflict: `stale_input`, it is deleted already.
    """
    if space.name is None:
        raise invalid("/target_id", "expected a named space; the team's own shared space and private ones can be erased only")
    if space.lifecycle_state != "active":
        raise Conflict("stale_input", "the space is deleted already")
