"""Correct: from a patch to a successor, in one line.

    prepare -> foresee -> embed -> claim -> lock -> read -> amend -> decide -> write -> conclude

As in `remember`, a read before the write foresees the document, so that no model runs inside a transaction; the write
reads everything anew under the ledger lock. A rejected correction leaves no row, save that a waiting one is concluded.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

import msgspec

from commonlore.domain.correct.amend import (
    Ambiguous,
    Amended,
    PreparedPatch,
    Source,
    amend,
    prepare_patch,
    support_set_sha256,
)
from commonlore.domain.correct.decide import SupportKey, decide_correction, name_ends
from commonlore.domain.correct.reasons import Rejected
from commonlore.domain.correct.request import CorrectRequest
from commonlore.domain.correct.result import CandidateResult, CandidatesResult, CorrectionOutcome, CorrectResult
from commonlore.domain.errors import NotVisible
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ports import Embedder, Vectors
from commonlore.domain.projection.embed import embed_inline
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.resolve import NameState
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.remember.standing import Relationship
from commonlore.domain.submission import Claim, Replay, Submissions, answer_once, first_answer, request_sha256
from commonlore.domain.tenancy.actor import Actor, Space, require_writable
from commonlore.domain.time import Clock

CONFIRMATION_PERIOD = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class WaitingCorrection:
    """A stored correction of the actor's own."""

    relationship_id: UUID
    expected_version: int
    request: CorrectRequest
    support_set_sha256: bytes
    is_waiting: bool
    token_sha256: bytes
    expires_at: datetime


class CorrectionReader(Protocol):
    """One state of the database, for one actor."""

    actor: Actor

    async def locate(self, relationship_id: UUID) -> Space | None:
        """The first of the actor's spaces that has the relationship; it stays open."""
        ...

    async def find_submission(self, idempotency_key: str) -> Replay | None: ...

    async def find_correction(self, submission_id: UUID) -> WaitingCorrection | None: ...

    async def read_source(self, relationship_id: UUID) -> Source: ...

    async def read_patch_names(self, patch: PreparedPatch) -> NameState: ...

    async def read_contract_key(self) -> str | None: ...

    def token_of(self, submission_id: UUID) -> str:
        """The confirmation token of a submission: the same for the same key, and stored nowhere."""
        ...


class CorrectionWriter(CorrectionReader, Submissions, Protocol):
    """One write transaction."""

    async def lock_ledger(self, now: datetime) -> datetime: ...

    async def read_relationships(self, wanted: Sequence[Statement]) -> list[Relationship]: ...

    async def read_revoked(self, relationship_id: UUID) -> dict[SupportKey, UUID]:
        """Supports of the relationship that do not count because they were revoked."""
        ...

    async def write_correction(self, claim: Claim, changes: Changes, vectors: Mapping[str, Vectors]) -> bool: ...

    async def keep_correction(
        self,
        claim: Claim,
        request: CorrectRequest,
        supports: bytes,
        *,
        candidates: CandidatesResult | None,
        successor_id: UUID | None,
    ) -> None:
        """Store a correction: completed with a successor, else awaiting the choice between the candidates."""
        ...

    async def conclude_correction(self, submission_id: UUID, *, now: datetime, successor_id: UUID | None, reason_code: str | None) -> None: ...

    async def enqueue_embedding(self) -> None: ...


class Corrections(Protocol):
    """Where corrections are read and written."""

    def reading(self) -> AbstractAsyncContextManager[CorrectionReader]: ...

    def writing(self) -> AbstractAsyncContextManager[CorrectionWriter]: ...


async def correct(
    request: CorrectRequest, *, corrections: Corrections, embedder: Embedder, clock: Clock, new_id: NewId, correlation_id: str
) -> CorrectResult | str:
    """Make one correction, ask which entity is meant, or say why it is rejected; the stored answer for a repeated call.

    Raises:
        Unauthenticated, Forbidden: the key is not valid or lacks the scope write.
        NotVisible: no relationship or waiting correction of this id that the actor may see.
        Conflict: `idempotency_conflict`, the key belongs to another request.
        Incorrect: a field is wrong.
    """
    line = _Line(request, corrections, embedder, clock, new_id, correlation_id)
    try:
        return await line.run()
    except Rejected as rejected:
        return line.rejected(rejected)


