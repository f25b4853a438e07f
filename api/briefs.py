"""Operations on briefs over the assembled adapters: open a transaction, call the line, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from commonlore.db.assemble import Adapters
from commonlore.db.delegation import DelegationSession, brief_states, claim_brief, read_events, read_summary, release_brief
from commonlore.db.delegation_subjects import SOURCES
from commonlore.db.delegation_verdicts import submit_verdict
from commonlore.db.session import actor_transaction
from commonlore.domain.delegation.brief import BriefKey, Listed, absent, parse_brief_id, show
from commonlore.domain.delegation.kind import KINDS, Kind
from commonlore.domain.delegation.listing import Cursor, decode_cursor, kinds_for, listed_place
from commonlore.domain.delegation.request import (
    ClaimBriefRequest,
    DescribeBriefRequest,
    ListBriefsRequest,
    ReleaseBriefRequest,
    SubmitVerdictRequest,
)
from commonlore.domain.delegation.result import BriefEntry, BriefPage, ClaimedBrief, DescribedBrief, ReleasedBrief
from commonlore.domain.tenancy.actor import Actor, Scope
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.tenancy.place import InSpace

# Briefs that are read at once while those that were decided are left out.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Briefs:
    """Each call opens its own transaction and checks the key and its scope in it.

    Raises:
        CommonloreError
    """

    adapters: Adapters
    note: Callable[[Actor], None]

    async def list_briefs(self, key: PresentedKey, request: ListBriefsRequest) -> dict[str, object]:
        async with self._session(key, "read", request, reads=True) as (session, now):
            return _encoded(await _page(session, request, now))

    async def describe_brief(self, key: PresentedKey, request: DescribeBriefRequest) -> dict[str, object]:
        async with self._session(key, "read", request, reads=True) as (session, now):
            return _encoded(await _describe(session, parse_brief_id(request.brief_id), now))

    async def claim_brief(self, key: PresentedKey, request: ClaimBriefRequest) -> dict[str, object]:
        brief = parse_brief_id(request.brief_id)
        async with self._session(key, KINDS[brief.kind].scope, request) as (session, now):
            subject = await SOURCES[brief.kind].read(session, brief)
            if subject is None:
                raise absent()
            held = await claim_brief(session, brief, request, now)
            return _encoded(ClaimedBrief(claim_id=held.claim_id, expires_at=held.expires_at, brief=show(subject)))

    async def release_brief(self, key: PresentedKey, request: ReleaseBriefRequest) -> dict[str, object]:
        request.validate()
        brief = parse_brief_id(request.brief_id)
        async with self._session(key, KINDS[brief.kind].scope, request) as (session, now):
            await release_brief(session, brief, request, now)
            return _encoded(ReleasedBrief(brief_id=brief.text, state="open"))

    async def submit_verdict(self, key: PresentedKey, request: SubmitVerdictRequest, *, correlation_id: str) -> dict[str, object]:
        request.validate()
        brief = parse_brief_id(request.brief_id)
        async with self._session(key, KINDS[brief.kind].scope, request) as (session, now):
            return _encoded(await submit_verdict(session, brief, request, now=now, correlation_id=correlation_id))

    @asynccontextmanager
    async def _session(
        self, key: PresentedKey, scope: Scope, place: InSpace, *, reads: bool = False
    ) -> AsyncIterator[tuple[DelegationSession, datetime]]:
        adapters = self.adapters
        now: datetime = adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            self.note(actor)
            actor.require(scope)
            session = DelegationSession(actor, transaction, key)
            await session.enter(actor.target(place.target_space, place.space, reads=reads))
            yield session, now


async def _page(session: DelegationSession, request: ListBriefsRequest, now: datetime) -> BriefPage:
    kinds = kinds_for(session.actor, request.kinds)
    team_id, space = session.actor.team_id, listed_place(request)
    place = decode_cursor(request.cursor, team_id, space, kinds) if request.cursor else None
    shown: list[BriefEntry] = []
    for kind in kinds[kinds.index(place.kind) if place else 0 :]:
        after = place.after if place and place.kind == kind else None
        while True:
            page = await SOURCES[kind].page(session, after, _AT_ONCE)
            states = await brief_states(session, [item.key for item in page]) if page else {}
            for item in page:
                state, expires_at = states.get(item.key.text, ("open", None))
                if state != "decided":
                    if len(shown) == request.limit:
                        return BriefPage(briefs=shown, next_cursor=_cursor(session, request, kinds, kind, after))
                    shown.append(_entry(item, expires_at if state == "claimed" else None, now))
                after = item.after
            if len(page) < _AT_ONCE:
                break
    return BriefPage(briefs=shown, next_cursor=None)


def _cursor(session: DelegationSession, request: ListBriefsRequest, kinds: list[Kind], kind: Kind, after: str | None) -> str:
    return Cursor(session.actor.team_id, listed_place(request), kinds, kind, after).encode()


def _entry(item: Listed, expires_at: datetime | None, now: datetime) -> BriefEntry:
    held = expires_at is not None and expires_at > now
    return BriefEntry(
        brief_id=item.key.text, kind=item.key.kind, title=item.title, state="claimed" if held else "open", claimed_until=expires_at if held else None
    )


async def _describe(session: DelegationSession, key: BriefKey, now: datetime) -> DescribedBrief:
    subject = await SOURCES[key.kind].read(session, key)
    states = await brief_states(session, [key])
    if subject is None and not states:
        raise absent()
    state, expires_at = states.get(key.text, ("open", None))
    held = state == "claimed" and expires_at is not None and expires_at > now
    return DescribedBrief(
        brief_id=key.text,
        state=state if state == "decided" or held else "open" if subject is not None else "obsolete",
        claimed_until=expires_at if held else None,
        brief=show(subject) if subject is not None else None,
        summary=await read_summary(session, key) if key.kind == "summarise_community" else None,
        events=await read_events(session, key) if states else [],
    )


def _encoded(result: msgspec.Struct | str) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
    return answer
