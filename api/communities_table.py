"""What an administrator may do to communities: the rows that `commonlore.api.admin` adds to its table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.community.gate import CommunityCode, RunStatus
from commonlore.domain.community.request import DescribeCommunitiesRequest, RunCommunitiesRequest, UpdateCommunitiesRequest
from commonlore.domain.tenancy.actor import PublicSpaceKind

Count = Annotated[int, Meta(ge=0)]


class PublishedCommunities(TypedDict):
    """What recalls read. `stale_members` are left out of every answer until the next run."""

    published_at: str
    age_seconds: Count
    relationships: Count
    semantic_groups: Count
    communities: Count
    stale_members: Count


class CommunityRunEntry(TypedDict):
    """One run of detection. Counts are null where it ended before it knew them."""

    run_id: str
    reason: Literal["scheduled", "requested"]
    status: RunStatus
    error_code: str | None
    relationships: Count | None
    semantic_groups: Count | None
    ties: Count | None
    communities: Count | None
    started_at: str
    ended_at: str | None


class CommunityDescription(TypedDict):
    """How communities of a space stand, and the latest ten runs, the newest first. `lacks`: what a recall says of them now."""

    target_space: PublicSpaceKind
    space: str | None
    enabled: bool
    lacks: list[CommunityCode]
    snapshot: PublishedCommunities | None
    time_zone: str
    start: str
    next_run_at: Annotated[str | None, Meta(description="Null where communities are off.")]
    runs: list[CommunityRunEntry]


class RequestedRun(TypedDict):
    """The job that was asked for; null where one waits already and will do."""

    job_id: str | None


COMMUNITIES: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_communities",
        "Describe communities",
        "Whether a space has communities, what is published, what a recall says of it, and the latest runs.",
        DescribeCommunitiesRequest,
        CommunityDescription,
        {"target_space": "team_shared"},
    ),
    (
        "update_communities",
        "Switch communities and set their time",
        "Off by default. The first run comes within minutes after a space is switched on; from then on one a day, at `start` in `time_zone`.",
        UpdateCommunitiesRequest,
        CommunityDescription,
        {"enabled": True, "time_zone": "Europe/Berlin", "start": "03:00"},
    ),
    (
        "run_communities",
        "Detect communities now",
        "Asks for a run without waiting for its time; a space that did not change is skipped. What is published is served until the run has something new.",
        RunCommunitiesRequest,
        RequestedRun,
        {"target_space": "team_shared"},
    ),
)
