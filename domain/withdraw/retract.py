"""Retract: take one's own evidence out of memory. It counts nowhere any more; views of the time before still show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import Forbidden, NotVisible, invalid
from commonlore.domain.ids import NewId
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.submission import Claim, IdempotencyKey, Replay, Submissions, answer_once, first_answer, request_sha256, require_key
from commonlore.domain.tenancy.actor import Actor, Space, require_writable
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.standing import Standing

Disposition = Literal["retracted", "already_retracted", "already_superseded"]
EvidenceIds = Annotated[list[UUID], Meta(min_length=1, max_length=50)]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]


class RetractRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """1 to 50 texts of one's own member, and why."""

    evidence_ids: EvidenceIds
    reason: Reason
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        require_distinct(self.evidence_ids)
        require_visible("/reason", self.reason)
        require_key(self.idempotency_key)


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
    """What is retracted, by which call and at which instant."""

    submission_id: UUID
    request: RetractRequest
    now: datetime


class RetractionWriter(Submissions, Protocol):
    """One write transaction. The methods are called in the order in which they stand here, those of `Submissions` around them."""

    actor: Actor

    async def find_anywhere(self, idempotency_key: str) -> Replay | None:
        """The submission with this key, in any space of the credential."""
        ...

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[Space, dict[UUID, Standing]]:
        """Of the ids that are in the credential's spaces, by space."""
        ...

    async def enter(self, space: Space) -> None:
        """Open the space in which the submission is kept."""
        ...

    async def lock_standing(self, evidence_ids: Collection[UUID], now: datetime) -> tuple[dict[Space, dict[UUID, Standing]], datetime]:
        """`read_standing`, and until the transaction ends nobody else writes relationships in these spaces; the instant of what is decided from here on."""
        ...

    async def retract(self, space: Space, retraction: Retraction, evidence_ids: Collection[UUID]) -> dict[UUID, set[UUID]]:
        """End the evidence; the relationships that changed for each of it."""
        ...


class RetractionLedger(Protocol):
    """Where retractions are written."""

    def retracting(self) -> AbstractAsyncContextManager[RetractionWriter]: ...


async def retract(request: RetractRequest, *, ledger: RetractionLedger, clock: Clock, new_id: NewId, correlation_id: str) -> RetractResult | str:
    """Retract all of the evidence or, where one id is wrong, none; the stored answer of the same request as its JSON text.

    Raises:
        Unauthenticated, Forbidden: the key is not valid or lacks the scope write; `wrong_owner`, an id of another member;
            `space_read_only`.
        NotVisible: `not_found`, an id that is nothing in the credential's spaces; foreign ids alike.
        Conflict: `idempotency_conflict`, the key belongs to another request.
    """
    digest = request_sha256("retract", request)
    async with ledger.retracting() as writer:
        writer.actor.require("write")
        if request.idempotency_key is not None and (replay := await writer.find_anywhere(request.idempotency_key)) is not None:
            return first_answer(digest, replay)
        home = min(_checked(request, await writer.read_standing(request.evidence_ids), writer.actor), key=lambda space: space.order)
        await writer.enter(home)
        claim = Claim(new_id(), "retract", request.idempotency_key, digest, clock())
        return await answer_once(writer, claim, lambda: _write(writer, request, claim, correlation_id))


async def _write(writer: RetractionWriter, request: RetractRequest, claim: Claim, correlation_id: str) -> RetractResult:
    found, instant = await writer.lock_standing(request.evidence_ids, claim.now)
    _checked(request, found, writer.actor)
    everything = {key: item for standing in found.values() for key, item in standing.items()}
    retraction = Retraction(claim.submission_id, request, instant)
    changed: dict[UUID, set[UUID]] = {}
    for space, standing in found.items():
        changed |= await writer.retract(space, retraction, [key for key, item in standing.items() if item.end is None])
    return _result(retraction, everything, changed, correlation_id)


def _checked(request: RetractRequest, found: Mapping[Space, Mapping[UUID, Standing]], actor: Actor) -> list[Space]:
    """The spaces of the evidence, once every id is one's own."""
    standing = {key: item for items in found.values() for key, item in items.items()}
    for place, key in enumerate(request.evidence_ids):
        item = standing.get(key)
        # Who may not read learns nothing of what others wrote, not even that it is there.
        if item is None or item.is_erased or (item.owner_profile_id != actor.profile_id and "read" not in actor.scopes):
            raise NotVisible("not_found", f"/evidence_ids/{place}: this credential sees no such evidence")
        if item.owner_profile_id != actor.profile_id:
            raise Forbidden("wrong_owner", f"/evidence_ids/{place}: the evidence belongs to another member")
    for space in found:
        require_writable(space)
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
