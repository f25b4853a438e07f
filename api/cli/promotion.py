"""`commonlore promotion`: private texts into a shared space, through a running service with a member's key."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import click

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.output import Output, json_option

_service = service_options("of the member; deciding needs the scope admin")
_reason = click.option("--reason", required=True, help="Why; it is kept with the promotion.")
_id = click.argument("promotion_id", metavar="PROMOTION_ID", type=click.UUID)


@click.group()
def promotion() -> None:
    """Copy private texts into a shared space, ask for it, decide it, and take it back."""


@promotion.command("make")
@click.argument("evidence_ids", metavar="EVIDENCE_ID...", type=click.UUID, nargs=-1, required=True)
@click.option("--space", help="The name of a named space; without it the team's shared one.")
@click.option("--review", is_flag=True, help="Ask those who may write there instead of copying now.")
@click.option("--texts-alone", is_flag=True, help="Without the relationships that the texts state.")
@click.option("--reason", help="Why; it is kept with the promotion.")
@_service
@json_option
@click.pass_obj
def make(
    output: Output, evidence_ids: tuple[UUID, ...], space: str | None, review: bool, texts_alone: bool, reason: str | None, url: str, key: str | None
) -> int:
    """Promote texts of the key's private space. The same again changes nothing."""
    body: dict[str, Any] = {"evidence_ids": [str(item) for item in evidence_ids], "review": review, "relationships": not texts_alone}
    body |= {name: value for name, value in (("space", space), ("reason", reason)) if value is not None}

    def say(answer: dict[str, Any]) -> None:
        rows = [(item["source_evidence_id"], item["disposition"], item["evidence_id"], item["promotion_id"]) for item in answer["evidence"]]
        output.table(("text", "became", "copy", "promotion"), rows, empty="")

    return answered(output, post(url, key, "promote_evidence", body), say)


@promotion.command("list")
@click.option("--state", type=click.Choice(("requested", "expired", "promoted", "rejected", "revoked")), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--before", type=click.UUID, help="The next_before of the page before.")
@_service
@json_option
@click.pass_obj
def list_promotions(output: Output, state: str | None, limit: int, before: UUID | None, url: str, key: str | None) -> int:
    """List one's own promotions, and for an administrator those into spaces where it may write."""

    def say(answer: dict[str, Any]) -> None:
        rows = [
            (item["promotion_id"], item["state"], item["owner_name"], item["space"] or "shared", len(item["evidence"]), item["reason"])
            for item in answer["promotions"]
        ]
        output.table(("id", "state", "by", "space", "texts", "reason"), rows, empty="There is no promotion.")

    body = {"state": state, "limit": limit, "before": str(before) if before else None}
    return answered(output, post(url, key, "list_promotions", body), say)


@promotion.command("approve")
@_id
@_reason
@_service
@json_option
@click.pass_obj
def approve(output: Output, promotion_id: UUID, reason: str, url: str, key: str | None) -> int:
    """Approve a request: its texts are copied as they are now."""
    return _decide(output, promotion_id, "approve", reason, url, key)


@promotion.command("reject")
@_id
@_reason
@_service
@json_option
@click.pass_obj
def reject(output: Output, promotion_id: UUID, reason: str, url: str, key: str | None) -> int:
    """Reject a request."""
    return _decide(output, promotion_id, "reject", reason, url, key)


def _decide(output: Output, promotion_id: UUID, decision: str, reason: str, url: str, key: str | None) -> int:
    body = {"promotion_id": str(promotion_id), "decision": decision, "reason": reason}
    return answered(output, post(url, key, "decide_promotion", body), lambda answer: click.echo(f"The request is {answer['state']}."))


@promotion.command("revoke")
@_id
@_reason
@_service
@json_option
@click.pass_obj
def revoke(output: Output, promotion_id: UUID, reason: str, url: str, key: str | None) -> int:
    """Take a promotion back: its copies and what only they support. The originals stay."""
    body = {"promotion_id": str(promotion_id), "reason": reason}
    return answered(output, post(url, key, "revoke_promotion", body), lambda answer: click.echo(f"Taken back; {answer['withdrawn']} copies ended."))
