"""The answer to a remember call (the published client's RememberResult, with additive fields only)."""

from __future__ import annotations

from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.degradation import SearchState

CONTRACT_VERSION = "commonlore.v1"


class SplitResult(Struct, frozen=True, kw_only=True):
    relationship_id: UUID
    relationship_version: int
    split_index: int
    status: str


class RelationshipResult(Struct, frozen=True, kw_only=True):
    ref: str
    disposition: str
    splits: list[SplitResult]
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    remediation: str | UnsetType = UNSET
    subject_entity_id: UUID | UnsetType = UNSET
    object_entity_id: UUID | UnsetType = UNSET
    predicate_key: str | UnsetType = UNSET


class EvidenceResult(Struct, frozen=True, kw_only=True):
    evidence_index: int
    disposition: str
    superseded_evidence_ids: list[UUID]
    search_state: SearchState
    evidence_id: UUID
    content_hash: str
    parts: int
    echo_of: list[UUID] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    remediation: str | UnsetType = UNSET


class RememberResult(Struct, frozen=True, kw_only=True):
    """`correlation_id` is that of the call that stored it, also when the answer is repeated."""

    contract_version: str
    submission_id: UUID
    submission_kind: str
    correlation_id: str
    processing_state: str
    search_state: SearchState
    space_kind: str
    space: str | UnsetType = UNSET
    evidence: list[EvidenceResult]
    relationship_results: list[RelationshipResult]
    errors: list[dict[str, object]]
    warnings: list[str]
