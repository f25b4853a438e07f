"""`commonlore jobs`: what waits, runs and failed in a team, through a running service with an administrator's key."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import click

from commonlore.api.cli.calling import post, service_options, show_refusal
from commonlore.api.cli.output import Output, json_option
from commonlore.domain.jobs.kind import ENDED, REASONS

_service = service_options("with the scope admin")
_id = click.argument("job_id", metavar="JOB_ID", type=click.UUID)
_STATES = ("queued", "running", "succeeded", "dead", "cancelled", "merged")
_MOST = 100
Found = tuple[int, dict[str, Any]]


@click.group()
def jobs() -> None:
    """List, watch, cancel and retry the work that waits or runs."""


def _answer(output: Output, found: Found, say: Callable[[dict[str, Any]], None]) -> int:
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


@jobs.command("list")
@click.option("--state", type=click.Choice(_STATES), help="Only those that stand so.")
@click.option("--kind", help="Only those of this kind.")
@click.option("--limit", type=click.IntRange(1, _MOST), default=25, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
@_service
@json_option
@click.pass_obj
def list_jobs(output: Output, state: str | None, kind: str | None, limit: int, cursor: str | None, url: str, key: str | None) -> int:
    """List jobs, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [(job["job_id"], job["kind"], job["state"], _told(job), job["attempts"], job["reason"], job["queued_at"]) for job in answer["jobs"]]
        output.table(("id", "kind", "state", "progress", "tries", "reason", "queued"), rows, empty="There is no such job.")
        if answer["next_cursor"]:
            click.echo(f"There are more: --cursor {answer['next_cursor']}")

    body = {"state": state, "kind": kind, "limit": limit, "cursor": cursor}
    return _answer(output, post(url, key, "admin/list_jobs", body), say)


@jobs.command("show")
@_id
@_service
@json_option
@click.pass_obj
def show(output: Output, job_id: UUID, url: str, key: str | None) -> int:
    """Show one job: how it stands, how far it has come, and why it failed last."""
    return _answer(output, post(url, key, "admin/describe_job", {"job_id": str(job_id)}), lambda job: _show(output, job))


def _show(output: Output, job: dict[str, Any]) -> None:
    rows = [(name, value) for name, value in job.items() if name not in ("progress", "reason") and value is not None]
    rows += [("progress", _told(job))] if job["progress"] else []
    rows += [("reason", f"{job['reason']}: {REASONS.get(job['reason'], '')}")] if job["reason"] else []
    output.table(("what", "value"), rows, empty="")


@jobs.command("cancel")
@_id
@_service
@json_option
@click.pass_obj
def cancel(output: Output, job_id: UUID, url: str, key: str | None) -> int:
    """End a job that waits; ask one that runs to end. What it wrote stays."""
    return _answer(output, post(url, key, "admin/cancel_job", {"job_id": str(job_id)}), _say_steered)


@jobs.command("retry")
@_id
@_service
@json_option
@click.pass_obj
def retry(output: Output, job_id: UUID, url: str, key: str | None) -> int:
    """Queue a dead or cancelled job anew."""
    return _answer(output, post(url, key, "admin/retry_job", {"job_id": str(job_id)}), _say_steered)


def _say_steered(job: dict[str, Any]) -> None:
    asked = ", and is asked to end" if job["cancel_requested"] and job["state"] == "running" else ""
    click.echo(f"{job['job_id']}: {job['kind']} is {job['state']}{asked}")


