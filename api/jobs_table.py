"""What an administrator may do to the team's jobs: the rows that `commonlore.api.admin` adds to its table, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from msgspec import Meta, Struct

from commonlore.domain.jobs.kind import State
from commonlore.domain.jobs.request import JobRequest, ListJobsRequest

Count = Annotated[int, Meta(ge=0)]


class JobProgress(TypedDict):
    """What a job told last. `total`, `rate_per_second` and `eta_seconds` are null where they are not known."""

    stage: str
    done: Count
    total: Count | None
    rate_per_second: float | None
    eta_seconds: Count | None
    reported_at: str


class JobEntry(TypedDict):
    """One job of the team: what it is, how it stands, how far it has come, and why it failed last."""

    job_id: str
    kind: str
    queue: str
    priority: int
    space_id: str | None
    state: State
    attempts: Count
    max_attempts: Count | None
    reason: Annotated[str | None, Meta(description="A code of the closed list of docs/reference/jobs.md.")]
    cancel_requested: bool
    progress: JobProgress | None
    queued_at: str
    run_after: str | None
    started_at: str | None
    finished_at: str | None


class JobList(TypedDict):
    """Jobs, the newest first."""

    jobs: list[JobEntry]
    next_cursor: Annotated[str | None, Meta(description="Send it as `cursor` to read on; null on the last page.")]


_ID = "01982f00-0000-7000-8000-000000000001"

JOBS: tuple[tuple[str, str, str, type[Struct], type[Any], Mapping[str, object]], ...] = (
    (
        "list_jobs",
        "List jobs",
        "Work of the team that waits, runs or is over, the newest first. Ended jobs are kept for 7 days, dead and cancelled ones for 30.",
        ListJobsRequest,
        JobList,
        {"state": "dead", "limit": 50},
    ),
    ("describe_job", "Describe a job", "One job of the team as it stands now.", JobRequest, JobEntry, {"job_id": _ID}),
    (
        "cancel_job",
        "Cancel a job",
        "One that waits ends at once; one that runs is asked to end, and does so within seconds. What it wrote stays.",
        JobRequest,
        JobEntry,
        {"job_id": _ID},
    ),
    (
        "retry_job",
        "Retry a job",
        "Queues a dead or cancelled job anew with all its tries. `merged`: another job of the same kind and space waits already and does its work.",
        JobRequest,
        JobEntry,
        {"job_id": _ID},
    ),
)
