"""What people and agents do to cases: decide one, state one between texts, and bind new evidence to the version they saw.

Each runs in one write transaction: the idempotency key first, then the ledger lock of the space, then the case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from commonlore.db.conflict_closing import close_by_decision, scope_of
from commonlore.db.conflict_views import find_case
from commonlore.db.conflicts import Write, write_events
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.submissions import StoredSubmissions, lock_ledger
from commonlore.domain.conflict.policy import POLICY_VERSION
from commonlore.domain.conflict.request import ContestEvidenceRequest, ResolveConflictRequest
from commonlore.domain.conflict.resolution import absent, require_version, resolve, sides_of, stale
from commonlore.domain.conflict.result import ContestResult, ResolutionResult
from commonlore.domain.errors import Conflict, invalid
from commonlore.domain.ids import new_id
from commonlore.domain.remember.contest import JoinedCase
from commonlore.domain.remember.request import ConflictContext
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.submission import Claim, answer_once, request_sha256
from commonlore.domain.tenancy.actor import Actor, Space, require_writable

_SQL = statements("conflict")


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks in which transaction, at which instant."""

    transaction: TeamTransaction
    actor: Actor
    now: datetime
    correlation_id: str

    @property
    def submissions(self) -> StoredSubmissions:
        return StoredSubmissions(self.transaction, self.actor.profile_id, self.actor.credential_id)


async def resolve_conflict(call: Call, request: ResolveConflictRequest) -> ResolutionResult | str:
    """Decide an open case, or return the stored answer of the same request as its JSON text.

    Raises:
        Forbidden: the key lacks the scope admin.
        NotVisible: no space of the key has the case.
        Conflict: `stale_input`, closed or of another version; `idempotency_conflict`.
        Incorrect: the preferred position or the time is not one that can be decided.
    """
    call.actor.require("admin")
    found = await find_case(call.transaction, call.actor.spaces, request.conflict_id)
    if found is None:
        absent()
    space = require_writable(found[0])
    claim = _claim(call, "resolve_conflict", request)
    return await answer_once(call.submissions, claim, lambda: _resolve(call, request, space, claim))


async def _resolve(call: Call, request: ResolveConflictRequest, space: Space, claim: Claim) -> ResolutionResult:
    call = replace(call, now=await lock_ledger(call.transaction, call.now))
    row = await (await call.transaction.execute(_SQL["lock_case"], conflict_id=request.conflict_id)).fetchone()
    if row is None:
        absent()
    require_version(row["status"], row["version"], request.expected_version)
    sides = sides_of(await (await call.transaction.execute(_SQL["sides"], conflict_id=request.conflict_id)).fetchall())
    decision = resolve(request, sides, of_texts=row["kind"] == "evidence_conflict", now=call.now)
    write = Write(call.transaction, call.actor.profile_id, max(call.now, row["last_known_from"]))
    ended, opened = await close_by_decision(write, row, decision, reason=request.reason, closed_by="person")
    return ResolutionResult(
        contract_version=CONTRACT_VERSION,
        submission_id=claim.submission_id,
        correlation_id=call.correlation_id,
        conflict_id=request.conflict_id,
        version=row["version"] + 1,
        status=decision.status,
        preferred_position_id=decision.preferred_position_id,
        effective_at=decision.effective_at,
        effective_time_basis=decision.effective_time_basis,
        superseded_relationships=ended,
        opened_conflict_ids=opened,
        space_kind=space.public_kind,
        space=msgspec.UNSET if space.name is None else space.name,
    )


async def contest_evidence(call: Call, request: ContestEvidenceRequest) -> ContestResult | str:
    """Open a case between quotes, or note that the same quotes were met again while it is open.

    Raises:
        Forbidden: the key lacks the scope write or read.
        Incorrect: a quote is not in a text of the space; absent, foreign and withdrawn alike.
        Conflict: `name_taken`, the key belongs to other quotes or to a closed case; `idempotency_conflict`.
    """
    call.actor.require("write")
    call.actor.require("read")  # whether a quote stands in a text is told to those who may read it
    await call.transaction.enter(call.actor.target(request.target_space, request.space).space_id)
    claim = _claim(call, "contest_evidence", request)
    return await answer_once(call.submissions, claim, lambda: _contest(call, request, claim))


async def _contest(call: Call, request: ContestEvidenceRequest, claim: Claim) -> ContestResult:
    transaction = call.transaction
    call = replace(call, now=await lock_ledger(transaction, call.now))
    quotes = await _read_quotes(call, request)
    held = await (await transaction.execute(_SQL["find_evidence_case"], case_key=request.case_key)).fetchone()
    result = ContestResult(
        contract_version=CONTRACT_VERSION,
        submission_id=claim.submission_id,
        correlation_id=call.correlation_id,
        conflict_id=held["conflict_id"] if held else new_id(),
        version=held["version"] + 1 if held else 1,
        status=held["status"] if held else "open",
        disposition="recited" if held else "opened",
    )
    if held is None:
        await _open(call, request, result.conflict_id, quotes)
    else:
        await _require_same(call, request, held)
        write = Write(transaction, call.actor.profile_id, call.now)
        await _recite(write, held, [item.evidence_id for item in request.positions], reason=request.reason)
    return result


