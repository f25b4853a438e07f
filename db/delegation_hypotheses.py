"""Verdicts on hypotheses: what `resolve_dream_feedback` does, in the transaction that decides the brief."""

from __future__ import annotations

from commonlore.db.delegation_applying import Applied, Decided, require_current, write_verified
from commonlore.db.hypothesis_views import decide
from commonlore.db.sql import statements
from commonlore.domain.correct.amend import Source
from commonlore.domain.delegation.verify import entail
from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.hypothesis.feedback import Standing, becomes
from commonlore.domain.hypothesis.request import ResolveDreamRequest
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.remember.standing import Relationship

_SQL = statements("hypothesis")


async def judge_hypothesis(decided: Decided) -> Applied:
    """Reject or reinforce it.

    Raises:
        Conflict: `stale_input`, it has moved on or is over.
    """
    await require_current(decided)
    [hypothesis_id] = decided.key.ids
    decision = "reject" if decided.request.decision == "reject" else "reinforce"
    wanted = ResolveDreamRequest(
        hypothesis_id=hypothesis_id, decision="reject" if decision == "reject" else "reinforce", reason=decided.request.reason
    )
    wanted.validate()
    if not await decide(decided.session.transaction, decided.session.actor, wanted, hypothesis_id, now=decided.now):
        raise Conflict("stale_input", "the hypothesis stands so already")
    return {"operation": "resolve_dream_feedback", "decision": decision, "hypothesis_id": str(hypothesis_id)}


async def confirm_hypothesis(decided: Decided) -> Applied:
    """Remember what it says with the quoted places, and end it as submitted: both, or neither.

    Raises:
        Conflict: `stale_input`, it has moved on, is over, or what was remembered does not count. Incorrect: as `entail`.
    """
    await require_current(decided)
    session, [hypothesis_id] = decided.session, decided.key.ids
    row = await (await session.transaction.execute(_SQL["lock_standing"], hypothesis_id=hypothesis_id)).fetchone()
    if row is None:
        raise NotVisible("not_found", "no hypothesis of this id is in this space")
    standing = Standing(**row)
    becomes(standing, "confirm_true")
    # The write of what it says would end it as known already.
    await session.transaction.execute(_SQL["hold"], hypothesis_id=hypothesis_id, status="submitted")
    ends = [standing.subject_entity_id, standing.object_entity_id]
    names = await session.look_up(name_keys=(), entity_ids=ends, predicate_keys={standing.predicate_key}, values=())
    if not set(ends) <= names.by_id.keys() or standing.predicate_key not in names.predicates:
        raise Conflict("stale_input", "what the hypothesis names has moved on")
    subject, target = (names.by_id[key].entity for key in ends)
    statement = Statement(subject.entity_id, standing.predicate_key, target.entity_id, None, "+", standing.scope_key, None)
    said = Relationship(new_id(), statement, "pending_evidence", 1, None, None)
    source = Source(said, session.actor.profile_id, subject, target, None, None, names.predicates[standing.predicate_key], ())
    verified = await entail(source, decided.quotes, names, session, new_id=new_id, now=decided.now)
    applied = await write_verified(decided, verified, "remember")
    parameters = {"hypothesis_id": hypothesis_id, "polarity": "+", "profile_id": session.actor.profile_id}
    found = await (await session.transaction.execute(_SQL["is_said"], **parameters)).fetchone()
    if found is None or not found["is_said"]:
        raise Conflict("stale_input", "what was remembered does not count now")
    await session.transaction.execute(
        _SQL["decide"],
        hypothesis_id=hypothesis_id,
        status="submitted",
        decision="confirm_true",
        reason=decided.request.reason,
        actor_profile_id=session.actor.profile_id,
        submission_id=decided.claim.submission_id,
        now=decided.now,
    )
    return {**applied, "hypothesis_id": str(hypothesis_id)}
