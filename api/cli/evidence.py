"""`commonlore retract` through a running service, and `commonlore quarantine` by whoever holds the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import click
import msgspec

from commonlore.api.cli.calling import post, service_options, show_refusal
from commonlore.api.cli.output import Output, idempotency_option, json_option
from commonlore.api.cli.tenancy import in_team, team_option
from commonlore.db.retraction import decide_quarantine, list_quarantined, open_spaces
from commonlore.db.session import TeamTransaction
from commonlore.db.withdrawal import set_quarantine_rule
from commonlore.domain.errors import NotVisible, invalid
from commonlore.domain.withdraw.quarantine import QuarantinedEvidence, QuarantineRequest

_ids = click.argument("evidence_ids", metavar="EVIDENCE_ID...", nargs=-1, required=True, type=click.UUID)
_reason_option = click.option("--reason", required=True, help="Why; it is kept with the event.")
_LISTED = 100


@click.command("retract")
@_ids
@_reason_option
@idempotency_option
@service_options("of the member who stored the texts")
@json_option
@click.pass_obj
def retract(output: Output, evidence_ids: tuple[UUID, ...], reason: str, idempotency_key: str | None, url: str, key: str | None) -> int:
    """Take back texts that the key's member stored: all or none."""
    body = {"evidence_ids": [str(item) for item in evidence_ids], "reason": reason, "idempotency_key": idempotency_key}
    status, answer = post(url, key, "retract_evidence", body)
    if output.as_json:
        output.document(answer)
    elif status == 200:
        for item in answer["evidence"]:
            click.echo(f"{item['evidence_id']}: {item['disposition'].replace('_', ' ')}; {_changed(item['relationships_changed'])}")
    else:
        show_refusal(answer)
    return 0 if status == 200 else 1


@click.group()
def quarantine() -> None:
    """List, add and release texts that are kept out of recalls."""


@quarantine.command("list")
@team_option
@json_option
@click.pass_obj
def list_held(output: Output, team_text: str | None) -> None:
    """List what is in quarantine, with the places that a scan found. At most 100 texts of each space."""

    async def work(transaction: TeamTransaction, _: datetime) -> list[dict[str, Any]]:
        return await list_quarantined(transaction, await open_spaces(transaction), limit=_LISTED)

    held = in_team(team_text, work)
    if output.as_json:
        output.document(held)
        return
    rows = [(item["evidence_id"], item["known_from"], item["reason"], [place["quote"] for place in item["signals"]]) for item in held]
    output.table(("id", "since", "reason", "found"), rows, empty="Nothing is in quarantine.")


@quarantine.command("add")
@_ids
@_reason_option
@team_option
@json_option
@click.pass_obj
def add(output: Output, evidence_ids: tuple[UUID, ...], reason: str, team_text: str | None) -> None:
    """Keep texts out of recalls, whoever wrote them."""
    _show(output, _decide(evidence_ids, reason, team_text, held=True))


@quarantine.command("release")
@_ids
@_reason_option
@team_option
@json_option
@click.pass_obj
def release(output: Output, evidence_ids: tuple[UUID, ...], reason: str, team_text: str | None) -> None:
    """Let texts into recalls again; their supports count again."""
    _show(output, _decide(evidence_ids, reason, team_text, held=False))


@quarantine.command("rule")
@click.argument("rule", type=click.Choice(("quarantine", "guard")))
@team_option
@json_option
@click.pass_obj
def set_rule(output: Output, rule: Literal["quarantine", "guard"], team_text: str | None) -> None:
    """Whether a scan keeps texts with grave signals out, or only notes them; counts from the next write on."""

    async def work(transaction: TeamTransaction, _: datetime) -> None:
        if not await set_quarantine_rule(transaction, rule):
            raise NotVisible("not_found", "no active team has this id")

    in_team(team_text, work)
    if output.as_json:
        output.document({"evidence_quarantine": rule})
    else:
        click.echo("Texts with grave signals are kept out of recalls." if rule == "quarantine" else "Signals are only noted.")


def _decide(evidence_ids: Sequence[UUID], reason: str, team_text: str | None, *, held: bool) -> list[QuarantinedEvidence]:
    try:
        request = msgspec.convert({"evidence_ids": list(evidence_ids), "reason": reason}, QuarantineRequest)
    except msgspec.ValidationError as error:
        raise invalid("", "expected 1 to 50 ids and a reason of 1 to 1000 characters") from error
    request.validate()

    async def work(transaction: TeamTransaction, now: datetime) -> list[QuarantinedEvidence]:
        return await decide_quarantine(transaction, await open_spaces(transaction), request, held=held, actor_profile_id=None, now=now)

    return in_team(team_text, work)


def _show(output: Output, decided: Sequence[QuarantinedEvidence]) -> None:
    if output.as_json:
        output.document([msgspec.to_builtins(item) for item in decided])
        return
    for item in decided:
        click.echo(f"{item.evidence_id}: {item.disposition.replace('_', ' ')}; {_changed(item.relationships_changed)}")


def _changed(count: int) -> str:
    return f"{count} {'relationship' if count == 1 else 'relationships'} changed"
