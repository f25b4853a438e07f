"""`commonlore limits`: what teams and keys may use, set by whoever holds the database. Only here a team gets a ceiling."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.api.cli.tenancy import in_team, key_of, team_option
from commonlore.api.limit_settings import describe_limits, update_limits
from commonlore.api.limits_table import LimitsDescription
from commonlore.db.session import TeamTransaction
from commonlore.domain.errors import invalid
from commonlore.domain.limits.policy import CLASSES, ClassSetting, StorageSetting
from commonlore.domain.limits.request import DescribeLimitsRequest, UpdateLimitsRequest

_key_option = click.option("--key", "key_text", metavar="KEY", help="Id, name or prefix of a key; the whole team, if left out.")
_ceiling_option = click.option("--ceiling", is_flag=True, help="What the team's own numbers may not go beyond, instead of those numbers.")
_COUNT = click.IntRange(0, 1_000_000_000)
_BYTES = click.IntRange(0, 1 << 50)


@click.group()
def limits() -> None:
    """Show and set what teams and keys may use. A number that is left out is the default, 0 is no bound."""


@limits.command("show")
@_key_option
@team_option
@json_option
@click.pass_obj
def show(output: Output, key_text: str | None, team_text: str | None) -> None:
    """Show the limits of the team or of a key, and what was used of them."""

    async def work(transaction: TeamTransaction, now: datetime) -> LimitsDescription:
        credential_id = None if key_text is None else await key_of(transaction, key_text)
        return await describe_limits(transaction, DescribeLimitsRequest(credential_id=credential_id), now=now)

    _show(output, in_team(team_text, work))


@limits.command("set")
@click.argument("operation_class", metavar="CLASS", type=click.Choice(CLASSES))
@click.option("--per-minute", type=_COUNT, help="Calls a minute over time.")
@click.option("--burst", type=_COUNT, help="Calls at once; as many as a minute has, if left out and less than the default.")
@click.option("--per-day", type=_COUNT, help="Calls a day of UTC.")
@click.option("--per-month", type=_COUNT, help="Calls a month of UTC.")
@_key_option
@_ceiling_option
@team_option
@json_option
@click.pass_obj
def set_(output: Output, /, operation_class: str, key_text: str | None, team_text: str | None, ceiling: bool, **numbers: int | None) -> None:
    """Set what the team or a key may use of one class: read, write, admin or heavy. It replaces what was set for that class."""
    if ceiling and key_text is not None:
        raise invalid("/ceiling", "expected no --key: a ceiling is the team's")

    async def work(transaction: TeamTransaction, now: datetime) -> LimitsDescription:
        credential_id = None if key_text is None else await key_of(transaction, key_text)
        parts: dict[str, Any] = {operation_class: ClassSetting(**numbers)}
        request = UpdateLimitsRequest(credential_id=credential_id, **parts)
        return await update_limits(transaction, request, now=now, whose="ceiling" if ceiling else "team")

    _show(output, in_team(team_text, work))


@limits.command("storage")
@click.option("--texts", type=_COUNT, help="Texts of the whole team.")
@click.option("--bytes", type=_BYTES, help="Bytes of all texts of the team, in UTF-8.")
@click.option("--space-texts", type=_COUNT, help="Texts of each space.")
@click.option("--space-bytes", type=_BYTES, help="Bytes of all texts of each space.")
@_ceiling_option
@team_option
@json_option
@click.pass_obj
def storage(output: Output, /, team_text: str | None, ceiling: bool, **numbers: int | None) -> None:
    """Set how much the team may keep. It replaces what was set before."""

    async def work(transaction: TeamTransaction, now: datetime) -> LimitsDescription:
        request = UpdateLimitsRequest(storage=StorageSetting(**numbers))
        return await update_limits(transaction, request, now=now, whose="ceiling" if ceiling else "team")

    _show(output, in_team(team_text, work))


def _show(output: Output, found: LimitsDescription) -> None:
    if output.as_json:
        output.document(found)
        return
    columns = ("per_minute", "burst", "per_day", "per_month", "calls_today", "calls_this_month")
    entries: dict[str, Any] = dict(found)
    rows = [(name, *(_number(entries[name][column]) for column in columns)) for name in CLASSES]
    output.table(("class", "a minute", "at once", "a day", "a month", "today", "this month"), rows, empty="")
    if found["storage"] is not None:
        kept: dict[str, Any] = dict(found["storage"])
        output.table(("kept", "at most"), [(name.replace("_", " "), _number(number)) for name, number in kept.items()], empty="")


def _number(number: int | None) -> str:
    return "no bound" if number is None else str(number)
