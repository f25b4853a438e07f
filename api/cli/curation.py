"""`commonlore entity` and `predicate`: the identity of names in a team's shared space, by whoever holds the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import click

from commonlore.api import curation
from commonlore.api.cli.output import Output, idempotency_option, json_option
from commonlore.api.cli.tenancy import in_team, team_option
from commonlore.db import tenancy
from commonlore.db.identity import Act
from commonlore.db.retraction import open_spaces
from commonlore.db.session import TeamTransaction
from commonlore.domain.correct.identity_request import (
    ListCandidatesRequest,
    MergeEntitiesRequest,
    NameEntityRequest,
    ReverseCorrectionRequest,
    SplitEntityRequest,
)
from commonlore.domain.correct.vocabulary import DefinePredicateRequest, ListPredicatesRequest
from commonlore.domain.errors import invalid
from commonlore.domain.ledger.predicate import ENTITY_KINDS

_reason_option = click.option("--reason", required=True, help="Why; it is kept with the event.")
_apply_option = click.option("--apply", "apply_", is_flag=True, help="Do it; without this, only say what would change.")


def _acting(team_text: str | None, reason: str, work: Callable[[Act], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """Run `work` in the shared space of the team."""

    async def run(transaction: TeamTransaction, now: datetime) -> dict[str, Any]:
        await open_spaces(transaction)
        spaces = await tenancy.list_spaces(transaction)
        shared = next((space.space_id for space in spaces if space.kind == "team_shared" and space.name is None), None)
        if shared is None:
            raise invalid("/team", "expected a team with a shared space")
        await transaction.enter(shared)
        return await work(Act(transaction, shared, reason, None, now))

    return in_team(team_text, run)


@click.group()
def entity() -> None:
    """Merge, split, rename and name entities of the shared space."""


@entity.command("candidates")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True)
@click.option("--cursor", help="Where to go on, from the last answer.")
@team_option
@json_option
@click.pass_obj
def list_candidates(output: Output, limit: int, cursor: str | None, team_text: str | None) -> None:
    """List pairs of entities that may be one."""
    request = ListCandidatesRequest(limit=limit, cursor=cursor)
    found = _acting(team_text, "-", lambda act: curation.candidates(act.transaction, request))
    if output.as_json:
        output.document(found)
        return
    rows = [(item["rule"], *(f"{end['name']} ({end['entity_kind']}) {end['entity_id']}" for end in item["entities"])) for item in found["candidates"]]
    output.table(("rule", "first", "second"), rows, empty="No two entities look like one.")
    if found["next_cursor"]:
        click.echo(f"More: --cursor {found['next_cursor']}")


@entity.command("merge")
@click.argument("from_id", type=click.UUID)
@click.argument("to_id", type=click.UUID)
@_reason_option
@_apply_option
@idempotency_option
@team_option
@json_option
@click.pass_obj
def merge(output: Output, from_id: UUID, to_id: UUID, reason: str, apply_: bool, idempotency_key: str | None, team_text: str | None) -> None:
    """Let everything of FROM_ID be said of TO_ID."""
    request = MergeEntitiesRequest(from_entity_id=from_id, to_entity_id=to_id, reason=reason, apply=apply_, idempotency_key=idempotency_key)
    request.validate()
    _show(output, _acting(team_text, reason, lambda act: curation.merge(act, request)))


@entity.command("split")
@click.argument("entity_id", type=click.UUID)
@click.argument("relationship_ids", metavar="RELATIONSHIP_ID...", nargs=-1, required=True, type=click.UUID)
@click.option("--name", required=True, help="The name of the new entity.")
@click.option("--kind", type=click.Choice(ENTITY_KINDS), help="Its kind; that of the old one, if left out.")
@_reason_option
@_apply_option
@idempotency_option
@team_option
@json_option
@click.pass_obj
def split(
    output: Output,
    entity_id: UUID,
    relationship_ids: tuple[UUID, ...],
    name: str,
    kind: Any,
    reason: str,
    apply_: bool,
    idempotency_key: str | None,
    team_text: str | None,
) -> None:
    """Let the relationships be said of a new entity."""
    request = SplitEntityRequest(
        entity_id=entity_id,
        relationship_ids=list(relationship_ids),
        name=name,
        entity_kind=kind,
        reason=reason,
        apply=apply_,
        idempotency_key=idempotency_key,
    )
    request.validate()
    _show(output, _acting(team_text, reason, lambda act: curation.split(act, request)))


@entity.command("reverse")
@click.argument("correction_id", type=click.UUID)
@_reason_option
@idempotency_option
@team_option
@json_option
@click.pass_obj
def reverse(output: Output, correction_id: UUID, reason: str, idempotency_key: str | None, team_text: str | None) -> None:
    """Take a merge or a split back."""
    request = ReverseCorrectionRequest(correction_id=correction_id, reason=reason, idempotency_key=idempotency_key)
    request.validate()
    done = _acting(team_text, reason, lambda act: curation.reverse(act, request))
    restored = len(done["restored_relationship_ids"])
    output.document(done) if output.as_json else click.echo(f"Taken back: {restored} relationships stand as before.")


@entity.command("rename")
@click.argument("entity_id", type=click.UUID)
@click.argument("name")
@_reason_option
@idempotency_option
@team_option
@json_option
@click.pass_obj
def rename(output: Output, entity_id: UUID, name: str, reason: str, idempotency_key: str | None, team_text: str | None) -> None:
    """Give an entity another name; the old one stays as a former name."""
    request = NameEntityRequest(entity_id=entity_id, name=name, reason=reason, idempotency_key=idempotency_key)
    request.validate()
    done = _acting(team_text, reason, lambda act: curation.rename(act, request))
    output.document(done) if output.as_json else click.echo(f"{done['former_name']} is called {name} now.{_namesakes(done)}")


@entity.command("alias")
@click.argument("entity_id", type=click.UUID)
@click.argument("name")
@_reason_option
@idempotency_option
@team_option
@json_option
@click.pass_obj
def add_alias(output: Output, entity_id: UUID, name: str, reason: str, idempotency_key: str | None, team_text: str | None) -> None:
    """Add a name under which an entity is found."""
    request = NameEntityRequest(entity_id=entity_id, name=name, reason=reason, idempotency_key=idempotency_key)
    request.validate()
    done = _acting(team_text, reason, lambda act: curation.add_alias(act, request))
    output.document(done) if output.as_json else click.echo(f"{name} was added.{_namesakes(done)}")


def _namesakes(done: dict[str, Any]) -> str:
    return f" Other entities carry the name too: {', '.join(done['namesake_entity_ids'])}." if done["namesake_entity_ids"] else ""


def _show(output: Output, done: dict[str, Any]) -> None:
    if output.as_json:
        output.document(done)
        return
    head = f"Done: {done['correction_id']}" if done["correction_id"] else "Nothing was changed; this is what would be. Add --apply to do it."
    counts = ", ".join(f"{done[name]['count']} {name}" for name in ("repointed", "joined", "displaced"))
    click.echo(f"{head}\n{done['from_name']} to {done['to_name']}: {counts}")


@click.group()
def predicate() -> None:
    """List and define predicates of the shared space."""


@predicate.command("list")
@team_option
@json_option
@click.pass_obj
def list_predicates(output: Output, team_text: str | None) -> None:
    """List the newest definitions, by key."""

    async def work(act: Act) -> dict[str, Any]:
        entries: list[Any] = []
        after: str | None = ""
        while after is not None:
            page = await curation.list_predicates(act.transaction, ListPredicatesRequest(limit=100, after_key=after))
            entries, after = [*entries, *page["predicates"]], page["next_after_key"]
        return {"predicates": entries}

    entries = _acting(team_text, "-", work)["predicates"]
    if output.as_json:
        output.document(entries)
        return
    names = ("key", "version", "aliases", "subject_kinds", "object_kinds", "relationship_kind", "current_cardinality", "lifecycle_state")
    output.table(names, [tuple(item[name] for name in names) for item in entries], empty="No predicate is registered yet.")


@predicate.command("define")
@click.argument("key")
@click.option("--version", "expected_version", type=click.IntRange(0), required=True, help="The version that was read; 0 for a new predicate.")
@click.option("--alias", "aliases", multiple=True, help="A wording that means it; may be given several times.")
@click.option("--subject-kind", "subject_kinds", multiple=True, help="A kind that a subject may have; all, if none is given.")
@click.option("--object-kind", "object_kinds", multiple=True, help="A kind or value type that an object may have.")
@click.option("--relationship-kind", type=click.Choice(("state", "event")))
@click.option("--cardinality", type=click.Choice(("one", "many")), help="How many objects an author may hold at a time.")
@click.option("--lifecycle", type=click.Choice(("active", "deprecated", "retired")), help="Only active ones take new relationships.")
@_reason_option
@team_option
@json_option
@click.pass_obj
def define(output: Output, /, key: str, reason: str, team_text: str | None, **given: Any) -> None:
    """Define a predicate, or the next version of one; what is left out stays."""
    request = DefinePredicateRequest(
        key=key,
        expected_version=given["expected_version"],
        add_aliases=list(given["aliases"]),
        subject_kinds=list(given["subject_kinds"]) or None,
        object_kinds=list(given["object_kinds"]) or None,
        relationship_kind=given["relationship_kind"],
        current_cardinality=given["cardinality"],
        lifecycle_state=given["lifecycle"],
        reason=reason,
    )
    done = _acting(team_text, reason, lambda act: curation.define_predicate(act, request))
    if output.as_json:
        output.document(done)
        return
    click.echo(f"{done['predicate']['key']} is defined at version {done['predicate']['version']}.")
    if done["several_current"]:
        click.echo(f"{len(done['several_current'])} subjects have several current objects; none was changed. See them with --json.")
