"""Promotions by the holder of a key: read what is to be copied, then one write of `remember` that notes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec

from commonlore.api.preparing import prepared
from commonlore.api.promotions_table import ListedPromotion, ListedText, PromotedText
from commonlore.db.assemble import Adapters
from commonlore.db.promotion import (
    Promoting,
    PromotingLedger,
    Standing,
    absent,
    add_request,
    lock_promotion,
    open_source,
    page_promotions,
    read_copies,
    read_promoted,
    read_promotion,
    read_waiting,
    reject,
    require_waiting,
    revoke,
)
from commonlore.db.session import TeamTransaction, actor_transaction
from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.promote.copying import Copies, PrivateText
from commonlore.domain.promote.request import DecidePromotionRequest, ListPromotionsRequest, PromoteRequest, RevokePromotionRequest
from commonlore.domain.remember.prepare import prepare
from commonlore.domain.remember.service import remember
from commonlore.domain.tenancy.actor import Actor, Space, require_writable
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import render_if_any, render_instant

_MOST_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class Promotions:
    """`note` hears of every key that was used.

    Raises:
        CommonloreError
    """

    adapters: Adapters
    note: Callable[[Actor], None]

    async def promote_evidence(self, key: PresentedKey, request: PromoteRequest, *, correlation_id: str) -> dict[str, object]:
        """
        Raises:
            NotVisible: an id that is no text of the caller in its private space, or no such target.
            Conflict: `stale_input`, a text does not count any more.
        """
        request.validate()
        adapters, now = self.adapters, self.adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            actor.require("write")
            source, target = actor.target("private"), actor.target("team_shared", request.space, reads=True)
            standing = await read_promoted(transaction, target, request.evidence_ids, now)
            copies = await read_copies(
                transaction,
                request.evidence_ids,
                owner_profile_id=actor.profile_id,
                source=source,
                target=target,
                with_relationships=request.relationships,
                standing=standing,
            )
        fresh = [text.evidence_id for text in copies.texts]
        waits = request.review or not target.can_write
        told: dict[str, Any] = {"relationship_results": [], "warnings": []}
        made: dict[UUID, Standing] = {}
        if fresh and waits:
            made = await self._ask(key, copies, request, now)
        elif fresh:
            wanted = {"with_relationships": request.relationships, "reason": request.reason}
            made, told = await self._copy(key, Promoting(copies, wanted), correlation_id)
        return {
            "promotion_id": str(made[fresh[0]].promotion_id) if made else None,
            "state": "requested" if waits else "promoted",
            "space_kind": "team_shared",
            "space": target.name,
            "evidence": [
                _told(item, made[item], "requested" if waits else "promoted")
                if item in made
                else _told(item, standing[item], "already_requested" if standing[item].evidence_id is None else "already_promoted")
                for item in request.evidence_ids
            ],
            **told,
        }

    async def _ask(self, key: PresentedKey, copies: Copies, request: PromoteRequest, now: datetime) -> dict[UUID, Standing]:
        adapters = self.adapters
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            actor.target("team_shared", request.space, reads=True)
            made = await add_request(transaction, copies, with_relationships=request.relationships, reason=request.reason, now=now)
        return {text.evidence_id: Standing(made, None) for text in copies.texts}

    async def _copy(self, key: PresentedKey, promoting: Promoting, correlation_id: str) -> tuple[dict[UUID, Standing], dict[str, Any]]:
        adapters, request = self.adapters, promoting.copies.request()
        result = await remember(
            await prepared(
                adapters.embedder, sum(len(item.content) for item in request.evidence), lambda count: prepare(request, count_tokens=count)
            ),
            ledger=PromotingLedger(adapters.pool, key, adapters.clock, adapters.timeout_ms, promoting),
            embedder=adapters.embedder,
            clock=adapters.clock,
            new_id=adapters.new_id,
            correlation_id=correlation_id,
        )
        receipt: dict[str, Any] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        assert promoting.promotion_id is not None
        ids = [text.evidence_id for text in promoting.copies.texts]
        made = {item: Standing(promoting.promotion_id, copy) for item, copy in zip(ids, promoting.copied, strict=True)}
        return made, {"relationship_results": receipt["relationship_results"], "warnings": receipt.get("warnings", [])}

    async def list_promotions(self, key: PresentedKey, request: ListPromotionsRequest) -> dict[str, object]:
        adapters, now = self.adapters, self.adapters.clock()
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            actor.require("read")
            reviewed = [space.space_id for space in _shared(actor) if space.can_write and "admin" in actor.scopes]
            rows = await page_promotions(
                transaction,
                profile_id=actor.profile_id,
                space_ids=reviewed,
                state=request.state,
                before=request.before,
                limit=request.limit + 1,
                now=now,
            )
            waiting = await read_waiting(transaction, rows[: request.limit])
        shown = [_listed(actor, row, waiting.get(row["promotion_id"], {})) for row in rows[: request.limit]]
        return {"promotions": shown, "next_before": shown[-1]["promotion_id"] if len(rows) > request.limit else None}

    async def decide_promotion(self, key: PresentedKey, request: DecidePromotionRequest, *, correlation_id: str) -> dict[str, object]:
        """
        Raises:
            NotVisible: no request into a space that the key may read.
            Forbidden: the key may not write there.
            Conflict: `stale_input`, it does not wait any more, or a text does not count any more.
        """
        request.validate()
        adapters, now = self.adapters, self.adapters.clock()
        copies = None
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            self.note(actor)
            actor.require("admin")
            # An approval only looks here, so that nothing is locked and logged before it is done: its write looks again.
            look = lock_promotion if request.decision == "reject" else read_promotion
            found = await look(transaction, request.promotion_id)
            target = next((space for space in _shared(actor) if space.space_id == found.target_space_id), None)
            if target is None:
                raise absent()
            require_writable(target)
            require_waiting(found, now)
            if request.decision == "reject":
                await reject(transaction, found, actor_profile_id=actor.profile_id, reason=request.reason, now=now)
            else:
                copies = await _requested(
                    transaction, found.source_space_id, list(found.items), found.owner_profile_id, target, found.with_relationships
                )
        answer: dict[str, Any] = {"promotion_id": str(request.promotion_id), "state": "rejected", "evidence": []}
        if copies is None:
            return {**answer, "relationship_results": [], "warnings": []}
        made, told = await self._copy(key, Promoting(copies, {}, request.promotion_id, request.reason), correlation_id)
        return {**answer, "state": "promoted", "evidence": [_told(item, copy, "promoted") for item, copy in made.items()], **told}

    async def revoke_promotion(self, key: PresentedKey, request: RevokePromotionRequest) -> dict[str, object]:
        """
        Raises:
            NotVisible: no promotion that is the caller's, nor into a space where it administers and may write.
            Conflict: `stale_input`, it was rejected.
        """
        request.validate()
        adapters, now = self.adapters, self.adapters.clock()
        withdrawn = 0
        async with actor_transaction(adapters.pool, key, clock=lambda: now, timeout_ms=adapters.timeout_ms) as (actor, transaction):
            self.note(actor)
            actor.require("write")
            found = await lock_promotion(transaction, request.promotion_id)
            administers = "admin" in actor.scopes and any(space.space_id == found.target_space_id and space.can_write for space in _shared(actor))
            if found.owner_profile_id != actor.profile_id and not administers:
                raise absent()
            if found.state == "rejected":
                raise Conflict("stale_input", "the request was rejected", details={"state": found.state})
            if found.state != "revoked":
                withdrawn = await revoke(transaction, actor, found, reason=request.reason, now=now)
        return {"promotion_id": str(request.promotion_id), "state": "revoked", "withdrawn": withdrawn}


def _shared(actor: Actor) -> list[Space]:
    return [space for space in actor.spaces if space.kind == "team_shared"]


async def _requested(
    transaction: TeamTransaction, source_space_id: UUID, evidence_ids: Sequence[UUID], owner_profile_id: UUID, target: Space, with_relationships: bool
) -> Copies:
    """What a request is about, read where it lies.

    Raises:
        Conflict: `stale_input`, a text of it does not count any more.
    """
    source = Space(source_space_id, "credential_private")
    try:
        if not await open_source(transaction, source_space_id):
            raise absent()
        return await read_copies(
            transaction, evidence_ids, owner_profile_id=owner_profile_id, source=source, target=target, with_relationships=with_relationships
        )
    except NotVisible as error:
        raise Conflict("stale_input", "a text of the request is not there any more") from error


def _told(evidence_id: UUID, standing: Standing, disposition: str) -> PromotedText:
    copy = None if standing.evidence_id is None else str(standing.evidence_id)
    return cast(
        PromotedText,
        {"source_evidence_id": str(evidence_id), "evidence_id": copy, "promotion_id": str(standing.promotion_id), "disposition": disposition},
    )


def _listed(actor: Actor, row: dict[str, Any], waiting: Mapping[UUID, PrivateText]) -> ListedPromotion:
    names = {space.space_id: space.name for space in actor.spaces}
    contents = {key: text.proposal.content[:_MOST_SHOWN] for key, text in waiting.items()}
    return {
        "promotion_id": str(row["promotion_id"]),
        "state": row["state"],
        "owner_profile_id": str(row["owner_profile_id"]),
        "owner_name": row["owner_name"],
        "space": names.get(row["target_space_id"]),
        "reason": row["reason"],
        "requested_at": render_instant(row["known_from"]),
        **{name: render_if_any(row[name]) for name in ("expires_at", "decided_at", "revoked_at")},  # type: ignore[typeddict-item]
        **{name: _id(row[name]) for name in ("decided_by_profile_id", "revoked_by_profile_id")},
        "decision_reason": row["decision_reason"],
        "revocation_reason": row["revocation_reason"],
        "evidence": [
            cast(
                ListedText,
                {
                    "source_evidence_id": str(item["source_evidence_id"]),
                    "evidence_id": _id(item["evidence_id"]),
                    "content": contents.get(item["source_evidence_id"]),
                },
            )
            for item in row["items"]
        ],
    }


def _id(key: UUID | None) -> str | None:
    return None if key is None else str(key)
