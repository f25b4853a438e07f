"""`commonlore retention`: what a team keeps for a time only, through a running service with an administrator's key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.output import Output, json_option
from commonlore.domain.errors import invalid

_service = service_options("with the scope admin")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_NEVER = "never"


@click.group()
def retention() -> None:
    """Preview, set and run what is removed by its age. Texts and relationships never are."""


def _days(function: _Function) -> _Function:
    for option in (
        click.option("--job-days", metavar="DAYS", help="Reports of dead and cancelled jobs; those of others are kept for a week at most."),
        click.option("--answer-days", metavar="DAYS|never", help="What a repeated call is answered with; a later one is a new call."),
        click.option("--feedback-days", metavar="DAYS", help="Recalls that are kept for feedback."),
        click.option("--audit-days", metavar="DAYS|never", help="Entries of the audit log; 30 at least."),
    ):
        function = option(function)
    return function


def _body(**days: str | None) -> dict[str, int | None]:
    """
    Raises:
        Incorrect: neither a number nor `never`.
    """
    found: dict[str, int | None] = {}
    for name, text in days.items():
        if text is None:
            continue
        if text != _NEVER and not text.isdecimal():
            raise invalid(f"/{name}", "expected a number of days, or never")
        found[name] = None if text == _NEVER else int(text)
    return found


def _say(output: Output) -> Callable[[dict[str, Any]], None]:
    kept = (
        ("entries of the audit log", "audit_days", "audit_entries"),
        ("recalls kept for feedback", "feedback_days", "kept_recalls"),
        ("answers to repeated calls", "answer_days", "answers"),
        ("reports of jobs", "job_days", "jobs"),
    )

    def say(answer: dict[str, Any]) -> None:
        rows = [(name, answer["rule"][days] or "for ever", answer["would_remove"][count]) for name, days, count in kept]
        output.table(("what", "days", "would go now"), rows, empty="")
        click.echo(f"The job ran last at {answer['last_run_at']}." if answer["last_run_at"] else "The job has not run yet.")

    return say


@retention.command("show")
@_days
@_service
@json_option
@click.pass_obj
def show(output: Output, /, url: str, key: str | None, **days: str | None) -> int:
    """Show the rule and what it would remove now; with days, what it would remove if it had them. Removes nothing."""
    return answered(output, post(url, key, "admin/describe_retention", _body(**days)), _say(output))


@retention.command("set")
@_days
@_service
@json_option
@click.pass_obj
def set_rule(output: Output, /, url: str, key: str | None, **days: str | None) -> int:
    """Set the rule and show what it will remove. Look first with `show` and the same days."""
    return answered(output, post(url, key, "admin/update_retention", _body(**days)), _say(output))


@retention.command("run")
@_service
@json_option
@click.pass_obj
def run(output: Output, url: str, key: str | None) -> int:
    """Ask for the job now; it comes by itself once a day."""

    def say(answer: dict[str, Any]) -> None:
        job = answer["job_id"]
        click.echo(f"Job {job}: commonlore jobs watch {job}" if job else "A job waits already and will do.")

    return answered(output, post(url, key, "admin/run_retention", {}), say)
