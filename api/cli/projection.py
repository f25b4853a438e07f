"""`commonlore projection`: generations of the documents that relationships are searched by, with an administrator's key."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import click

from commonlore.api.cli.calling import post, service_options, show_refusal
from commonlore.api.cli.output import Output, json_option

_service = service_options("with the scope admin")
_number = click.argument("generation", type=click.IntRange(1), required=False)
_BUILT = ("projecting_text", "embedding")
Found = tuple[int, dict[str, Any]]


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    return _service(json_option(click.pass_obj(function)))


@click.group()
def projection() -> None:
    """Build relationship documents anew while the old ones serve, switch, and go back."""


def _answer(output: Output, found: Found, say: Callable[[dict[str, Any]], None]) -> int:
    status, answer = found
    if output.as_json:
        output.document(answer)
    elif status == 200:
        say(answer)
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


def _say(entry: dict[str, Any]) -> None:
    click.echo(_line(entry))


def _line(entry: dict[str, Any]) -> str:
    """`generation 2: embedding 640/1,280, 3 failed, paused`, as far as it is so."""
    counts, parts = entry["counts"], [f"generation {entry['generation']}: {entry['state']}"]
    if counts and entry["state"] == "projecting_text":
        parts[0] += f" {counts['documents']:,}/{counts['expected']:,}"
    elif counts:
        parts[0] += f" {counts['current']:,}/{counts['documents']:,}"
    if counts and counts["failed"]:
        parts.append(f"{counts['failed']:,} failed")
    parts += ["paused"] if entry["paused_at"] and entry["state"] in _BUILT else []
    parts += ["recalls read it"] if entry["is_read"] else []
    return ", ".join(parts)


@projection.command("show")
@_options
def show(output: Output, url: str, key: str | None) -> int:
    """Show every generation, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [
            (
                entry["generation"],
                entry["state"] + (", paused" if entry["paused_at"] and entry["state"] in _BUILT else ""),
                "yes" if entry["is_read"] else "",
                *((entry["counts"] or {}).get(name) for name in ("documents", "current", "pending", "failed")),
                entry["started_at"],
                entry["activated_at"],
            )
            for entry in answer["generations"]
        ]
        heads = ("generation", "state", "read", "documents", "current", "pending", "failed", "started", "activated")
        output.table(heads, rows, empty="There is no generation.")
        click.echo(f"Vectors: {answer['contract_key']}")

    return _answer(output, post(url, key, "admin/describe_projection", {}), say)


@projection.command("failed")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
@_options
def failed(output: Output, limit: int, cursor: str | None, url: str, key: str | None) -> int:
    """List texts and relationships whose vector failed for good, by id."""

    def say(answer: dict[str, Any]) -> None:
        rows = [tuple(item[name] for name in ("id", "kind", "space_id", "parts", "attempts", "error_code", "failed_at")) for item in answer["failed"]]
        output.table(("id", "kind", "space", "parts", "attempts", "reason", "failed"), rows, empty="Nothing failed for good.")
        if answer["next_cursor"]:
            click.echo(f"More: --cursor {answer['next_cursor']}")

    return _answer(output, post(url, key, "admin/list_failed_vectors", {"limit": limit, "cursor": cursor}), say)


@projection.command("start")
@click.option("--activate", is_flag=True, help="Let it take over as soon as it is ready.")
@_options
def start(output: Output, activate: bool, url: str, key: str | None) -> int:
    """Write every document anew beside the generation that serves."""
    return _answer(output, post(url, key, "admin/start_projection", {"activate": activate}), _say)


def _steering(name: str, operation: str, help_text: str) -> None:
    def command(output: Output, generation: int | None, url: str, key: str | None) -> int:
        return _answer(output, post(url, key, f"admin/{operation}", {"generation": generation}), _say)

    command.__doc__ = help_text
    projection.command(name)(_number(_options(command)))


_steering("pause", "pause_projection", "Stop building; writes go on into both generations.")
_steering("resume", "resume_projection", "Go on where it was paused.")
_steering("retry", "retry_projection", "Try the failed documents of a generation again.")
_steering("retire", "retire_projection", "Give up a generation that does not serve; its documents are cleared away.")


@projection.command("activate")
@_number
@click.option("--accept-failed", is_flag=True, help="Also where documents failed; they are then found by their words alone.")
@_options
def activate(output: Output, generation: int | None, accept_failed: bool, url: str, key: str | None) -> int:
    """Let recalls read a generation that stands by; what served stands by in its turn."""
    body = {"generation": generation, "accept_failed": accept_failed}
    return _answer(output, post(url, key, "admin/activate_projection", body), _say)


@projection.command("rollback")
@_options
def rollback(output: Output, url: str, key: str | None) -> int:
    """Let recalls read again what served before."""
    return _answer(output, post(url, key, "admin/roll_back_projection", {}), _say)


@projection.command("watch")
@click.option("--every", type=click.FloatRange(0.1, 60), default=1.0, show_default=True, metavar="SECONDS", help="How often to look.")
@_options
def watch(output: Output, every: float, url: str, key: str | None) -> int:
    """Follow what is built until nothing is, or it is paused. With --json, one document when it is over.

    The exit code is 1 where a generation failed.
    """
    said: dict[int, str] = {}
    while True:
        status, answer = post(url, key, "admin/describe_projection", {})
        if status != 200:
            return _answer(output, (status, answer), _say)
        for entry in answer["generations"] if not output.as_json else ():
            line = _line(entry)
            if entry["state"] != "retired" and said.get(entry["generation"]) != line:
                said[entry["generation"]] = line
                click.echo(line)
        if not any(entry["state"] in _BUILT and not entry["paused_at"] for entry in answer["generations"]):
            break
        sys.stdout.flush()
        time.sleep(every)
    if output.as_json:
        output.document(answer)
    return 1 if any(entry["state"] == "failed" for entry in answer["generations"]) else 0
