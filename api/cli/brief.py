"""`commonlore brief`: questions that need judgement, seen, taken and answered through a running service."""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

import click
import msgspec

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.output import Output, idempotency_option, json_option
from commonlore.domain.delegation.kind import ALL_KINDS, Decision
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.place import place_fields

_service = service_options("with the scope of the brief's kind")
_id = click.argument("brief_id", metavar="BRIEF_ID")
_claim = click.option("--claim", "claim_id", type=click.UUID, required=True, help="The id that `brief claim` told.")
_space = click.option("--target-space", metavar="SPACE", default="team_shared", show_default=True, help="Or private, or the name of a named space.")


@click.group()
def brief() -> None:
    """List the questions that need judgement, take one, and answer it."""


@brief.command("list")
@click.option("--kind", "kinds", type=click.Choice(ALL_KINDS), multiple=True, help="Only these; may be given again.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
@_space
@_service
@json_option
@click.pass_obj
def list_briefs(output: Output, kinds: tuple[str, ...], limit: int, cursor: str | None, target_space: str, url: str, key: str | None) -> int:
    """List the briefs that the key may decide and nobody decided."""

    def say(answer: dict[str, Any]) -> None:
        rows = [(item["brief_id"], item["state"], item["claimed_until"], item["title"]) for item in answer["briefs"]]
        output.table(("id", "state", "claimed until", "about"), rows, empty="There is no brief.")
        if answer["next_cursor"]:
            click.echo(f"There are more: --cursor {answer['next_cursor']}")

    body = {"kinds": list(kinds), "limit": limit, "cursor": cursor, **place_fields(target_space)}
    return answered(output, post(url, key, "list_briefs", body), say)


@brief.command("show")
@_id
@_space
@_service
@json_option
@click.pass_obj
def show(output: Output, brief_id: str, target_space: str, url: str, key: str | None) -> int:
    """Show one brief: its question, its texts, and what became of it."""

    def say(answer: dict[str, Any]) -> None:
        click.echo(f"{answer['brief_id']}: {answer['state']}")
        if answer["brief"]:
            _say_brief(output, answer["brief"])
        if answer["summary"]:
            click.echo(f"Summary: {answer['summary']['summary']}")
        rows = [(item["known_from"], item["action"], item["profile_name"], _detail(item["detail"])) for item in answer["events"]]
        output.table(("when", "what", "who", "detail"), rows, empty="Nobody has claimed it.")

    return answered(output, post(url, key, "describe_brief", {"brief_id": brief_id, **place_fields(target_space)}), say)


@brief.command("claim")
@_id
@click.option("--seconds", type=click.IntRange(10, 3600), default=600, show_default=True, help="How long nobody else can take it.")
@click.option("--claim", "claim_id", type=click.UUID, help="Extend this claim of yours.")
@_space
@_service
@json_option
@click.pass_obj
def claim(output: Output, brief_id: str, seconds: int, claim_id: UUID | None, target_space: str, url: str, key: str | None) -> int:
    """Take a brief for some time."""

    def say(answer: dict[str, Any]) -> None:
        _say_brief(output, answer["brief"])
        click.echo(f"Yours until {answer['expires_at']}: --claim {answer['claim_id']}")

    body = {"brief_id": brief_id, "lease_seconds": seconds, "claim_id": str(claim_id) if claim_id else None, **place_fields(target_space)}
    return answered(output, post(url, key, "claim_brief", {name: value for name, value in body.items() if value is not None}), say)


@brief.command("release")
@_id
@_claim
@click.option("--reason", required=True, help="Why; it is kept with the event.")
@_space
@_service
@json_option
@click.pass_obj
def release(output: Output, brief_id: str, claim_id: UUID, reason: str, target_space: str, url: str, key: str | None) -> int:
    """Give a brief back before its time."""
    body = {"brief_id": brief_id, "claim_id": str(claim_id), "reason": reason, **place_fields(target_space)}
    return answered(output, post(url, key, "release_brief", body), lambda _: click.echo("Given back."))


@brief.command("decide")
@_id
@_claim
@click.option("--decision", type=click.Choice(get_args(Decision)), required=True, help="One of those that the brief allows.")
@click.option("--reason", required=True, help="Why; it is kept with the event.")
@click.option("--quote", "quotes", multiple=True, metavar="EVIDENCE_ID=WORDS", help="Words letter by letter out of a text; may be given again.")
@click.option("--position", "preferred_position_id", type=click.UUID, help="Of a conflict: the position that is preferred.")
@click.option("--effective-at", metavar="WHEN", help="Of a conflict: RFC 3339; from when on it counts.")
@click.option("--keep", "keep_entity_id", type=click.UUID, help="Of two entities: the one that lives on.")
@click.option("--summary", help="Of a community: at most 600 characters.")
@idempotency_option
@_space
@_service
@json_option
@click.pass_obj
def decide(
    output: Output,
    brief_id: str,
    claim_id: UUID,
    decision: str,
    reason: str,
    quotes: tuple[str, ...],
    preferred_position_id: UUID | None,
    effective_at: str | None,
    keep_entity_id: UUID | None,
    summary: str | None,
    idempotency_key: str | None,
    target_space: str,
    url: str,
    key: str | None,
) -> int:
    """Answer a brief that you claimed; the verdict is applied at once, or refused."""
    body = {
        "brief_id": brief_id,
        "claim_id": str(claim_id),
        "decision": decision,
        "reason": reason,
        "quotes": [_quote(text) for text in quotes] or None,
        "preferred_position_id": str(preferred_position_id) if preferred_position_id else None,
        "effective_at": effective_at,
        "keep_entity_id": str(keep_entity_id) if keep_entity_id else None,
        "summary": summary,
        "idempotency_key": idempotency_key,
        **place_fields(target_space),
    }

    def say(answer: dict[str, Any]) -> None:
        applied = answer["applied"]
        click.echo(f"Decided: {answer['decision']}. " + (f"Applied: {_detail(applied)}." if applied else "Nothing was changed."))

    return answered(output, post(url, key, "submit_verdict", {name: value for name, value in body.items() if value is not None}), say)


def _quote(text: str) -> dict[str, str]:
    evidence_id, separator, words = text.partition("=")
    if not separator:
        raise OperatorError("settings_invalid", "--quote is an evidence id, an equals sign and the words, such as --quote 0198...=Ada")
    return {"evidence_id": evidence_id, "quote": words}


def _say_brief(output: Output, shown: dict[str, Any]) -> None:
    click.echo(f"{shown['question']}\n{shown['title']}")
    click.echo(msgspec.json.format(msgspec.json.encode(shown["facts"]), indent=2).decode())
    for text in shown["texts"]:
        speaker = f"{text['speaker']}: " if text["speaker"] else ""
        whole = "" if text["start"] == 0 and len(text["content"]) == text["length"] else f" (from {text['start']} of {text['length']} characters)"
        click.echo(f"\n{text['evidence_id']}{whole}\n{speaker}{text['content']}")
    if shown["texts_omitted"]:
        click.echo("\nThere are more texts than are shown.")
    rows = [(item["decision"], item["needs"], item["allows"], item["means"]) for item in shown["verdicts"]]
    output.table(("decision", "needs", "may carry", "means"), rows, empty="")


def _detail(detail: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value not in (None, [], ""))
