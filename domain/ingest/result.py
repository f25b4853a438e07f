"""The answer to an ingest_session call (the published client's SessionResult, with additive fields only)."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.degradation import SearchState


class EventResult(Struct, frozen=True, kw_only=True):
    """One event of the call. `evidence_ids` is empty for one that was erased since; a reason says what else is the matter with it."""

    event_id: str
    disposition: Literal["accepted", "duplicate"]
    processing_state: Literal["completed"]
    evidence_ids: list[UUID]
    search_state: SearchState
    echo_of: list[UUID] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    remediation: str | UnsetType = UNSET


class SessionResult(Struct, frozen=True, kw_only=True):
    """`correlation_id` is that of the call that stored it, also when the answer is repeated.

    `brief_ids`: where one may say which relationships the new texts state; the space is that of the call.
    """

    contract_version: str
    submission_id: UUID
    submission_kind: str
    correlation_id: str
    processing_state: str
    search_state: SearchState
    space_kind: str
    accepted_event_count: int
    duplicate_event_count: int
    events: list[EventResult]
    relationship_results: list[dict[str, object]]
    brief_ids: list[str]
    errors: list[dict[str, object]]
    warnings: list[str]
