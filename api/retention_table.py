"""How long a team keeps what nothing needs for ever: rows of the administrators' table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.retention.rule import DescribeRetentionRequest, RunRetentionRequest, UpdateRetentionRequest

Count = Annotated[int, Meta(ge=0)]


class RetentionRuleShown(TypedDict):
    """Days; null keeps for ever."""

    audit_days: int | None
    feedback_days: int
    answer_days: int | None
    job_days: int


class RetentionCountsShown(TypedDict):
    """Rows that the rule lets go now."""

    audit_entries: Count
    kept_recalls: Count
    answers: Count
    jobs: Count


class RetentionDescription(TypedDict):
    """A rule, and what it would remove now. Nothing was removed."""

    rule: RetentionRuleShown
    would_remove: RetentionCountsShown
    last_run_at: str | None


class RequestedRetention(TypedDict):
    """The job that was asked for; null where one waits already and will do."""

    job_id: str | None


RETENTION: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "describe_retention",
        "Preview retention",
        "What the team's rule would remove now; with days, what it would remove if it had them. Removes nothing.",
        DescribeRetentionRequest,
        RetentionDescription,
        {"feedback_days": 7},
    ),
    (
        "update_retention",
        "Set retention",
        "How many days the team keeps entries of the audit log, kept recalls, answers to repeated calls and reports of jobs. A job removes what is older, once a day.",
        UpdateRetentionRequest,
        RetentionDescription,
        {"audit_days": 730, "feedback_days": 30},
    ),
    ("run_retention", "Run retention", "Asks for the job now.", RunRetentionRequest, RequestedRetention, {}),
)
