"""What the operations on conflicts answer."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType


class EndedRelationship(Struct, frozen=True, kw_only=True):
    """A statement that another one is preferred to, with the version that it took."""

    relationship_id: UUID
    relationship_version: int


class ResolutionResult(Struct, frozen=True, kw_only=True):
    """What was decided. `opened_conflict_ids` are cases of what this decision left open: sides beyond the bound of positions."""

    contract_version: str
    submission_id: UUID
    correlation_id: str
    conflict_id: UUID
    version: int
    status: str
    preferred_position_id: UUID | None
    effective_at: datetime | None
    effective_time_basis: str | None
    superseded_relationships: list[EndedRelationship]
    opened_conflict_ids: list[UUID]
    space_kind: str
    space: str | UnsetType = UNSET


class ContestResult(Struct, frozen=True, kw_only=True):
    """`disposition` is opened, or recited where the same quotes were contested before."""

    contract_version: str
    submission_id: UUID
    correlation_id: str
    conflict_id: UUID
    version: int
    status: str
    disposition: str
    position_ids: list[UUID] | UnsetType = UNSET