async def _read_quotes(call: Call, request: ContestEvidenceRequest) -> list[dict[str, object]]:
    positions = request.positions
    cursor = await call.transaction.execute(
        _SQL["quoted_evidence"],
        evidence_ids=[item.evidence_id for item in positions],
        starts=[item.start for item in positions],
        ends=[item.end for item in positions],
    )
    found = {row["place"]: row for row in await cursor.fetchall()}
    quotes = []
    for place, item in enumerate(positions, start=1):
        row = found.get(place)
        if row is None or item.end > row["length"]:
            raise invalid(f"/positions/{place - 1}", "expected a place inside a text of the target space that is not withdrawn")
        if item.quote is not None and item.quote != row["quote"]:
            raise invalid(f"/positions/{place - 1}/quote", "expected exactly the text between start and end")
        own = {name: row[name] for name in ("evidence_id", "owner_profile_id", "authority", "quote")}
        span = {"span_start": item.start, "span_end": item.end, "submitted": row["owner_profile_id"] == call.actor.profile_id}
        quotes.append({"position_id": new_id(), "position_no": place, **own, **span})
    return quotes


async def _open(call: Call, request: ContestEvidenceRequest, conflict_id: UUID, quotes: Sequence[Mapping[str, object]]) -> None:
    transaction = call.transaction
    rules = await (await transaction.execute(_SQL["review_rules"])).fetchone()
    assert rules is not None
    days = rules["conflict_review_days"]
    nothing = dict.fromkeys(("subject_entity_id", "predicate_key", "predicate_version", "polarity", "scope_key"))
    await transaction.execute(
        _SQL["insert_case"],
        conflict_id=conflict_id,
        kind="evidence_conflict",
        case_key=request.case_key,
        question=request.question,
        last_ordinal=1,
        positions_truncated=False,
        policy_version=POLICY_VERSION,
        review_days=days,
        review_due_at=call.now + timedelta(days=days),
        now=call.now,
        **nothing,
    )
    await transaction.execute(_SQL["insert_quotes"], conflict_id=conflict_id, rows=msgspec.json.encode(quotes).decode(), now=call.now)
    write = Write(transaction, call.actor.profile_id, call.now)
    await write_events(write, conflict_id, [{"action": "opened", "reason": request.reason}], version=1, after=0)


async def _require_same(call: Call, request: ContestEvidenceRequest, held: Mapping[str, object]) -> None:
    rows = await (await call.transaction.execute(_SQL["quotes"], conflict_id=held["conflict_id"])).fetchall()
    places = {(row["evidence_id"], row["span_start"], row["span_end"]) for row in rows}
    if held["status"] not in ("open", "overdue") or places != {item.place for item in request.positions}:
        raise Conflict("name_taken", "the case_key belongs to another case of this space")


async def recite(write: Write, conflict_id: UUID, evidence_ids: Sequence[UUID]) -> None:
    """Note in an open case of texts, whose version was checked, which texts were brought to it, as one more version."""
    row = await (await write.transaction.execute(_SQL["lock_case"], conflict_id=conflict_id)).fetchone()
    assert row is not None
    await _recite(write, row, evidence_ids, reason="brought with new evidence")


async def _recite(write: Write, held: Mapping[str, object], evidence_ids: Sequence[UUID], *, reason: str) -> None:
    version, last, known = held["version"], held["last_ordinal"], held["last_known_from"]
    assert isinstance(version, int) and isinstance(last, int) and isinstance(known, datetime) and isinstance(held["conflict_id"], UUID)
    events = [{"action": "recited", "evidence_id": key, "reason": reason} for key in dict.fromkeys(evidence_ids)]
    write = replace(write, now=max(write.now, known))
    await write.transaction.execute(
        _SQL["change_case"], conflict_id=held["conflict_id"], version=version + 1, last_ordinal=last + len(events), positions_truncated=False
    )
    await write_events(write, held["conflict_id"], events, version=version + 1, after=last)


async def require_case(transaction: TeamTransaction, context: ConflictContext) -> JoinedCase:
    """The open case of the space at exactly this version; it stays so until the transaction changes it.

    Raises:
        Conflict: `stale_input`; absent, foreign, closed and newer alike.
    """
    row = await (await transaction.execute(_SQL["lock_case"], conflict_id=context.conflict_id)).fetchone()
    if row is None:
        raise stale()
    require_version(row["status"], row["version"], context.expected_version)
    of_texts = row["kind"] == "evidence_conflict"
    return JoinedCase(row["conflict_id"], None if of_texts else scope_of(row))


def _claim(call: Call, kind: str, request: ResolveConflictRequest | ContestEvidenceRequest) -> Claim:
    return Claim(new_id(), kind, request.idempotency_key, request_sha256(kind, request), call.now)
