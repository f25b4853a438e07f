"""Operations on the team's jobs inside an administrator's transaction: read or steer, then encode."""

from __future__ import annotations

from commonlore.api.jobs_table import JobEntry, JobList, JobProgress
from commonlore.db import jobs
from commonlore.db.jobs import JobReport
from commonlore.db.session import TeamTransaction
from commonlore.domain.jobs.kind import KINDS
from commonlore.domain.jobs.progress import RATE_SECONDS, Progress
from commonlore.domain.jobs.request import ListJobsRequest
from commonlore.domain.tenancy.paging import decode_cursor, encode_cursor
from commonlore.domain.time import render_if_any, render_instant


async def list_jobs(transaction: TeamTransaction, request: ListJobsRequest) -> JobList:
    """
    Raises:
        Incorrect: no such kind, or the cursor is not one of this list.
    """
    request.validate()
    before = decode_cursor(request.cursor, transaction.team_id, "jobs") if request.cursor else None
    page = await jobs.page_jobs(transaction, state=request.state, kind=request.kind, before=before, limit=request.limit)
    cursor = encode_cursor(transaction.team_id, "jobs", page.last_id) if page.last_id else None
    return {"jobs": [job_entry(entry) for entry in page.entries], "next_cursor": cursor}


def job_entry(job: JobReport) -> JobEntry:
    """One job as it is shown."""
    known = KINDS.get(job.kind)
    return {
        "job_id": str(job.job_id),
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "space_id": str(job.space_id) if job.space_id else None,
        "state": job.state,
        "attempts": job.attempts,
        "max_attempts": known.retry.max_attempts if known else None,
        "reason": job.reason,
        "cancel_requested": job.cancel_requested,
        "progress": _progress(job.progress, job) if job.progress else None,
        "queued_at": render_instant(job.queued_at),
        "run_after": render_if_any(job.run_after),
        "started_at": render_if_any(job.started_at),
        "finished_at": render_if_any(job.finished_at),
    }


def _progress(progress: Progress, job: JobReport) -> JobProgress:
    return {
        "stage": progress.stage,
        "done": progress.done,
        "total": progress.total,
        "rate_per_second": None if progress.rate is None else progress.rate / RATE_SECONDS,
        "eta_seconds": progress.eta_s(job.seen_at) if job.state == "running" else None,
        "reported_at": render_instant(progress.reported_at),
    }
