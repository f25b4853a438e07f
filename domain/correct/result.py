"""The answer to a correction."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.degradation import SearchState


class VersionedRelationship(Struct, frozen=True, kw_only=True):
    relationship_id: UUID
    relationship_version: int
    status: str


class Successor(VersionedRelationship, frozen=True, kw_only=True):
    """`disposition`: created, joined (the author said the same already), reactivated (said it once), or amended (the same
    relationship, of which only the end of its validity changed)."""

    disposition: str


class CorrectionOutcome(Struct, frozen=True, kw_only=True):
    """`superseded` is null where only the end of the validity changed."""

    superseded: VersionedRelationship | None
    successor: Successor


class CandidateResult(Struct, frozen=True, kw_only=True):
    entity_id: UUID
    name: str
    entity_kind: str


class CandidatesResult(Struct, frozen=True, kw_only=True):
    """The entities that each ambiguous end may mean; an end that is settled has none."""

    subject: list[CandidateResult]
    object: list[CandidateResult]


class CorrectResult(Struct, frozen=True, kw_only=True):
    """`reason`, `message` and `remediation` are there when `processing_state` is rejected; candidates, token and expiry when
    it is awaiting_confirmation. A rejected submission has no `submission_id`: nothing of it was stored."""

    contract_version: str
    submission_kind: str
    correlation_id: str
    processing_state: str
    search_state: SearchState
    submission_id: UUID | None
    correction_result: CorrectionOutcome | None
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    remediation: str | UnsetType = UNSET
    space_kind: str | UnsetType = UNSET
    space: str | UnsetType = UNSET
    candidates: CandidatesResult | UnsetType = UNSET
    confirmation_token: str | UnsetType = UNSET
    expires_at: datetime | UnsetType = UNSET
    warnings: list[str] = []
