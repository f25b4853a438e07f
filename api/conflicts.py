"""Operations on conflicts over the assembled adapters: open a transaction, call the decision or the view, encode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.assemble import Adapters
from commonlore.db.conflict_decisions import Call, contest_evidence, resolve_conflict
from commonlore.db.conflict_views import find_case, page_of_cases
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.conflict.listing import Cursor, decode_cursor
from commonlore.domain.conflict.request import ContestEvidenceRequest, DescribeConflictRequest, ListConflictsRequest, ResolveConflictRequest
from commonlore.domain.conflict.resolution import absent
from commonlore.domain.conflict.view import history, show_whole
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


async def describe_conflict(actor: Actor, transaction: TeamTransaction, request: DescribeConflictRequest) -> dict[str, Any]:
    """
    Raises:
        NotVisible: absent and foreign alike.
    """
    found = await find_case(transaction, actor.spaces, request.conflict_id)
    if found is None:
        absent()
    space, row = found
    return {"conflict": msgspec.to_builtins(show_whole(row, space)), **msgspec.to_builtins(history(row))}
