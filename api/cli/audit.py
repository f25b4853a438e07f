"""`commonlore audit`: the log of who did what in a team, through a running service with an administrator's key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click

from commonlore.api.cli.calling import answered, post, service_options, show_refusal
from commonlore.api.cli.output import Output, json_option
from commonlore.domain.checks import read_instant
from commonlore.domain.errors import OperatorError
from commonlore.domain.time import parse_instant

_service = service_options("with the scope admin")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_PAGE = 200


@click.group()
def audit() -> None:
    """List, export and verify the log of who did what."""


def _filters(function: _Function) -> _Function:
    for option in (
        click.option("--until", metavar="WHEN", help="Entries before this RFC 3339 instant."),
        click.option("--since", metavar="WHEN", help="Entries from this RFC 3339 instant on."),
        click.option("--outcome", type=click.Choice(("done", "denied", "refused")), help="Only acts that ended so."),
        click.option("--subject", metavar="ID", help="Only acts on what has this id."),
        click.option("--member", "profile_id", metavar="PROFILE_ID", type=click.UUID, help="Only acts of this member's keys."),
        click.option("--act", metavar="NAME", help="Only acts of this name: a tool, an operation, a command, a kind of job."),
    ):
        function = option(function)
    return function


def _body(act: str | None, profile_id: UUID | None, subject: str | None, outcome: str | None, **period: str | None) -> dict[str, Any]:
    filters = {"act": act, "profile_id": str(profile_id) if profile_id else None, "subject": subject, "outcome": outcome, **period}
    return {name: value for name, value in filters.items() if value is not None}


@audit.command("list")
@_filters
@click.option("--limit", type=click.IntRange(1, _PAGE), default=25, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
@_service
@json_option
@click.pass_obj
def list_entries(output: Output, /, limit: int, cursor: str | None, url: str, key: str | None, **filters: Any) -> int:
    """List entries, the newest first. The reading itself is logged."""

    def say(answer: dict[str, Any]) -> None:
        columns = ("known_from", "act", "outcome", "code", "subject_kind", "subject", "profile_id", "reason")
        heads = ("when", "act", "outcome", "code", "on", "id", "member", "reason")
        output.table(heads, [[entry[name] for name in columns] for entry in answer["entries"]], empty="There is no such entry.")
        if answer["next_cursor"]:
            click.echo(f"There are more: --cursor {answer['next_cursor']}")

    return answered(output, post(url, key, "admin/list_audit", {**_body(**filters), "limit": limit, "cursor": cursor}), say)


@audit.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_filters
@_service
@json_option
@click.pass_obj
def export(output: Output, /, file: Path, url: str, key: str | None, **filters: Any) -> int:
    """Write entries into FILE as JSON Lines, the newest first.

    FILE appears when it is whole: what was broken off leaves none, and nothing that is there is written over.
    """
    if file.exists():
        raise click.BadParameter(f"{file} is there already; choose another name", param_hint="FILE")
    part = file.with_name(file.name + ".part")
    body, count = {**_body(**filters), "limit": _PAGE}, 0
    try:
        with part.open("w", encoding="utf-8") as lines, _progress(body.get("since")) as tell:
            while True:
                status, answer = post(url, key, "admin/list_audit", body)
                if status != 200:
                    output.document(answer) if output.as_json else show_refusal(answer)
                    return 1
                lines.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in answer["entries"])
                count += len(answer["entries"])
                if answer["entries"]:
                    tell(count, answer["entries"][-1]["known_from"])
                if answer["next_cursor"] is None:
                    break
                body["cursor"] = answer["next_cursor"]
        part.rename(file)
    except OSError as error:
        raise OperatorError("import_failed", f"{file} could not be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    if output.as_json:
        output.document({"file": str(file), "entries": count})
    else:
        click.echo(f"{count} entries were written to {file}")
    return 0


@contextmanager
def _progress(since: str | None) -> Iterator[Callable[[int, str], None]]:
    """How far back the export has come: a bar where the start is given, else the count and the instant reached."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    start = read_instant("/since", since)
    newest: list[datetime] = []
    with Progress(
        TextColumn("{task.fields[entries]} entries, back to {task.fields[reached]}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None, entries=0, reached="now", visible=console.is_terminal)

        def tell(entries: int, reached: str) -> None:
            instant = parse_instant(reached)
            newest.append(instant)
            if start is not None:
                whole = max((newest[0] - start).total_seconds(), 1.0)
                bar.update(task, total=whole, completed=(newest[0] - instant).total_seconds())
            bar.update(task, entries=entries, reached=reached)

        yield tell


@audit.command("verify")
@click.option("--head", metavar="SHA256", help="The digest of a seal that was noted earlier; it must be in the chain.")
@_service
@json_option
@click.pass_obj
def verify(output: Output, head: str | None, url: str, key: str | None) -> int:
    """Compare every seal of the log with its entries and with the seal before.

    The digest of the last seal covers all before it: note it elsewhere, and give it as --head the next time.
    """
    seals: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    body: dict[str, Any] = {"after": 0, "limit": 50}
    while body["after"] is not None:
        status, last = post(url, key, "admin/list_audit_seals", body)
        if status != 200:
            output.document(last) if output.as_json else show_refusal(last)
            return 1
        seals += last["seals"]
        body["after"] = last["next_after"]
        if not output.as_json and body["after"] is not None:
            click.echo(f"{len(seals)} of {last['seals_total']} seals", err=True)
    broken = [seal for seal in seals if seal["state"] == "broken"]
    missing = last["seals_total"] != len(seals)
    unknown = head is not None and head not in {seal["sha256"] for seal in seals}
    found = {
        "verified": not broken and not missing and not unknown,
        "seals": len(seals),
        "entries": sum(seal["entries"] for seal in seals if seal["state"] == "whole"),
        "removed_entries": sum(seal["entries"] for seal in seals if seal["state"] == "removed"),
        "broken_seals": [seal["ordinal"] for seal in broken],
        "head_is_in_the_chain": None if head is None else not unknown,
        "head_sha256": last["head_sha256"],
        "unsealed_entries": last["unsealed_entries"],
    }
    if output.as_json:
        output.document(found)
    else:
        output.table(("what", "value"), list(found.items()), empty="")
        click.echo("The log is as it was sealed." if found["verified"] else "The log is NOT as it was sealed.")
    return 0 if found["verified"] else 1
