"""Verdicts, applied: each as the direct call of the same effect, in the transaction that decides the brief.

The scope of the kind is checked first; quotes are checked letter by letter; what a verdict is applied to is read again under
the ledger lock of the space, so a brief whose subject moved on is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import msgspec

from commonlore.db.conflict_decisions import Call
from commonlore.db.conflict_decisions import resolve_conflict as resolve
from commonlore.db.delegation import DelegationSession, Happened, change_brief, lock_brief
from commonlore.db.delegation_applying import Applied, Decided, require_current, write_verified
from commonlore.db.delegation_hypotheses import confirm_hypothesis, judge_hypothesis
from commonlore.db.delegation_reading import remember_read
from commonlore.db.delegation_subjects import names_of
from commonlore.db.identity import Act, merge
from commonlore.db.sql import statements
from commonlore.domain.conflict.request import ResolveConflictRequest
from commonlore.domain.correct.amend import Source
from commonlore.domain.delegation.brief import BriefKey
from commonlore.domain.delegation.claim import require_claim
from commonlore.domain.delegation.kind import KINDS, Decision
from commonlore.domain.delegation.quotes import locate, unknown_text
from commonlore.domain.delegation.request import SubmitVerdictRequest
from commonlore.domain.delegation.result import VerdictResult
from commonlore.domain.delegation.verify import contradict, entail, require_pending
from commonlore.domain.errors import Conflict, invalid
from commonlore.domain.ids import new_id
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.submission import Claim, answer_once, request_sha256

KIND = "submit_verdict"
_SQL = statements("delegation")
_SUBJECT = statements("delegation_subject")


async def submit_verdict(
    session: DelegationSession, key: BriefKey, request: SubmitVerdictRequest, *, now: datetime, correlation_id: str
) -> VerdictResult | str:
    """Decide a brief that this credential holds and apply the verdict, or return the stored answer of the same request as its JSON text.

    Raises:
        NotVisible: no such claim of this credential.
        Conflict: `stale_input`, the claim ran out, the brief was decided or its subject moved on; `idempotency_conflict`.
        Incorrect: a quote does not stand so in its text.
        CommonloreError: whatever the direct call of the same effect raises; the brief stays claimed.
    """
    claim = Claim(new_id(), KIND, request.idempotency_key, request_sha256(KIND, request), now)
    return await answer_once(session, claim, lambda: _submit(session, key, request, claim, correlation_id))


async def _submit(session: DelegationSession, key: BriefKey, request: SubmitVerdictRequest, claim: Claim, correlation_id: str) -> VerdictResult:
    asked = claim.now
    claim = claim.at(await session.lock_ledger(claim.now))
    held = require_claim(await lock_brief(session, key), request.claim_id, session.actor.credential_id, asked)
    texts = await session.read_cited(list(dict.fromkeys(item.evidence_id for item in request.quotes))) if request.quotes else {}
    decided = Decided(session, key, request, claim, correlation_id, locate(request.quotes, texts))
    verdict = KINDS[key.kind].verdicts[request.decision]
    applied = None
    if verdict.is_applied:
        applied = await APPLY[request.decision](decided)
    else:
        await require_current(decided)
    detail = {
        "decision": request.decision,
        "reason": request.reason,
        "quotes": [item.place for item in decided.quotes],
        "answered_by": request.answered_by,
        "submission_id": str(claim.submission_id),
    }
    events = [Happened("decided", held, detail), *([Happened("applied", held, applied)] if applied is not None else [])]
    await change_brief(session, key, replace(held, state="decided"), events, after=held.last_ordinal, now=claim.now)
    return VerdictResult(
        contract_version=CONTRACT_VERSION,
        submission_id=claim.submission_id,
        correlation_id=correlation_id,
        brief_id=key.text,
        decision=request.decision,
        state="decided",
        applied=applied,
        space_kind=session.space.public_kind,
        space=msgspec.UNSET if session.space.name is None else session.space.name,
    )


async def _pending(decided: Decided) -> tuple[Source, UUID]:
    """The relationship, locked, and its latest observation."""
    [relationship_id] = decided.key.ids
    row = await (await decided.session.transaction.execute(_SUBJECT["lock_pending"], relationship_id=relationship_id)).fetchone()
    if row is None or row["identity_alias_of"] is not None:
        raise Conflict("stale_input", "what the brief is about has moved on")
    source = await decided.session.read_source(relationship_id)
    require_pending(source, decided.key.version)
    return source, row["observation_id"]


async def _entail(decided: Decided) -> Applied:
    session = decided.session
    source, _ = await _pending(decided)
    ends = [end.entity_id for end in (source.subject, source.target) if end is not None]
    names = await session.look_up(
        name_keys=(),
        entity_ids=ends,
        predicate_keys={source.relationship.statement.predicate_key},
        values=[source.value] if source.value else [],
    )
    verified = await entail(source, decided.quotes, names, session, new_id=new_id, now=decided.now)
    return await write_verified(decided, verified, "remember")


async def _contradict(decided: Decided) -> Applied:
    source, observation_id = await _pending(decided)
    names = await names_of(decided.session, source)
    verified = contradict(
        source,
        decided.quotes,
        names["subject"],
        observation_id=observation_id,
        reason=decided.request.reason,
        actor=decided.session.actor,
        new_id=new_id,
    )
    return await write_verified(decided, verified, "reject_relationship")


async def _resolve(decided: Decided) -> Applied:
    session, request = decided.session, decided.request
    wanted = ResolveConflictRequest(
        conflict_id=decided.key.ids[0],
        expected_version=decided.key.version,
        action="resolve" if request.decision == "resolve" else "dismiss",
        reason=request.reason,
        preferred_position_id=request.preferred_position_id,
        effective_at=request.effective_at,
    )
    wanted.validate()
    # Only the open space is looked in: a brief of one space never decides a case of another.
    actor = replace(session.actor, spaces=(session.space,))
    result = msgspec.to_builtins(await resolve(Call(session.transaction, actor, decided.now, decided.correlation_id), wanted))
    names = ("submission_id", "conflict_id", "version", "status", "preferred_position_id", "effective_at", "superseded_relationships")
    return {"operation": "resolve_conflict", **{name: result[name] for name in names}}


async def _merge(decided: Decided) -> Applied:
    kept = decided.request.keep_entity_id
    if kept not in decided.key.ids:
        raise invalid("/keep_entity_id", "expected one of the two entities of the brief")
    await require_current(decided)
    [gone] = [key for key in decided.key.ids if key != kept]
    session, actor = decided.session, decided.session.actor
    act = Act(session.transaction, session.space.space_id, decided.request.reason, actor.profile_id, decided.now, actor.credential_id)
    found = await merge(act, gone, kept, apply=True)
    return {"operation": "merge_entities", "correction_id": str(found["correction_id"]), "from_entity_id": str(gone), "to_entity_id": str(kept)}


async def _summarise(decided: Decided) -> Applied:
    await require_current(decided)
    [community_id] = decided.key.ids
    ids = [item.cited.evidence_id for item in decided.quotes]
    cursor = await decided.session.transaction.execute(_SUBJECT["community_evidence"], evidence_ids=ids, community_id=community_id)
    supporting = {row["evidence_id"] for row in await cursor.fetchall()}
    for index, key in enumerate(ids):
        if key not in supporting:
            raise unknown_text(index)
    await decided.session.transaction.execute(
        _SQL["insert_summary"],
        community_id=community_id,
        brief_key=decided.key.text,
        summary=decided.request.summary,
        evidence_ids=ids,
        starts=[item.span.start for item in decided.quotes],
        ends=[item.span.end for item in decided.quotes],
        profile_id=decided.session.actor.profile_id,
        now=decided.now,
    )
    return {"operation": "keep_summary", "community_id": str(community_id)}


APPLY: Mapping[Decision, Callable[[Decided], Awaitable[Applied]]] = MappingProxyType(
    {
        "entailed": _entail,
        "contradicted": _contradict,
        "resolve": _resolve,
        "dismiss": _resolve,
        "same": _merge,
        "summary": _summarise,
        "confirm": confirm_hypothesis,
        "reinforce": judge_hypothesis,
        "reject": judge_hypothesis,
        "states": remember_read,
    }
)
