"""`commonlore space`: the spaces of a team and who may read and write in the named ones, by whoever holds the database."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.api.cli.tenancy import in_team, member_of, team_option
from commonlore.api.spaces import why_not_answer
from commonlore.db import spaces, tenancy
from commonlore.db.session import TeamTransaction
from commonlore.db.why_not import why_not
from commonlore.domain.errors import invalid
from commonlore.domain.tenancy.administration import pick, read_space_name
from commonlore.domain.tenancy.membership import ACCESSES, Access
from commonlore.domain.tenancy.space_requests import WhyNotRequest
from commonlore.domain.tenancy.why_not import MESSAGES


async def space_of(transaction: TeamTransaction, text: str) -> UUID:
    """The named space that a person means, by its id or name."""
    entries = await tenancy.list_spaces(transaction)
    return pick("/space", text, ((entry.space_id, (entry.name,)) for entry in entries if entry.name and entry.lifecycle_state == "active"))


@click.group()
def space() -> None:
    """List and name the spaces of a team, and say who may do what there."""


@space.command("list")
@team_option
@json_option
@click.pass_obj
def list_spaces(output: Output, team_text: str | None) -> None:
    """List the spaces of a team."""
    found = in_team(team_text, lambda transaction, _: tenancy.list_spaces(transaction))
    if output.as_json:
        output.document([asdict(entry) for entry in found])
    else:
        rows = [(entry.space_id, entry.kind, entry.name, entry.owner, entry.lifecycle_state, entry.known_from) for entry in found]
        output.table(("id", "kind", "name", "private to", "state", "since"), rows, empty="This team has no space.")


@space.command("create")
@click.argument("name")
@click.option("--writer", "writer_text", metavar="MEMBER", help="A member who may write there from the start.")
@team_option
@json_option
@click.pass_obj
def create_space(output: Output, name: str, writer_text: str | None, team_text: str | None) -> None:
    """Create a shared space with a name. Nobody reads it as long as nobody is granted it."""
    stored = read_space_name("/name", name)

    async def work(transaction: TeamTransaction, now: datetime) -> Any:
        await tenancy.require_team(transaction)
        writer = await member_of(transaction, writer_text) if writer_text else None
        return await spaces.create_space(transaction, name=stored, writer_profile_id=writer, now=now)

    made = in_team(team_text, work)
    if output.as_json:
        output.document(asdict(made))
    else:
        click.echo(f"The space {made.name} was created: {made.space_id}\nGrant it next: commonlore space grant '{made.name}' MEMBER write")


@space.command("rename")
@click.argument("space_text", metavar="SPACE")
@click.argument("name")
@team_option
@json_option
@click.pass_obj
def rename_space(output: Output, space_text: str, name: str, team_text: str | None) -> None:
    """Give a named space another name. Grants and contents stay."""
    stored = read_space_name("/name", name)

    async def work(transaction: TeamTransaction, _: datetime) -> Any:
        return await spaces.rename_space(transaction, await space_of(transaction, space_text), name=stored)

    changed = in_team(team_text, work)
    output.document(asdict(changed)) if output.as_json else click.echo(f"The space is called {changed.name} now.")


@space.command("grant")
@click.argument("space_text", metavar="SPACE")
@click.argument("member_text", metavar="MEMBER")
@click.argument("access", type=click.Choice(ACCESSES))
@team_option
@json_option
@click.pass_obj
def grant(output: Output, space_text: str, member_text: str, access: Access, team_text: str | None) -> None:
    """Say what a member may do in a named space: read, write, or none. Counts from the next request of each of its keys on."""

    async def work(transaction: TeamTransaction, now: datetime) -> Any:
        space_id, profile_id = await space_of(transaction, space_text), await member_of(transaction, member_text)
        return await spaces.set_access(transaction, space_id, profile_id, access, actor_profile_id=None, now=now)

    found = in_team(team_text, work)
    output.document(asdict(found)) if output.as_json else click.echo(f"{found.name} may {'do nothing' if access == 'none' else access} there.")


@space.command("access")
@click.argument("space_text", metavar="SPACE")
@team_option
@json_option
@click.pass_obj
def access_list(output: Output, space_text: str, team_text: str | None) -> None:
    """List who may do what in a named space."""

    async def work(transaction: TeamTransaction, _: datetime) -> Any:
        return (await spaces.list_access(transaction, await space_of(transaction, space_text)))[1]

    found = in_team(team_text, work)
    if output.as_json:
        output.document([asdict(item) for item in found])
    else:
        rows = [(item.profile_id, item.name, item.access, item.known_from) for item in found]
        output.table(("id", "name", "may", "since"), rows, empty="Nobody is granted this space.")


@space.command("why-not")
@click.argument("target_id", metavar="ID", type=click.UUID)
@click.option("--member", "member_text", metavar="MEMBER", help="Who does not see it: a member, by id or name, retired ones too.")
@click.option("--key", "key_text", metavar="KEY", help="Or one key, by its id, revoked ones too.")
@click.option("--valid-at", help="As a recall with this valid_at.")
@click.option("--known-at", help="As a recall with this known_at.")
@team_option
@json_option
@click.pass_obj
def explain(
    output: Output, target_id: UUID, member_text: str | None, key_text: str | None, valid_at: str | None, known_at: str | None, team_text: str | None
) -> None:
    """Say why a member or a key does not see a space, a text or a relationship, given by its id."""
    if (member_text is None) == (key_text is None):
        raise invalid("/member", "expected either --member or --key")

    async def work(transaction: TeamTransaction, now: datetime) -> Any:
        members, keys = await tenancy.list_members(transaction), await tenancy.list_keys(transaction)
        request = WhyNotRequest(
            target_id=target_id,
            profile_id=None if member_text is None else pick("/member", member_text, ((item.profile_id, (item.name,)) for item in members)),
            credential_id=None if key_text is None else pick("/key", key_text, ((item.credential_id, (item.name, item.prefix)) for item in keys)),
            valid_at=valid_at,
            known_at=known_at,
        )
        return await why_not(
            transaction,
            profile_id=request.profile_id,
            credential_id=request.credential_id,
            target_id=target_id,
            view=request.view(),
            now=now,
        )

    found = in_team(team_text, work)
    if output.as_json:
        output.document(why_not_answer(found))
        return
    place = found.space or found.space_kind
    where = f" (a {found.target_kind}, {place})" if found.target_kind else ""
    click.echo(
        f"{found.subject.name} sees {found.target_id}{where}, if a query finds it."
        if not found.reasons
        else f"{found.subject.name} does not see it{where}:"
    )
    for reason in found.reasons:
        click.echo(f"  {reason}: {MESSAGES[reason]}")
