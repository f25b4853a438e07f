"""What an administrator may do to limits: the rows that `commonlore.api.admin` adds to its table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.limits.request import DescribeLimitsRequest, UpdateLimitsRequest

Count = Annotated[int, Meta(ge=0)]


class ClassLimitEntry(TypedDict):
    """What counts in the end, null where nothing bounds, and the calls of this day and month as far as processes told each other."""

    per_minute: Count | None
    burst: Count | None
    per_day: Count | None
    per_month: Count | None
    calls_today: Count
    calls_this_month: Count


class StorageLimitEntry(TypedDict):
    """What the team may keep, and each of its spaces; null where nothing bounds."""

    texts: Count | None
    bytes: Count | None
    space_texts: Count | None
    space_bytes: Count | None


class LimitsDescription(TypedDict):
    """The limits of a key, or of the team where `credential_id` is null; `storage` is the team's, and null for a key. `own`: what was set."""

    credential_id: str | None
    read: ClassLimitEntry
    write: ClassLimitEntry
    admin: ClassLimitEntry
    heavy: ClassLimitEntry
    storage: StorageLimitEntry | None
    own: dict[str, Any]


_ID = "01982f00-0000-7000-8000-000000000001"

_UPDATE = (
    "Sets what a key or the whole team may use. A number that is null or left out is the default, 0 is no bound; nothing goes beyond the ceiling that "
    "the operator set for the team. Counts from the next call on."
)

LIMITS: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_limits",
        "Describe limits",
        "What a key or the whole team may use, and what it used. A call must be within those of its key and of its team.",
        DescribeLimitsRequest,
        LimitsDescription,
        {"credential_id": _ID},
    ),
    (
        "update_limits",
        "Update limits",
        _UPDATE,
        UpdateLimitsRequest,
        LimitsDescription,
        {"credential_id": _ID, "read": {"per_minute": 600, "burst": 100, "per_day": 20000}},
    ),
)
