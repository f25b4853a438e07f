"""Operations on hypotheses over the assembled adapters: list, show and decide for agents; switch, ask for a run and describe for administrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from commonlore.api.hypotheses_table import HypothesesDescription, HypothesisRunEntry, RequestedProposals
from commonlore.db.assemble import Adapters
from commonlore.db.hypothesis_views import (
    Confirmation,
    ConfirmingLedger,
    decide,
    find_standing,
    page_hypotheses,
    read_detail,
    read_state,
    set_rules,
    switch,
)
from commonlore.db.jobs import enqueue
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.errors import Conflict
from commonlore.domain.hypothesis.feedback import becomes, confirmation
from commonlore.domain.hypothesis.listing import decode_cursor, encode_cursor
from commonlore.domain.hypothesis.request import (
    DescribeHypothesesRequest,
    GetDreamRequest,
    ListDreamsRequest,
    ResolveDreamRequest,
    RunHypothesesRequest,
    UpdateHypothesesRequest,
)
from commonlore.domain.hypothesis.rules import SEED_RULES, rules_of
from commonlore.domain.jobs.kind import PROPOSE_HYPOTHESES
from commonlore.domain.recall.hypothesis_lane import hypothesis_item
from commonlore.domain.remember.prepare import prepare
from commonlore.domain.remember.service import remember
from commonlore.domain.tenancy.actor import Actor, require_writable
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import render_instant

_RUNS = 10


@dataclass(frozen=True, slots=True)
class Dreams:
    """What agents may ask of hypotheses. `note` hears of every key that was used."""

    adapters: Adapters
    note: Callable[[Actor], None]

    async def list_dreams(self, key: PresentedKey, request: ListDreamsRequest) -> dict[str, object]:
        """
        Raises:
            Incorrect: the cursor is not one of this list.
        """
        adapters = self.adapters
        async with actor_transaction(adapters.pool, key, clock=adapters.clock, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            actor.require("read")
            before = decode_cursor(request.cursor, actor.team_id, request.status) if request.cursor else None
            rows = await page_hypotheses(transaction, actor.spaces, status=request.status, before=before, most=request.limit + 1)
        page = rows[: request.limit]
        more = len(rows) > request.limit
        return {
            "dreams": [msgspec.to_builtins(hypothesis_item(row, space)) for space, row in page],
            "next_cursor": encode_cursor(actor.team_id, request.status, page[-1][1].hypothesis_id) if more else None,
        }

    async def get_dream(self, key: PresentedKey, request: GetDreamRequest) -> dict[str, object]:
        """
        Raises:
            NotVisible: absent and foreign alike.
        """
        adapters = self.adapters
        async with actor_transaction(adapters.pool, key, clock=adapters.clock, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            actor.require("read")
            found: dict[str, object] = msgspec.to_builtins(await read_detail(transaction, actor.spaces, request.hypothesis_id))
        return found

    async def resolve_dream_feedback(self, key: PresentedKey, request: ResolveDreamRequest, *, correlation_id: str) -> dict[str, object]:
        """A confirmation is one write of `remember`, which decides the hypothesis in the same transaction.

        Raises:
            NotVisible: absent and foreign alike.
            Conflict: `stale_input`, it is over otherwise; `idempotency_conflict`.
            CommonloreError: as `remember`.
        """
        request.validate()
        submission = await self._confirm(key, request, correlation_id) if request.confirms else None
        adapters = self.adapters
        now = adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            self.note(actor)
            actor.require("write")
            require_writable((await find_standing(transaction, actor.spaces, request.hypothesis_id))[0])
            if submission is None:
                changed = await decide(transaction, actor, request, request.hypothesis_id, now=now)
                answer: dict[str, object] = {"disposition": "changed" if changed else "unchanged"}
            else:
                answer = {"disposition": submission[0], "submission": submission[1]}
            detail = await read_detail(transaction, actor.spaces, request.hypothesis_id)
        return {**answer, "hypothesis": msgspec.to_builtins(detail.hypothesis)}

    async def _confirm(self, key: PresentedKey, request: ResolveDreamRequest, correlation_id: str) -> tuple[str, dict[str, Any]]:
        """The disposition, and the receipt of `remember`."""
        adapters = self.adapters
        async with actor_transaction(adapters.pool, key, clock=adapters.clock, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, transaction):
            actor.require("write")
            space, standing = await find_standing(transaction, actor.spaces, request.hypothesis_id)
        if standing.status != "submitted":
            becomes(standing, request.decision)
        made = Confirmation()
        result = await remember(
            prepare(confirmation(standing, request, require_writable(space)), count_tokens=adapters.embedder.count_tokens),
            ledger=ConfirmingLedger(adapters.pool, key, adapters.clock, adapters.timeout_ms, request, made),
            embedder=adapters.embedder,
            clock=adapters.clock,
            new_id=adapters.new_id,
            correlation_id=correlation_id,
        )
        receipt: dict[str, Any] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        return made.disposition or "unchanged", receipt


async def describe_hypotheses(
    actor: Actor, transaction: TeamTransaction, request: DescribeHypothesesRequest | UpdateHypothesesRequest, *, now: datetime
) -> HypothesesDescription:
    """
    Raises:
        Incorrect: the key has no private space.
    """
    await transaction.enter(actor.target(request.target_space, request.space, reads=True).space_id)
    state = await read_state(transaction, runs=_RUNS)
    return {
        "target_space": request.target_space,
        "space": request.space,
        "enabled": state.enabled,
        "outputs": state.outputs,
        "counts": dict(sorted(state.counts.items())),
        "rules": [{**rule._asdict(), "own": rule not in SEED_RULES} for rule in sorted(rules_of(state.own_rules))],  # type: ignore[typeddict-item]
        "time_zone": state.schedule.time_zone,
        "start": state.schedule.start,
        "next_run_at": render_instant(state.schedule.next_begin(now)) if state.enabled else None,
        "runs": [_run(row) for row in state.runs],
    }


async def update_hypotheses(actor: Actor, transaction: TeamTransaction, request: UpdateHypothesesRequest, *, now: datetime) -> HypothesesDescription:
    """
    Raises:
        Incorrect: nothing is to be changed, a rule is none, or the key has no private space.
    """
    rules = request.rules()
    await transaction.enter(actor.target(request.target_space, request.space).space_id)
    if request.enabled is not None or request.outputs is not None:
        await switch(transaction, enabled=request.enabled, outputs=request.outputs, now=now)
    await set_rules(transaction, rules, actor_profile_id=actor.profile_id, now=now)
    return await describe_hypotheses(actor, transaction, request, now=now)


async def run_hypotheses(actor: Actor, transaction: TeamTransaction, request: RunHypothesesRequest) -> RequestedProposals:
    """
    Raises:
        Conflict: `stale_input`, hypotheses of the space are off.
    """
    space = actor.target(request.target_space, request.space)
    await transaction.enter(space.space_id)
    if not (await read_state(transaction, runs=0)).enabled:
        raise Conflict("stale_input", "hypotheses of this space are off; switch them on first")
    job_id = await enqueue(transaction, PROPOSE_HYPOTHESES, space_id=space.space_id)
    return {"job_id": str(job_id) if job_id else None}


def _run(row: dict[str, Any]) -> HypothesisRunEntry:
    return {
        "run_id": str(row["run_id"]),
        "reason": row["reason"],
        "status": row["status"],
        "error_code": row["error_code"],
        "relationships": row["relationship_count"],
        "paths": row["path_count"],
        "known": row["known_count"],
        "assessed": row["assessed_count"],
        "candidates": row["candidate_count"],
        "proposed": row["proposed_count"],
        "started_at": render_instant(row["known_from"]),
        "ended_at": render_instant(row["ended_at"]) if row["ended_at"] else None,
    }
