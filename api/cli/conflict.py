"""`commonlore conflict`: see what contradicts each other, and decide it, through a running service with an administrator's key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import click

from commonlore.api.cli.calling import post, service_options, show_refusal
from commonlore.api.cli.output import Output, idempotency_option, json_option

_service = service_options("with the scope admin")
_id = click.argument("conflict_id", metavar="CONFLICT_ID", type=click.UUID)
_version = click.option("--expected-version", type=click.IntRange(min=1), required=True, help="The version that `conflict show` told.")
_reason = click.option("--reason", required=True, help="Why; it is kept with the event.")


@click.group()
def conflict() -> None:
    """List conflicts, show one, and decide it."""


def _answer(output: Output, found: tuple[int, dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> int:
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


@conflict.command("list")
@click.option("--status", type=click.Choice(("open", "overdue", "resolved", "dismissed")), help="Only those that stand so.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
@_service
@json_option
@click.pass_obj
def list_conflicts(output: Output, status: str | None, limit: int, cursor: str | None, url: str, key: str | None) -> int:
    """List the conflicts of the spaces that the key reads, in the order in which they were opened."""

    def say(answer: dict[str, Any]) -> None:
        rows = [
            (
                item["conflict_id"],
                item["status"],
                item["version"],
                item["review_due_at"],
                item["question"],
                [_said(side) for side in item["positions"]],
            )
            for item in answer["conflicts"]
        ]
        output.table(("id", "status", "version", "due", "question", "positions"), rows, empty="There is no conflict.")
        if answer["next_cursor"]:
            click.echo(f"There are more: --cursor {answer['next_cursor']}")

    body = {"status": status, "limit": limit, "cursor": cursor}
    return _answer(output, post(url, key, "admin/list_conflicts", body), say)


@conflict.command("show")
@_id
@_service
@json_option
@click.pass_obj
def show(output: Output, conflict_id: UUID, url: str, key: str | None) -> int:
    """Show one conflict: its positions, who stands for each, and what happened."""

    def say(answer: dict[str, Any]) -> None:
        case = answer["conflict"]
        click.echo(f"{case['question']}\n{case['status']}, version {case['version']}, due {case['review_due_at']}")
        rows = [(side["position_id"], side["disposition"], _said(side), _supporters(side)) for side in case["positions"]]
        output.table(("id", "disposition", "says", "supporters"), rows, empty="")
        if case["positions_truncated"]:
            click.echo("More positions stand than a conflict holds; the others are not decided with it.")
        events = [(event["known_from"], event["action"], event["version"], event["reason"]) for event in answer["events"]]
        output.table(("when", "what", "version", "why"), events, empty="")

    return _answer(output, post(url, key, "admin/describe_conflict", {"conflict_id": str(conflict_id)}), say)


@conflict.command("resolve")
@_id
@click.option("--position", "position_id", type=click.UUID, required=True, help="The position that is preferred.")
@_version
@_reason
@idempotency_option
@click.option("--effective-at", metavar="WHEN", help="RFC 3339; from when on it counts. Without it, from when the position holds.")
@_service
@json_option
@click.pass_obj
def resolve(
    output: Output,
    conflict_id: UUID,
    position_id: UUID,
    expected_version: int,
    reason: str,
    idempotency_key: str | None,
    effective_at: str | None,
    url: str,
    key: str | None,
) -> int:
    """Prefer one position; the statements of the others end."""
    body = {
        "conflict_id": str(conflict_id),
        "expected_version": expected_version,
        "action": "resolve",
        "preferred_position_id": str(position_id),
        "reason": reason,
        "effective_at": effective_at,
        "idempotency_key": idempotency_key,
    }
    return _answer(output, post(url, key, "resolve_conflict", body), _decided)


@conflict.command("dismiss")
@_id
@_version
@_reason
@idempotency_option
@_service
@json_option
@click.pass_obj
def dismiss(output: Output, conflict_id: UUID, expected_version: int, reason: str, idempotency_key: str | None, url: str, key: str | None) -> int:
    """Let every position stand."""
    body = {
        "conflict_id": str(conflict_id),
        "expected_version": expected_version,
        "action": "dismiss",
        "reason": reason,
        "idempotency_key": idempotency_key,
    }
    return _answer(output, post(url, key, "resolve_conflict", body), _decided)


def _decided(answer: dict[str, Any]) -> None:
    ended = len(answer["superseded_relationships"])
    click.echo(f"{answer['conflict_id']}: {answer['status']}; {ended} {'relationship' if ended == 1 else 'relationships'} superseded")
    for opened in answer["opened_conflict_ids"]:
        click.echo(f"What it left open is another conflict: {opened}")


def _said(side: dict[str, Any]) -> str:
    if "object" not in side:
        return str(side["quote"] or "(withdrawn)")
    said = side["object"]
    return str(said.get("name") or said.get("display") or said.get("value"))


def _supporters(side: dict[str, Any]) -> list[str]:
    return [item["profile_name"] for item in side.get("supporters", ())]
