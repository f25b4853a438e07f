"""`commonlore community`: switch communities of a space on, ask for a run, and see how they stand, with an administrator's key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from commonlore.api.cli.calling import post, service_options, show_refusal, space_option
from commonlore.api.cli.output import Output, json_option
from commonlore.domain.tenancy.place import place_fields

_service = service_options("with the scope admin")


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    return space_option(_service(json_option(click.pass_obj(function))))


@click.group()
def community() -> None:
    """Switch communities on, ask for a run, and see how they stand."""


def _answer(output: Output, found: tuple[int, dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> int:
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


@community.command("show")
@_options
def show(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Show what is published, what a recall says of it, and the latest runs."""
    return _answer(output, post(url, key, "admin/describe_communities", place_fields(target_space)), lambda answer: _show(output, answer))


@community.command("enable")
@_options
def enable(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Switch communities of a space on; the first run comes within minutes."""
    body = {**place_fields(target_space), "enabled": True}
    return _answer(output, post(url, key, "admin/update_communities", body), lambda answer: _show(output, answer))


@community.command("disable")
@_options
def disable(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Switch communities of a space off; what was published is kept."""
    body = {**place_fields(target_space), "enabled": False}
    return _answer(output, post(url, key, "admin/update_communities", body), lambda answer: _show(output, answer))


@community.command("schedule")
@click.option("--time-zone", help="The name of a time zone, such as Europe/Berlin.")
@click.option("--start", metavar="HH:MM", help="When the day's run begins there.")
@_options
def schedule(output: Output, time_zone: str | None, start: str | None, target_space: str, url: str, key: str | None) -> int:
    """Set when the team's communities are detected, for all its spaces."""
    body = {**place_fields(target_space), "time_zone": time_zone, "start": start}
    return _answer(output, post(url, key, "admin/update_communities", body), lambda answer: _show(output, answer))


@community.command("run")
@_options
def run(output: Output, target_space: str, url: str, key: str | None) -> int:
    """Detect communities now, without waiting for their time."""

    def say(answer: dict[str, Any]) -> None:
        asked = f"Asked for a run: commonlore jobs watch {answer['job_id']}" if answer["job_id"] else "A run waits already."
        click.echo(asked)

    return _answer(output, post(url, key, "admin/run_communities", place_fields(target_space)), say)


def _show(output: Output, answer: dict[str, Any]) -> None:
    when = f"daily at {answer['start']} {answer['time_zone']}, next {answer['next_run_at']}" if answer["enabled"] else "off"
    click.echo(f"{answer['space'] or answer['target_space']}: {when}")
    published = answer["snapshot"]
    if published:
        counts = f"{published['communities']} communities of {published['semantic_groups']} meanings in {published['relationships']} relationships"
        click.echo(f"{counts}, published {published['published_at']} ({published['age_seconds']} s ago), {published['stale_members']} stale members")
    for code in answer["lacks"]:
        click.echo(f"A recall says: {code}")
    rows = [(run["started_at"], run["reason"], run["status"], run["error_code"], run["communities"], run["ended_at"]) for run in answer["runs"]]
    output.table(("started", "reason", "status", "error", "communities", "ended"), rows, empty="There was no run yet.")
