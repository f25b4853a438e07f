"""`commonlore team`, `member` and `key`: administration by whoever holds the database.

A team, member or key is given by its id or its name. Where the installation has one active team, `--team` may be left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import click

from commonlore.api.cli.connection import as_owner
from commonlore.api.cli.output import Output, json_option
from commonlore.db import tenancy
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.domain.errors import invalid
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.actor import SCOPES, MemoryBinding
from commonlore.domain.tenancy.administration import (
    BINDINGS,
    PROFILE_KINDS,
    IssuedKey,
    Key,
    ProfileKind,
    Team,
    pick,
    read_expiry,
    read_name,
    read_scopes,
)
from commonlore.domain.tenancy.membership import ROLES, Role
from commonlore.domain.time import system_clock

_Result = TypeVar("_Result")
_TIMEOUT_MS = 30_000
team_option = click.option("--team", "team_text", metavar="TEAM", help="Id or name; not needed where there is one active team.")
_expires_option = click.option("--expires", metavar="WHEN", help="12h, 90d or an RFC 3339 instant; never, if left out.")


def in_team(team_text: str | None, work: Callable[[TeamTransaction, datetime], Awaitable[_Result]]) -> _Result:
    """Run `work` in one transaction of the team that `team_text` means."""

    async def run(pool: Pool) -> _Result:
        team_id = _team_of(await tenancy.list_teams(pool), team_text)
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            return await work(transaction, system_clock())

    return as_owner(run)


def _team_of(teams: list[Team], text: str | None) -> UUID:
    active = [(team.team_id, (team.name,)) for team in teams if team.retired_at is None]
    if text is not None:
        return pick("/team", text, active)
    if len(active) != 1:
        raise invalid("/team", "expected --team, because there is no active team" if not active else "expected --team, because there are several")
    return active[0][0]


async def member_of(transaction: TeamTransaction, text: str) -> UUID:
    members = await tenancy.list_members(transaction)
    return pick("/member", text, ((member.profile_id, (member.name,)) for member in members if member.retired_at is None))


async def key_of(transaction: TeamTransaction, text: str) -> UUID:
    keys = await tenancy.list_keys(transaction)
    return pick("/key", text, ((key.credential_id, (key.name, key.prefix)) for key in keys if key.revoked_at is None))


# -- teams


@click.group()
def team() -> None:
    """Create, list and retire teams."""


@team.command("create")
@click.argument("name")
@json_option
@click.pass_obj
def create_team(output: Output, name: str) -> None:
    """Create a team with its shared space."""
    stored, team_id = read_name("/name", name), new_id()

    async def run(pool: Pool) -> Team:
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            return await tenancy.create_team(transaction, name=stored, now=system_clock())

    made = as_owner(run)
    if output.as_json:
        output.document(asdict(made))
    else:
        click.echo(f"Team {made.name} was created: {made.team_id}\nAdd a member next: commonlore member add --team {made.team_id} NAME")


@team.command("list")
@json_option
@click.pass_obj
def list_teams(output: Output) -> None:
    """List every team."""
    teams = as_owner(tenancy.list_teams)
    if output.as_json:
        output.document([asdict(entry) for entry in teams])
    else:
        rows = [(entry.team_id, entry.name, entry.known_from, entry.retired_at) for entry in teams]
        output.table(("id", "name", "since", "retired"), rows, empty="There is no team yet. Make one: commonlore team create NAME")


@team.command("retire")
@click.argument("team_text", metavar="TEAM")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def retire_team(output: Output, team_text: str, yes: bool) -> None:
    """Retire a team: every key of it becomes invalid. Its memory stays stored."""
    if not yes:
        if output.as_json:
            raise invalid("/yes", "expected --yes, because nobody can be asked")
        click.confirm(f"Retire the team {team_text} and make all its keys invalid?", abort=True)
    retired = in_team(team_text, lambda transaction, now: tenancy.retire_team(transaction, now=now))
    output.document(asdict(retired)) if output.as_json else click.echo(f"Team {retired.name} is retired.")


# -- members


@click.group()
def member() -> None:
    """Add, list and retire the people and agents of a team."""


@member.command("add")
@click.argument("name")
@team_option
@click.option("--kind", type=click.Choice(PROFILE_KINDS), default="human", show_default=True)
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True, help="The most that its keys may do.")
@json_option
@click.pass_obj
def add_member(output: Output, name: str, team_text: str | None, kind: ProfileKind, role: Role) -> None:
    """Add a member."""
    stored = read_name("/name", name)
    made = in_team(team_text, lambda transaction, now: tenancy.add_member(transaction, name=stored, profile_kind=kind, role=role, now=now))
    if output.as_json:
        output.document(asdict(made))
    else:
        click.echo(f"{made.name} was added: {made.profile_id}\nMake a key next: commonlore key create --member {made.profile_id}")


@member.command("list")
@team_option
@json_option
@click.pass_obj
def list_members(output: Output, team_text: str | None) -> None:
    """List the members of a team."""
    members = in_team(team_text, lambda transaction, _: tenancy.list_members(transaction))
    if output.as_json:
        output.document([asdict(entry) for entry in members])
    else:
        rows = [(entry.profile_id, entry.name, entry.profile_kind, entry.role, entry.known_from, entry.retired_at) for entry in members]
        output.table(("id", "name", "kind", "role", "since", "retired"), rows, empty="This team has no member yet.")


@member.command("role")
@click.argument("member_text", metavar="MEMBER")
@click.argument("role", type=click.Choice(ROLES))
@team_option
@json_option
@click.pass_obj
def change_role(output: Output, member_text: str, role: Role, team_text: str | None) -> None:
    """Set the most that a member's keys may do. What they may beyond it is taken from them; the last admin key of the team stays."""

    async def work(transaction: TeamTransaction, now: datetime) -> Any:
        return await tenancy.change_role(transaction, await member_of(transaction, member_text), role, now=now)

    changed = in_team(team_text, work)
    output.document(asdict(changed)) if output.as_json else click.echo(f"{changed.name} is {changed.role}.")


