"""Operations on conflicts over the assembled adapters: open a transaction, call the decision or the view, encode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.assemble import Adapters
from commonlore.db.conflict_decisions import Call, contest_evidence, resolve_conflict
from commonlore.db.conflict_views import find_case, page_of_cases, review_rules, set_review_rules
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.conflict.listing import Cursor, decode_cursor
from commonlore.domain.conflict.policy import Verdict
from commonlore.domain.conflict.request import (
    ContestEvidenceRequest,
    DescribeConflictRequest,
    ListConflictsRequest,
    ResolveConflictRequest,
    UpdateConflictRulesRequest,
)
from commonlore.domain.conflict.resolution import absent
from commonlore.domain.conflict.view import history, preview, show_whole
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey

_BEFORE_ALL = UUID(int=0)


async def decide(
    adapters: Adapters,
    key: PresentedKey,
    request: ResolveConflictRequest | ContestEvidenceRequest,
    *,
    note: Callable[[Actor], None],
    correlation_id: str,
) -> dict[str, object]:
    """Resolve, dismiss or state a conflict.

    Raises:
        CommonloreError: as `resolve_conflict` and `contest_evidence`.
    """
    request.validate()
    now: datetime = adapters.clock()
    async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
        note(actor)
        call = Call(transaction, actor, now, correlation_id)
        if isinstance(request, ResolveConflictRequest):
            return _encoded(await resolve_conflict(call, request))
        return _encoded(await contest_evidence(call, request))


def _encoded(result: msgspec.Struct | str) -> dict[str, object]:
    answer: dict[str, object] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
    return answer


async def list_conflicts(actor: Actor, transaction: TeamTransaction, request: ListConflictsRequest) -> dict[str, Any]:
    """One page of the cases of every space that the key reads.

    Raises:
        Incorrect: the cursor is not one of this list.
    """
    after = decode_cursor(request.cursor, actor.team_id, request.status) if request.cursor else _BEFORE_ALL
    rows = await page_of_cases(transaction, actor.spaces, status=request.status, after=after, most=request.limit + 1)
    page = rows[: request.limit]
    more = len(rows) > request.limit
    return {
        "conflicts": [msgspec.to_builtins(show_whole(row, space)) for space, row in page],
        "next_cursor": Cursor(actor.team_id, request.status, page[-1][1].conflict_id).encode() if more else None,
    }


async def describe_conflict(actor: Actor, transaction: TeamTransaction, request: DescribeConflictRequest, *, now: datetime) -> dict[str, Any]:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    found = await find_case(transaction, actor.spaces, request.conflict_id)
    if found is None:
        absent()
    space, row = found
    verdict = preview(row, (await review_rules(transaction))[1], now)
    return {"conflict": msgspec.to_builtins(show_whole(row, space)), "review": _verdict(verdict), **msgspec.to_builtins(history(row))}


async def update_conflict_rules(transaction: TeamTransaction, request: UpdateConflictRulesRequest) -> dict[str, Any]:
    """How the team's conflicts are reviewed, after the change."""
    days, rules = await set_review_rules(transaction, request)
    return {"review_days": days, "quorum": rules.quorum, "automatic": rules.automatic, "last_write_wins": rules.last_write_wins}


def _verdict(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    shown: dict[str, Any] = msgspec.to_builtins(verdict)
    return {**shown, "counts": {str(key): count for key, count in (verdict.counts or {}).items()}}