@jobs.command("watch")
@click.argument("job_id", metavar="[JOB_ID]", type=click.UUID, required=False)
@click.option("--every", type=click.FloatRange(0.1, 60), default=1.0, show_default=True, metavar="SECONDS", help="How often to look.")
@_service
@json_option
@click.pass_obj
def watch(output: Output, job_id: UUID | None, every: float, url: str, key: str | None) -> int:
    """Follow a job until it is over, or every job that waits or runs now. With --json, one document when it is over.

    The exit code is 1 where one is dead or cancelled.
    """
    found = _look(url, key, [str(job_id)] if job_id else None)
    with _screen(output) as draw:
        while found[0] == 200:
            wanted = found[1]["jobs"]
            draw(wanted)
            if all(job["state"] in ENDED for job in wanted):
                break
            time.sleep(every)
            found = _look(url, key, [job["job_id"] for job in wanted])
    status, answer = found
    if status != 200:
        return _answer(output, found, lambda _: None)
    if output.as_json:
        output.document(answer["jobs"][0] if job_id else answer)
    elif not answer["jobs"]:
        click.echo("No job waits or runs.")
    return 1 if any(job["state"] in ("dead", "cancelled") for job in answer["jobs"]) else 0


def _look(url: str, key: str | None, job_ids: list[str] | None) -> Found:
    """The jobs named, or every one that waits or runs, as one answer; the first refusal instead, if there is one."""
    if job_ids is None:
        found: dict[str, dict[str, Any]] = {}
        # A job may begin, or go back to the queue, between two looks.
        for state in ("queued", "running", "queued"):
            status, answer = post(url, key, "admin/list_jobs", {"state": state, "limit": _MOST})
            if status != 200:
                return status, answer
            found |= {job["job_id"]: job for job in answer["jobs"]}
        return 200, {"jobs": list(found.values())}
    jobs: list[dict[str, Any]] = []
    for job_id in job_ids:
        status, answer = post(url, key, "admin/describe_job", {"job_id": job_id})
        if status != 200:
            return status, answer
        jobs.append(answer)
    return 200, {"jobs": jobs}


@contextmanager
def _screen(output: Output) -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """Draws jobs: bars on a terminal, a line a change elsewhere, nothing with --json."""
    if output.as_json:
        yield lambda jobs: None
    elif sys.stdout.isatty():
        with _bars() as draw:
            yield draw
    else:
        said: dict[str, str] = {}

        def say(jobs: list[dict[str, Any]]) -> None:
            for job in jobs:
                line = f"{job['job_id']}  {job['kind']}  {job['state']}  {_told(job)}".rstrip()
                if said.get(job["job_id"]) != line:
                    said[job["job_id"]] = line
                    click.echo(line)

        yield say


@contextmanager
def _bars() -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.fields[kind]}"), TextColumn("{task.fields[state]}"), BarColumn(), TextColumn("{task.fields[told]}"))
    tasks: dict[str, TaskID] = {}
    with Progress(*columns) as progress:

        def draw(jobs: list[dict[str, Any]]) -> None:
            for job in jobs:
                told = job["progress"] or {}
                fields = {"kind": job["kind"], "state": job["state"], "told": _told(job)}
                total = told.get("total") if job["state"] != "succeeded" else told.get("total") or 1
                done = total if job["state"] == "succeeded" else told.get("done", 0)
                if job["job_id"] not in tasks:
                    tasks[job["job_id"]] = progress.add_task("", total=total, **fields)
                progress.update(tasks[job["job_id"]], completed=done, total=total, **fields)

        yield draw


def _told(job: dict[str, Any]) -> str:
    """`embedding 640/1,280, 50%, 32.0/s, 20 s left`, as far as it is known."""
    told = job["progress"]
    if told is None:
        return ""
    parts = [f"{told['stage']} {told['done']:,}" + (f"/{told['total']:,}" if told["total"] is not None else "")]
    if told["total"]:
        parts.append(f"{min(100, 100 * told['done'] // told['total'])}%")
    if told["rate_per_second"] is not None:
        parts.append(f"{told['rate_per_second']:.1f}/s")
    if told["eta_seconds"] is not None:
        parts.append(f"{_time(told['eta_seconds'])} left")
    return ", ".join(parts)


def _time(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h {seconds % 3600 // 60} min"
