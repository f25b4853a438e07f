"""Briefs over PostgreSQL: pages of them, who holds one, and what happened to it. What they are about is read by `delegation_subjects`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from commonlore.db.correct import CorrectionSession
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.delegation.brief import BriefKey
from commonlore.domain.delegation.claim import Action, Held, require_claim, take
from commonlore.domain.delegation.request import ClaimBriefRequest, ReleaseBriefRequest
from commonlore.domain.delegation.result import BriefEvent
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import render_instant

_SQL = statements("delegation")
MOST_EVENTS = 200


class DelegationSession(CorrectionSession):
    """What reading, claiming and answering briefs needs, inside one transaction."""

    @property
    def transaction(self) -> TeamTransaction:
        return self._transaction

    @property
    def space(self) -> Space:
        """The open space."""
        assert self._space is not None
        return self._space


@dataclass(frozen=True, slots=True)
class Happened:
    """One event to note, by whom under which claim."""

    action: Action
    holder: Held
    detail: Mapping[str, Any]

    @property
    def row(self) -> dict[str, Any]:
        ids = {"claim_id": self.holder.claim_id, "profile_id": self.holder.profile_id, "credential_id": self.holder.credential_id}
        return {"action": self.action, "detail": self.detail, **ids}


async def brief_states(session: DelegationSession, keys: Sequence[BriefKey]) -> dict[str, tuple[str, datetime]]:
    """State and end of the claim, by id, of those that were ever claimed."""
    rows = await (await session.transaction.execute(_SQL["brief_states"], brief_keys=[key.text for key in keys])).fetchall()
    return {row["brief_key"]: (row["state"], row["expires_at"]) for row in rows}


async def lock_brief(session: DelegationSession, key: BriefKey) -> Held | None:
    """The brief's row, which nobody else changes until the transaction ends; None where nobody ever claimed it."""
    row = await (await session.transaction.execute(_SQL["lock_brief"], brief_key=key.text)).fetchone()
    return Held(**row) if row else None


async def claim_brief(session: DelegationSession, key: BriefKey, request: ClaimBriefRequest, now: datetime) -> Held:
    """Take the brief, or extend the claim that is named. Of two at once one gets it.

    Raises:
        NotVisible, Conflict: as `take`.
    """
    actor = session.actor
    expires_at = now + timedelta(seconds=request.lease_seconds)
    mine = Held("claimed", request.claim_id or new_id(), actor.credential_id, actor.profile_id, expires_at, 1)
    detail = {"expires_at": render_instant(expires_at)}
    if request.claim_id is None and await _insert(session, key, mine, now):
        await _note(session, key, [Happened("claimed", mine, detail)], after=0, now=now)
        return mine
    held = await lock_brief(session, key)
    if held is None:
        require_claim(held, mine.claim_id, actor.credential_id, now)
    assert held is not None
    actions = take(held, actor.credential_id, now, claim_id=request.claim_id)
    events = [Happened(action, held if action == "expired" else mine, {} if action == "expired" else detail) for action in actions]
    await change_brief(session, key, mine, events, after=held.last_ordinal, now=now)
    return mine


async def release_brief(session: DelegationSession, key: BriefKey, request: ReleaseBriefRequest, now: datetime) -> None:
    """Give a claimed brief back.

    Raises:
        NotVisible, Conflict: as `require_claim`.
    """
    held = require_claim(await lock_brief(session, key), request.claim_id, session.actor.credential_id, now)
    events = [Happened("released", held, {"reason": request.reason})]
    await change_brief(session, key, replace(held, state="released"), events, after=held.last_ordinal, now=now)


async def change_brief(session: DelegationSession, key: BriefKey, holder: Held, events: Sequence[Happened], *, after: int, now: datetime) -> None:
    """Set the state of a brief that is locked, and note what happened."""
    await session.transaction.execute(
        _SQL["change_brief"],
        brief_key=key.text,
        state=holder.state,
        claim_id=holder.claim_id,
        credential_id=holder.credential_id,
        profile_id=holder.profile_id,
        expires_at=holder.expires_at,
        last_ordinal=after + len(events),
        decided_at=now if holder.state == "decided" else None,
    )
    await _note(session, key, events, after=after, now=now)


async def _insert(session: DelegationSession, key: BriefKey, mine: Held, now: datetime) -> bool:
    cursor = await session.transaction.execute(
        _SQL["insert_brief"],
        brief_key=key.text,
        kind=key.kind,
        claim_id=mine.claim_id,
        credential_id=mine.credential_id,
        profile_id=mine.profile_id,
        expires_at=mine.expires_at,
        now=now,
    )
    return await cursor.fetchone() is not None


async def _note(session: DelegationSession, key: BriefKey, events: Sequence[Happened], *, after: int, now: datetime) -> None:
    rows = [{"ordinal": after + place, **event.row} for place, event in enumerate(events, start=1)]
    await session.transaction.execute(_SQL["insert_events"], brief_key=key.text, rows=msgspec.json.encode(rows).decode(), now=now)


async def read_events(session: DelegationSession, key: BriefKey) -> list[BriefEvent]:
    """What happened to a brief, in order."""
    rows = await (await session.transaction.execute(_SQL["events"], brief_key=key.text, most=MOST_EVENTS)).fetchall()
    return [BriefEvent(**row) for row in rows]


async def read_summary(session: DelegationSession, key: BriefKey) -> dict[str, Any] | None:
    """The summary of a community with the quotes that carry it; None where there is none, or a text of it may not be shown."""
    row = await (await session.transaction.execute(_SQL["summary"], community_id=key.ids[0])).fetchone()
    return row if row and row["quotes"] else None
