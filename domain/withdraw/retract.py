"""Retract: take one's own evidence out of memory. It counts nowhere any more; views of the time before still show it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import Conflict, Forbidden, NotVisible, invalid
from commonlore.domain.ids import NewId
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.remember.service import Replay
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.standing import Standing

Disposition = Literal["retracted", "already_retracted", "already_superseded"]
EvidenceIds = Annotated[list[UUID], Meta(min_length=1, max_length=50)]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]


class RetractRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """1 to 50 texts of one's own member, and why."""

    evidence_ids: EvidenceIds
    reason: Reason
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=128)] | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        require_distinct(self.evidence_ids)
        require_visible("/reason", self.reason)
        if self.idempotency_key is not None:
            require_visible("/idempotency_key", self.idempotency_key)

    @property
    def sha256(self) -> bytes:
        """Equal for the same request, whatever its key."""
        content = {"kind": "retract", **msgspec.to_builtins(self)}
        content.pop("idempotency_key")
        return hashlib.sha256(msgspec.json.encode(content, order="sorted")).digest()


def require_distinct(evidence_ids: Sequence[UUID]) -> None:
    """
    Raises:
        Incorrect: an id is named twice; the failure names both places.
    """
    places: dict[UUID, int] = {}
    for place, key in enumerate(evidence_ids):
        if key in places:
            raise invalid(f"/evidence_ids/{place}", f"expected an id that is named once; /evidence_ids/{places[key]} names it already")
        places[key] = place


class RetractedEvidence(Struct, frozen=True, kw_only=True):
    """What became of one text; `relationships_changed` counts those that it supported and that changed."""

    evidence_id: UUID
    disposition: Disposition
    relationships_changed: int


class RetractResult(Struct, frozen=True, kw_only=True):
    """The receipt of one call; `relationships_changed` counts each relationship once."""

    contract_version: str
    submission_id: UUID
    submission_kind: str
    correlation_id: str
    processing_state: str
    evidence: list[RetractedEvidence]
    relationships_changed: int
    errors: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Retraction:
    """Who retracts, under which id and at which instant."""

    submission_id: UUID
    request: RetractRequest
    now: datetime


class RetractionWriter(Protocol):
    """One write transaction. The methods are called in the order in which they stand here."""

    actor: Actor

    async def find_submission(self, idempotency_key: str) -> Replay | None:
        """In any space of the credential."""
        ...

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[Space, dict[UUID, Standing]]:
        """Of the ids that are in the credential's spaces, by space."""
        ...

    async def claim(self, space: Space, retraction: Retraction) -> Replay | None:
        """Insert the submission, or wait for the one that has its key and return it."""
        ...

    async def lock_ledgers(self, spaces: Collection[Space]) -> None:
        """Until the transaction ends, nobody else writes relationships in these spaces."""
        ...

    async def retract(self, space: Space, retraction: Retraction, evidence_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
        """End the evidence; the relationships that changed for each of it."""
        ...

    async def conclude(self, space: Space, retraction: Retraction, result: RetractResult) -> None: ...


class RetractionLedger(Protocol):
    """Where retractions are written."""

    def retracting(self) -> AbstractAsyncContextManager[RetractionWriter]: ...


async def retract(request: RetractRequest, *, ledger: RetractionLedger, clock: Clock, new_id: NewId, correlation_id: str) -> RetractResult | str:
    """Retract all of the evidence or, where one id is wrong, none; the stored answer of the same request as its JSON text.

    Raises:
        Unauthenticated, Forbidden: the key is not valid or lacks the scope write; `wrong_owner`, an id of another member.
        NotVisible: `not_found`, an id that is nothing in the credential's spaces; foreign ids alike.
        Conflict: `idempotency_conflict`, the key belongs to another request.
    """
    async with ledger.retracting() as writer:
        writer.actor.require("write")
        if request.idempotency_key is not None and (replay := await writer.find_submission(request.idempotency_key)) is not None:
            return _again(request, replay)
        home = min(_checked(request, await writer.read_standing(request.evidence_ids), writer.actor), key=lambda space: space.order)
        retraction = Retraction(new_id(), request, clock())
        if (replay := await writer.claim(home, retraction)) is not None:
            return _again(request, replay)
        found = await writer.read_standing(request.evidence_ids)
        await writer.lock_ledgers(found)
        # Only now does the state stand still; ids and owners never change.
        found = await writer.read_standing(request.evidence_ids)
        _checked(request, found, writer.actor)
        changed: dict[UUID, set[UUID]] = {}
        for space, standing in found.items():
            changed |= await writer.retract(space, retraction, [key for key, item in standing.items() if item.end is None])
        result = _result(retraction, {key: item for standing in found.values() for key, item in standing.items()}, changed, correlation_id)
        await writer.conclude(home, retraction, result)
    return result


def _again(request: RetractRequest, replay: Replay) -> str:
    if replay.request_sha256 != request.sha256:
        raise Conflict("idempotency_conflict", "the idempotency key was used for another request")
    if replay.result is None:
        raise Conflict("commit_conflict", "the first request with this key has not ended", retry_after_s=1)
    return replay.result


def _checked(request: RetractRequest, found: Mapping[Space, Mapping[UUID, Standing]], actor: Actor) -> list[Space]:
    """The spaces of the evidence, once every id is one's own."""
    standing = {key: item for items in found.values() for key, item in items.items()}
    for place, key in enumerate(request.evidence_ids):
        item = standing.get(key)
        if item is None or item.is_erased:
            raise NotVisible("not_found", f"/evidence_ids/{place}: this credential sees no such evidence")
        if item.owner_profile_id != actor.profile_id:
            raise Forbidden("wrong_owner", f"/evidence_ids/{place}: the evidence belongs to another member")
    return list(found)


def _result(retraction: Retraction, standing: Mapping[UUID, Standing], changed: Mapping[UUID, set[UUID]], correlation_id: str) -> RetractResult:
    return RetractResult(
        contract_version=CONTRACT_VERSION,
        submission_id=retraction.submission_id,
        submission_kind="retract",
        correlation_id=correlation_id,
        processing_state="completed",
        evidence=[
            RetractedEvidence(evidence_id=key, disposition=_disposition(standing[key]), relationships_changed=len(changed.get(key, ())))
            for key in retraction.request.evidence_ids
        ],
        relationships_changed=len({item for items in changed.values() for item in items}),
        errors=[],
    )


def _disposition(item: Standing) -> Disposition:
    return "retracted" if item.end is None else "already_retracted" if item.end == "retracted" else "already_superseded"
