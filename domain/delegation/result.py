"""What calls on briefs answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from commonlore.domain.delegation.brief import ShownBrief


class BriefEntry(Struct, frozen=True, kw_only=True):
    """A brief in a list. `claimed_until` is null where nobody holds it."""

    brief_id: str
    kind: str
    title: str
    state: str
    claimed_until: datetime | None


class BriefPage(Struct, frozen=True, kw_only=True):
    briefs: list[BriefEntry]
    next_cursor: str | None


class BriefEvent(Struct, frozen=True, kw_only=True):
    action: str
    profile_id: UUID
    profile_name: str
    detail: dict[str, Any]
    known_from: datetime


class DescribedBrief(Struct, frozen=True, kw_only=True):
    """`brief` is null where what it is about moved on; `summary` is that of a community, where one was given and may be shown."""

    brief_id: str
    state: str
    claimed_until: datetime | None
    brief: ShownBrief | None
    summary: dict[str, Any] | None
    events: list[BriefEvent]


class ClaimedBrief(Struct, frozen=True, kw_only=True):
    claim_id: UUID
    expires_at: datetime
    brief: ShownBrief


class ReleasedBrief(Struct, frozen=True, kw_only=True):
    brief_id: str
    state: str


class VerdictResult(Struct, frozen=True, kw_only=True):
    """`applied` says which operation was done and what it changed; null for a verdict that changes nothing."""

    contract_version: str
    submission_id: UUID
    correlation_id: str
    brief_id: str
    decision: str
    state: str
    applied: dict[str, Any] | None
    space_kind: str
    space: str | UnsetType = UNSET
