"""Promotions over PostgreSQL: what is to be copied, the write that copies it, and what takes it back.

A private space is entered by somebody else only for a request that its owner made, and only for the texts of that request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.ledger import LedgerSession
from commonlore.db.retraction import RetractionSession, lock_standing
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.ids import NewId, new_id
from commonlore.domain.ports import Vectors
from commonlore.domain.promote.copying import MOST_RELATIONSHIPS, Copies, PrivateStatement, PrivateText, require_own, state_of
from commonlore.domain.remember.request import EvidenceProposal
from commonlore.domain.remember.service import StoredEvidence, Submission
from commonlore.domain.submission import Claim
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock, render_instant
from commonlore.domain.withdraw.retract import Retraction, RetractRequest

_SQL = statements("promotion")
REQUEST_PERIOD = timedelta(days=14)


# -- what is to be copied


async def read_copies(
    transaction: TeamTransaction,
    evidence_ids: Sequence[UUID],
    *,
    owner_profile_id: UUID,
    source: Space,
    target: Space,
    with_relationships: bool,
    standing: Collection[UUID] = (),
) -> Copies:
    """The texts of a private space, in the order of the ids, and what their owner states from them now. Those `standing` are checked and left out.

    Raises:
        NotVisible: an id that is no text of the owner there.
        Conflict: `stale_input`, a text that does not count any more.
    """
    await transaction.enter(source.space_id)
    rows = await (await transaction.execute(_SQL["texts"], evidence_ids=list(evidence_ids))).fetchall()
    found = {row["evidence_id"]: _text(row) for row in rows}
    require_own(evidence_ids, {key: text.state for key, text in found.items()}, owner_profile_id)
    fresh = [key for key in evidence_ids if key not in standing]
    stated: list[dict[str, Any]] = []
    if with_relationships and fresh:
        parameters = {"evidence_ids": fresh, "owner_profile_id": owner_profile_id, "most": MOST_RELATIONSHIPS}
        stated = await (await transaction.execute(_SQL["statements"], **parameters)).fetchall()
    texts = tuple(found[key] for key in fresh)
    return Copies(owner_profile_id, source, target, texts, tuple(_statement(row) for row in stated))


def _text(row: dict[str, Any]) -> PrivateText:
    names = ("content", "source_type", "authority", "source", "source_group", "speaker", "session", "sequence")
    proposal = EvidenceProposal(
        **{name: row[name] for name in names},
        labels=list(row["labels"]),
        metadata=row["metadata"] or {},
        occurred_at=None if row["occurred_at"] is None else render_instant(row["occurred_at"]),
        force_insert=True,
    )
    return PrivateText(row["evidence_id"], row["owner_profile_id"], proposal, row["withdrawn"])


def _statement(row: dict[str, Any]) -> PrivateStatement:
    value = {name: row[name] for name in ("value_type", "canonical_value", "display", "unit")} if row["value_type"] is not None else None
    return PrivateStatement(
        relationship_id=row["relationship_id"],
        evidence_ids=tuple(row["evidence_ids"]),
        subject=(row["subject_name"], row["subject_kind"]),
        predicate_key=row["predicate_key"],
        target=None if row["object_name"] is None else (row["object_name"], row["object_kind"]),
        value=value,
        polarity=row["polarity"],
        scope=row["scope_key"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
    )


# -- what was asked for and done


@dataclass(frozen=True, slots=True)
class Standing:
    """The copy of a text in a space, or the request for one, where `evidence_id` is None."""

    promotion_id: UUID
    evidence_id: UUID | None


@dataclass(frozen=True, slots=True)
class Requested:
    """A promotion with its texts in the order of the request and their copies."""

    promotion_id: UUID
    state: str
    owner_profile_id: UUID
    source_space_id: UUID
    target_space_id: UUID
    with_relationships: bool
    expires_at: datetime | None
    owner_retired: bool
    items: Mapping[UUID, UUID | None] = field(default_factory=dict)


async def read_promoted(transaction: TeamTransaction, target: Space, evidence_ids: Sequence[UUID], now: datetime) -> dict[UUID, Standing]:
    """By text; a request that has run out does not stand."""
    cursor = await transaction.execute(_SQL["standing"], target_space_id=target.space_id, evidence_ids=list(evidence_ids))
    rows = await cursor.fetchall()
    live = (row for row in rows if state_of(row["state"], row["expires_at"], now) != "expired")
    return {row["source_evidence_id"]: Standing(row["promotion_id"], row["evidence_id"]) for row in live}


async def lock_promotion(transaction: TeamTransaction, promotion_id: UUID) -> Requested:
    """`read_promotion`, and until the transaction ends nobody else decides it."""
    await transaction.execute(_SQL["lock_promotion"], promotion_id=promotion_id)
    return await read_promotion(transaction, promotion_id)


async def read_promotion(transaction: TeamTransaction, promotion_id: UUID) -> Requested:
    """
    Raises:
        NotVisible: no promotion of this team.
    """
    row = await (await transaction.execute(_SQL["promotion"], promotion_id=promotion_id)).fetchone()
    if row is None:
        raise absent()
    items = await (await transaction.execute(_SQL["items"], promotion_ids=[promotion_id])).fetchall()
    return Requested(**row, items={item["source_evidence_id"]: item["evidence_id"] for item in items})


def absent() -> NotVisible:
    return NotVisible("not_found", "no promotion of this id is yours to see")


def require_waiting(found: Requested, now: datetime) -> None:
    """
    Raises:
        Conflict: `stale_input`, it was decided, taken back, or has run out; or its owner is retired.
    """
    state = state_of(found.state, found.expires_at, now)
    if state != "requested" or found.owner_retired:
        raise Conflict("stale_input", "the request does not wait any more", details={"state": "owner_retired" if state == "requested" else state})


async def open_source(transaction: TeamTransaction, space_id: UUID) -> bool:
    """Let the space of a promotion be entered; False where it is not active any more."""
    row = await (await transaction.execute(_SQL["source_epoch"], space_id=space_id)).fetchone()
    if row is None:
        return False
    transaction.epochs[row["space_id"]] = row["space_epoch"]
    return True


async def add_request(transaction: TeamTransaction, copies: Copies, *, with_relationships: bool, reason: str | None, now: datetime) -> UUID:
    """A request that waits for somebody who may write in the target."""
    promotion_id = new_id()
    wanted = {"with_relationships": with_relationships, "reason": reason}
    await _add(transaction, copies, promotion_id, "requested", wanted, copy_ids=None, submission_id=None, now=now)
    return promotion_id


async def _add(
    transaction: TeamTransaction,
    copies: Copies,
    promotion_id: UUID,
    state: str,
    wanted: Mapping[str, object],
    *,
    copy_ids: Sequence[UUID] | None,
    submission_id: UUID | None,
    now: datetime,
) -> None:
    transaction.noted.add("promotion", promotion_id)
    ids = [text.evidence_id for text in copies.texts]
    await transaction.execute(_SQL["end_expired_items"], target_space_id=copies.target.space_id, evidence_ids=ids, now=now)
    await transaction.execute(
        _SQL["add_promotion"],
        promotion_id=promotion_id,
        state=state,
        owner_profile_id=copies.owner_profile_id,
        source_space_id=copies.source.space_id,
        target_space_id=copies.target.space_id,
        expires_at=now + REQUEST_PERIOD if state == "requested" else None,
        submission_id=submission_id,
        now=now,
        **wanted,
    )
    place = {"promotion_id": promotion_id, "target_space_id": copies.target.space_id}
    await transaction.execute(_SQL["add_items"], source_ids=ids, copy_ids=list(copy_ids) if copy_ids is not None else [None] * len(ids), **place)


async def reject(transaction: TeamTransaction, found: Requested, *, actor_profile_id: UUID, reason: str, now: datetime) -> None:
    """End a request without copying anything."""
    transaction.noted.add("promotion", found.promotion_id)
    await _decide(transaction, found.promotion_id, "rejected", actor_profile_id=actor_profile_id, reason=reason, submission_id=None, now=now)
    await transaction.execute(_SQL["end_items"], promotion_id=found.promotion_id, now=now)


async def _decide(transaction: TeamTransaction, promotion_id: UUID, state: str, **decided: object) -> None:
    await transaction.execute(_SQL["decide"], promotion_id=promotion_id, state=state, **decided)


async def revoke(transaction: TeamTransaction, actor: Actor, found: Requested, *, reason: str, now: datetime) -> int:
    """Take the copies back, and with them what only they support; the originals stay. How many texts were withdrawn."""
    transaction.noted.add("promotion", found.promotion_id)
    withdrawn = 0
    copies = [key for key in found.items.values() if key is not None]
    if found.state == "promoted" and copies and await open_source(transaction, found.target_space_id):
        standing, now = await lock_standing(transaction, [found.target_space_id], copies, now)
        live = [key for items in standing.values() for key, item in items.items() if item.end is None]
        retraction = Retraction(found.promotion_id, RetractRequest(evidence_ids=live or copies, reason=reason), now)
        await RetractionSession(actor, transaction).retract(Space(found.target_space_id, "team_shared"), retraction, live)
        withdrawn = len(live)
    await transaction.execute(_SQL["revoke"], promotion_id=found.promotion_id, actor_profile_id=actor.profile_id, reason=reason, now=now)
    await transaction.execute(_SQL["end_items"], promotion_id=found.promotion_id, now=now)
    return withdrawn


async def page_promotions(
    transaction: TeamTransaction, *, profile_id: UUID, space_ids: Sequence[UUID], state: str | None, before: UUID | None, limit: int, now: datetime
) -> list[dict[str, Any]]:
    """Those of one member, and those into some spaces, the newest first, each with its `items`."""
    parameters = {"profile_id": profile_id, "space_ids": list(space_ids), "state": state, "before": before, "limit": limit, "now": now}
    rows = {row["promotion_id"]: {**row, "items": []} for row in await (await transaction.execute(_SQL["page_promotions"], **parameters)).fetchall()}
    for item in await (await transaction.execute(_SQL["items"], promotion_ids=list(rows))).fetchall():
        rows[item["promotion_id"]]["items"].append(item)
    return [{**row, "state": state_of(row["state"], row["expires_at"], now)} for row in rows.values()]


async def read_waiting(transaction: TeamTransaction, rows: Sequence[dict[str, Any]]) -> dict[UUID, dict[UUID, PrivateText]]:
    """The texts of the requests among the rows of a page that can still be approved, by request; two statements a private space."""
    by_space: dict[UUID, list[dict[str, Any]]] = {}
    for row in rows:
        if row["state"] == "requested":
            by_space.setdefault(row["source_space_id"], []).append(row)
    waiting: dict[UUID, dict[UUID, PrivateText]] = {}
    for space_id in sorted(by_space):
        if not await open_source(transaction, space_id):
            continue
        await transaction.enter(space_id)
        wanted = {row["promotion_id"]: [item["source_evidence_id"] for item in row["items"]] for row in by_space[space_id]}
        texts = await (await transaction.execute(_SQL["texts"], evidence_ids=sorted({key for ids in wanted.values() for key in ids}))).fetchall()
        found = {row["evidence_id"]: _text(row) for row in texts}
        states = {key: text.state for key, text in found.items()}
        for row in by_space[space_id]:
            ids = wanted[row["promotion_id"]]
            with suppress(NotVisible, Conflict):  # deciding it says so
                require_own(ids, states, row["owner_profile_id"])
                waiting[row["promotion_id"]] = {key: found[key] for key in ids}
    return waiting


# -- the write


@dataclass(slots=True)
class Promoting:
    """What one write copies, and what it leaves: the ids of the promotion and of the copies.

    `request`: the request that it approves; `wanted`: what a direct promotion notes.
    """

    copies: Copies
    wanted: Mapping[str, object]
    request: UUID | None = None
    decision_reason: str | None = None
    promotion_id: UUID | None = None
    copied: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class PromotingLedger:
    """A ledger whose write stores the copies as their owner's words and notes the promotion, in one transaction."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    promoting: Promoting

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms, snapshot=True) as (actor, transaction):
            yield LedgerSession(actor, transaction)  # a copy is compared with nothing: it is no echo of its original, and says no id of it

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            yield _PromotingSession(actor, transaction, self.promoting)