@dataclass(slots=True)
class _Line:
    request: CorrectRequest
    corrections: Corrections
    embedder: Embedder
    clock: Clock
    new_id: NewId
    correlation_id: str

    @property
    def confirms(self) -> bool:
        return self.request.action == "confirm"

    async def run(self) -> CorrectResult | str:
        if not self.confirms:
            prepare_patch(self.request)
        async with self.corrections.reading() as reader:
            await self._open(reader)
            if self.request.idempotency_key is not None and (replay := await reader.find_submission(self.request.idempotency_key)) is not None:
                return self._with_token(first_answer(self._digest, replay), reader)
            texts = await self._foresee(reader)
            served = await reader.read_contract_key()
        vectors, warnings = await embed_inline(texts, self.embedder, served) if texts else ({}, [])
        async with self.corrections.writing() as writer:
            space = await self._open(writer)
            claim = Claim(self.new_id(), "correct", self.request.idempotency_key, self._digest, self.clock())
            answer = await answer_once(writer, claim, lambda: self._locked(writer, space, claim, vectors, warnings))
            return self._with_token(answer, writer)

    async def _locked(
        self, writer: CorrectionWriter, space: Space, claim: Claim, vectors: Mapping[str, Vectors], warnings: list[str]
    ) -> CorrectResult:
        claim = claim.at(await writer.lock_ledger(claim.now))
        try:
            return await self._write(writer, space, claim, vectors, warnings)
        except Rejected as rejected:
            if not (self.confirms and rejected.concludes):
                raise
            assert self.request.submission_id is not None
            await writer.conclude_correction(self.request.submission_id, now=claim.now, successor_id=None, reason_code=rejected.code)
            return self.rejected(rejected)

    async def _foresee(self, reader: CorrectionReader) -> list[str]:
        """The document that will be embedded. What ends a waiting correction is left to the write, which notes it."""
        try:
            _, found, _ = await self._read(reader)
        except Rejected as rejected:
            if not (self.confirms and rejected.concludes):
                raise
            return []
        return [found.wording(found.valid_to)] if isinstance(found, Amended) else []

    async def _open(self, reader: CorrectionReader) -> Space:
        reader.actor.require("write")
        space = await reader.locate(self.request.relationship_id)
        if space is None or not (space.can_write or "read" in reader.actor.scopes):
            raise _not_visible()
        return require_writable(space)

    async def _read(self, reader: CorrectionReader) -> tuple[Source, Amended | Ambiguous, CorrectRequest]:
        """The source as it stands, and what the patch makes of it; for a confirmation the patch is the stored one."""
        submitted = self.request
        waiting = await self._waiting(reader) if self.confirms else None
        if waiting is not None:
            submitted = waiting.request
        source = await reader.read_source(self.request.relationship_id)
        if source.owner_profile_id != reader.actor.profile_id:
            # Who may not read learns nothing of another author's relationship, not even that it is there.
            if "read" not in reader.actor.scopes:
                raise _not_visible()
            raise Rejected("wrong_owner")
        check_source(source, submitted, waiting)
        patch = prepare_patch(submitted)
        names = await reader.read_patch_names(patch)
        try:
            return source, amend(source, patch, names, self.request.selection), submitted
        except Rejected as rejected:
            # What a confirmation meets ends the waiting correction: there is one round.
            rejected.concludes = waiting is not None
            raise

    async def _waiting(self, reader: CorrectionReader) -> WaitingCorrection:
        assert self.request.submission_id is not None and self.request.confirmation_token is not None
        waiting = await reader.find_correction(self.request.submission_id)
        given = hashlib.sha256(self.request.confirmation_token.encode("utf-8")).digest()
        if waiting is None or waiting.relationship_id != self.request.relationship_id or not hmac.compare_digest(given, waiting.token_sha256):
            raise NotVisible("not_found", "no correction of this submission_id awaits this token")
        if not waiting.is_waiting or self.clock() >= waiting.expires_at:
            raise Rejected("confirmation_expired")
        return waiting

    async def _write(
        self, writer: CorrectionWriter, space: Space, claim: Claim, vectors: Mapping[str, Vectors], warnings: list[str]
    ) -> CorrectResult:
        source, found, submitted = await self._read(writer)
        supports = support_set_sha256(source.supports)
        if isinstance(found, Ambiguous):
            candidates = CandidatesResult(subject=_candidates(found.subject), object=_candidates(found.target))
            await writer.keep_correction(claim, submitted, supports, candidates=candidates, successor_id=None)
            expires = claim.now + CONFIRMATION_PERIOD
            return self._result(space, claim, "awaiting_confirmation", candidates=candidates, expires_at=expires)
        changes = Changes()
        statement = name_ends(found, changes, new_id=self.new_id)
        existing = await writer.read_relationships([statement])
        stated = next((item for item in existing if item.statement == statement), None)
        outcome = decide_correction(
            source,
            found,
            statement,
            submitted,
            existing=existing,
            revoked=await writer.read_revoked(stated.relationship_id) if stated else {},
            changes=changes,
            new_id=self.new_id,
            now=claim.now,
        )
        is_waiting = await writer.write_correction(claim, changes, vectors)
        if is_waiting:
            await writer.enqueue_embedding()
        successor_id = outcome.successor.relationship_id
        if self.confirms:
            assert self.request.submission_id is not None
            await writer.conclude_correction(self.request.submission_id, now=claim.now, successor_id=successor_id, reason_code=None)
        else:
            await writer.keep_correction(claim, submitted, supports, candidates=None, successor_id=successor_id)
        return self._result(space, claim, "completed", outcome, pending=is_waiting, warnings=warnings)

    def _result(
        self,
        space: Space,
        claim: Claim,
        state: str,
        outcome: CorrectionOutcome | None = None,
        *,
        pending: bool = False,
        warnings: Sequence[str] = (),
        candidates: CandidatesResult | msgspec.UnsetType = msgspec.UNSET,
        expires_at: datetime | msgspec.UnsetType = msgspec.UNSET,
    ) -> CorrectResult:
        return CorrectResult(
            contract_version=CONTRACT_VERSION,
            submission_kind="correct_relationship",
            correlation_id=self.correlation_id,
            processing_state=state,
            search_state="not_required" if outcome is None else "pending" if pending else "current",
            submission_id=self.request.submission_id if self.confirms else claim.submission_id,
            correction_result=outcome,
            space_kind=space.public_kind,
            space=msgspec.UNSET if space.name is None else space.name,
            candidates=candidates,
            expires_at=expires_at,
            warnings=list(warnings),
        )

    def rejected(self, rejected: Rejected) -> CorrectResult:
        return CorrectResult(
            contract_version=CONTRACT_VERSION,
            submission_kind="correct_relationship",
            correlation_id=self.correlation_id,
            processing_state="rejected",
            search_state="not_required",
            submission_id=self.request.submission_id if self.confirms else None,
            correction_result=None,
            reason=rejected.code,
            message=rejected.message,
            remediation=rejected.remediation,
        )

    @property
    def _digest(self) -> bytes:
        return request_sha256("correct", self.request)

    def _with_token(self, answer: CorrectResult | str, reader: CorrectionReader) -> CorrectResult | str:
        """The answer with the token of a correction that waits, which is stored nowhere."""
        if isinstance(answer, str):
            stored = msgspec.json.decode(answer)
            if stored["processing_state"] == "awaiting_confirmation":
                stored["confirmation_token"] = reader.token_of(UUID(stored["submission_id"]))
            return msgspec.json.encode(stored).decode()
        if answer.processing_state == "awaiting_confirmation":
            assert answer.submission_id is not None
            answer = msgspec.structs.replace(answer, confirmation_token=reader.token_of(answer.submission_id))
        return answer