@member.command("retire")
@click.argument("member_text", metavar="MEMBER")
@team_option
@json_option
@click.pass_obj
def retire_member(output: Output, member_text: str, team_text: str | None) -> None:
    """Retire a member and revoke its keys. What it wrote stays."""

    async def work(transaction: TeamTransaction, now: datetime) -> Any:
        return await tenancy.retire_member(transaction, await member_of(transaction, member_text), now=now)

    retired = in_team(team_text, work)
    output.document(asdict(retired)) if output.as_json else click.echo(f"{retired.name} is retired and its keys are revoked.")


# -- keys


@click.group()
def key() -> None:
    """Create, list, rotate and revoke API keys."""


@key.command("create")
@click.option("--member", "member_text", metavar="MEMBER", required=True, help="Id or name of the member.")
@team_option
@click.option("--name", default="key", show_default=True, help="What the key is for.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), default=("read", "write"), show_default=True)
@click.option("--memory", "binding", type=click.Choice(BINDINGS), default="credential_private", show_default=True, help="Whose private space it has.")
@_expires_option
@json_option
@click.pass_obj
def create_key(
    output: Output, member_text: str, team_text: str | None, name: str, scopes: tuple[str, ...], binding: MemoryBinding, expires: str | None
) -> None:
    """Make a key. It is shown once."""
    stored, granted = read_name("/name", name), read_scopes("/scope", scopes)
    read_expiry("/expires", expires, now=system_clock())

    async def work(transaction: TeamTransaction, now: datetime) -> IssuedKey:
        return await tenancy.mint_key(
            transaction,
            await member_of(transaction, member_text),
            name=stored,
            scopes=granted,
            memory_binding=binding,
            expires_at=read_expiry("/expires", expires, now=now),
            now=now,
        )

    _show_once(output, in_team(team_text, work), "created")


@key.command("list")
@team_option
@json_option
@click.pass_obj
def list_keys(output: Output, team_text: str | None) -> None:
    """List the keys of a team, without their secrets."""
    keys = in_team(team_text, lambda transaction, _: tenancy.list_keys(transaction))
    now = system_clock()
    if output.as_json:
        output.document([_entry(entry, now) for entry in keys])
        return
    rows = [
        (
            entry.credential_id,
            entry.profile_name,
            entry.name,
            f"{entry.prefix}...{entry.suffix}",
            entry.scopes,
            entry.memory_binding,
            entry.state(now),
            entry.expires_at,
            entry.last_used_at,
        )
        for entry in keys
    ]
    columns = ("id", "member", "name", "key", "scopes", "memory", "state", "expires", "last used")
    output.table(columns, rows, empty="This team has no key yet. Make one: commonlore key create --member MEMBER")


@key.command("rotate")
@click.argument("key_text", metavar="KEY")
@team_option
@_expires_option
@json_option
@click.pass_obj
def rotate_key(output: Output, key_text: str, team_text: str | None, expires: str | None) -> None:
    """Replace the text of a key, given by id, prefix or name. Its private space stays; the old text is invalid at once."""

    async def work(transaction: TeamTransaction, now: datetime) -> IssuedKey:
        end = read_expiry("/expires", expires, now=now)
        return await tenancy.rotate_key(transaction, await key_of(transaction, key_text), now=now, expires_at=end)

    _show_once(output, in_team(team_text, work), "rotated")


@key.command("revoke")
@click.argument("key_text", metavar="KEY")
@team_option
@json_option
@click.pass_obj
def revoke_key(output: Output, key_text: str, team_text: str | None) -> None:
    """Revoke a key, given by id, prefix or name. The next request with it fails."""

    async def work(transaction: TeamTransaction, now: datetime) -> Key:
        return await tenancy.revoke_key(transaction, await key_of(transaction, key_text), now=now)

    revoked = in_team(team_text, work)
    if output.as_json:
        output.document(_entry(revoked, system_clock()))
    else:
        click.echo(f"The key {revoked.name} ({revoked.prefix}) of {revoked.profile_name} is revoked.")


def _entry(entry: Key, now: datetime) -> dict[str, object]:
    return {**asdict(entry), "state": entry.state(now)}


def _show_once(output: Output, issued: IssuedKey, verb: str) -> None:
    if output.as_json:
        output.document({**_entry(issued.key, system_clock()), "key": issued.text})
        return
    click.echo(f"The key {issued.key.name} of {issued.key.profile_name} was {verb}. It is shown only now and stored nowhere; keep it safe:\n")
    click.echo(f"    {issued.text}\n")