class _PromotingSession(LedgerSession):
    """Looks at the originals again before anything is stored."""

    def __init__(self, actor: Actor, transaction: TeamTransaction, promoting: Promoting) -> None:
        super().__init__(replace(actor, profile_id=promoting.copies.owner_profile_id), transaction)
        self._decider, self._promoting = actor, promoting

    async def store_evidence(self, submission: Submission, vectors: Mapping[str, Vectors], *, new_id: NewId) -> list[StoredEvidence]:
        copies, transaction = self._promoting.copies, self._transaction
        if self._promoting.request is not None:
            require_waiting(await lock_promotion(transaction, self._promoting.request), submission.now)
        if not await open_source(transaction, copies.source.space_id):
            raise Conflict("stale_input", "the private space is not active any more")
        ids = [text.evidence_id for text in copies.texts]
        await transaction.enter(copies.source.space_id)
        standing = await self.read_standing(ids)
        states = {key: (item.owner_profile_id, min(item.reasons - {"unsupported"}, default=None)) for key, item in standing.items()}
        require_own(ids, states, copies.owner_profile_id)
        await self.enter(submission.space)
        stored = await super().store_evidence(submission, vectors, new_id=new_id)
        self._promoting.copied = tuple(item.evidence_id for item in stored)
        return stored

    async def conclude_submission(self, claim: Claim, result: msgspec.Struct | dict[str, Any]) -> None:
        await super().conclude_submission(claim, result)
        promoting, transaction = self._promoting, self._transaction
        ids = [text.evidence_id for text in promoting.copies.texts]
        if promoting.request is None:
            promoting.promotion_id = new_id()
            await _add(
                transaction,
                promoting.copies,
                promoting.promotion_id,
                "promoted",
                promoting.wanted,
                copy_ids=promoting.copied,
                submission_id=claim.submission_id,
                now=claim.now,
            )
            return
        promoting.promotion_id = promoting.request
        transaction.noted.add("promotion", promoting.request)
        await transaction.execute(_SQL["note_copies"], promotion_id=promoting.request, source_ids=ids, copy_ids=list(promoting.copied))
        await _decide(
            transaction,
            promoting.request,
            "promoted",
            actor_profile_id=self._decider.profile_id,
            reason=promoting.decision_reason,
            submission_id=claim.submission_id,
            now=claim.now,
        )