def check_source(source: Source, submitted: CorrectRequest, waiting: WaitingCorrection | None) -> None:
    """The state that the correction was decided on still holds.

    Raises:
        Rejected: `relationship_changed` and `support_set_changed` for one that waits; else `relationship_version_stale`,
            `relationship_not_active` and `support_set_mismatch`, in this order.
    """
    item = source.relationship
    if waiting is not None:
        if item.version != waiting.expected_version or item.status != "active":
            raise Rejected("relationship_changed", concludes=True)
        if support_set_sha256(source.supports) != waiting.support_set_sha256:
            raise Rejected("support_set_changed", concludes=True)
        return
    if item.version != submitted.expected_version:
        raise Rejected("relationship_version_stale")
    if item.status != "active":
        raise Rejected("relationship_not_active")
    if submitted.supports is not None and _spans(submitted) != {support.key for support in source.supports}:
        raise Rejected("support_set_mismatch")


def _spans(submitted: CorrectRequest) -> set[tuple[UUID, int, int]]:
    return {(span.evidence_id, span.start, span.end) for span in submitted.supports or ()}


def _candidates(found: Sequence[NamedEntity]) -> list[CandidateResult]:
    return [CandidateResult(entity_id=item.entity_id, name=item.canonical_name, entity_kind=item.entity_kind) for item in found]


def _not_visible() -> NotVisible:
    return NotVisible("not_found", "no relationship of this id is visible to this credential")
