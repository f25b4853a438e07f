"""`commonlore erase`, `hold` and `exports`: through a running service, by keys with the scopes destroy and admin."""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

import click

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.connection import as_owner
from commonlore.api.cli.output import Output, json_option
from commonlore.db.erasure import reading
from commonlore.db.erasure.reading import ErasureReport
from commonlore.db.session import Pool, team_transaction
from commonlore.domain.erasure.request import PURGE_DAYS, HoldKind, TargetKind
from commonlore.domain.errors import invalid
from commonlore.domain.time import system_clock

_destroys = service_options("with the scope destroy")
_reads = service_options("with the scope admin")
_kind = click.argument("kind", metavar="KIND", type=click.Choice(get_args(TargetKind)))
_target = click.argument("target_id", metavar="ID", type=click.UUID)
_erasure = click.argument("erasure_id", metavar="ERASURE_ID", type=click.UUID)
_reason = click.option("--reason", required=True, help="Why; it stands in the receipt, so name nobody whose data go.")
_confirm = click.option("--confirm", "typed", help="The name of the space or team, or the id of anything else, typed again. Asked for, if left out.")
_mentions = click.option("--with-mentions", is_flag=True, help="Of a subject: also texts that only name it.")
Answer = tuple[int, dict[str, Any]]


@click.group()
def erase() -> None:
    """Erase for good: preview, confirm, follow. KIND is evidence, source, subject, profile, credential, space or team."""


@erase.command("preview")
@_kind
@_target
@_mentions
@_destroys
@json_option
@click.pass_obj
def preview(output: Output, kind: str, target_id: UUID, with_mentions: bool, url: str, key: str | None) -> int:
    """Count what would go, by table. Nothing is changed."""
    found = post(url, key, "admin/preview_erasure", _body(kind, target_id, with_mentions))
    return answered(output, found, lambda answer: _show_counts(output, answer))


def _body(kind: str, target_id: UUID, with_mentions: bool) -> dict[str, Any]:
    return {"target_kind": kind, "target_id": str(target_id), **({"with_mentions": True} if with_mentions else {})}


def _show_counts(output: Output, answer: dict[str, Any]) -> None:
    output.table(("table", "rows"), list(answer["counts"].items()), empty="No row would go.")
    if copies := answer["promoted_copies"]["count"]:
        click.echo(f"Copies in shared spaces that stay, each erased by its own id: {copies}: {', '.join(answer['promoted_copies']['evidence_ids'])}")
    if answer["holds"]:
        click.echo(f"A legal hold stands against it: {', '.join(answer['holds'])}")


@erase.command("run")
@_kind
@_target
@_reason
@_confirm
@_mentions
@_destroys
@json_option
@click.pass_obj
def run(output: Output, kind: str, target_id: UUID, reason: str, typed: str | None, with_mentions: bool, url: str, key: str | None) -> int:
    """Erase: out of sight at once, then deleted by a worker. It cannot be taken back."""
    return _confirmed(output, url, key, "admin/erase", _body(kind, target_id, with_mentions), typed, {"reason": reason})


@erase.command("delete")
@click.argument("kind", metavar="KIND", type=click.Choice(("space", "team")))
@_target
@_reason
@_confirm
@click.option(
    "--purge-after", "days", type=click.IntRange(1, 90), default=PURGE_DAYS, show_default=True, metavar="DAYS", help="Until then it can be restored."
)
@_destroys
@json_option
@click.pass_obj
def delete(output: Output, kind: str, target_id: UUID, reason: str, typed: str | None, days: int, url: str, key: str | None) -> int:
    """Close a named space, or the team; erased when its time is over, and restored until then."""
    more = {"reason": reason, "purge_after_days": days}
    return _confirmed(output, url, key, "admin/delete_space_or_team", _body(kind, target_id, False), typed, more)


def _confirmed(output: Output, url: str, key: str | None, operation: str, body: dict[str, Any], typed: str | None, more: dict[str, Any]) -> int:
    """Preview, have the name typed, and send both together: what is erased is what was counted."""
    status, seen = post(url, key, "admin/preview_erasure", body)
    if status != 200:
        return answered(output, (status, seen), lambda _: None)
    if typed is None:
        if output.as_json:
            raise invalid("/confirm", "expected --confirm, because nobody can be asked")
        _show_counts(output, seen)
        typed = click.prompt(
            f"This cannot be taken back. Type {seen['confirmation']} to go on"
            if operation == "admin/erase"
            else f"Type {seen['confirmation']} to go on"
        )
    sent = {name: value for name, value in body.items() if name != "with_mentions" or operation == "admin/erase"}
    found = post(url, key, operation, {**sent, **more, "confirmation": typed, "confirmation_token": seen["confirmation_token"]})

    def say(answer: dict[str, Any]) -> None:
        if answer["purge_at"]:
            click.echo(
                f"{answer['erasure_id']}: closed; erased at {answer['purge_at']}. Take it back: commonlore erase restore {answer['erasure_id']}"
            )
        else:
            click.echo(f"{answer['erasure_id']}: out of sight. Follow the deletion: commonlore jobs watch {answer['job_id']}")

    return answered(output, found, say)


@erase.command("restore")
@_erasure
@click.option(
    "--team", "team_id", type=click.UUID, metavar="TEAM_ID", help="Of a deleted team, by whoever holds the database: none of its keys is valid."
)
@_destroys
@json_option
@click.pass_obj
def restore(output: Output, erasure_id: UUID, team_id: UUID | None, url: str, key: str | None) -> int:
    """Take back the deletion of a space, or of a team with --team, while its time is not over."""
    if team_id is None:
        found = post(url, key, "admin/restore", {"erasure_id": str(erasure_id)})
        return answered(output, found, lambda answer: click.echo(f"{answer['erasure_id']}: {answer['state']}"))

    async def work(pool: Pool) -> ErasureReport:
        async with team_transaction(pool, team_id, timeout_ms=30_000) as transaction:
            return await reading.restore(transaction, erasure_id, now=system_clock())

    report = as_owner(work)
    if output.as_json:
        output.document({"erasure_id": report.erasure_id, "state": report.state, "restored_at": report.restored_at})
    else:
        click.echo(f"{report.erasure_id}: {report.state}")
    return 0


@erase.command("list")
@click.option("--item", "item_id", type=click.UUID, metavar="ID", help="The erasure that took this text or relationship.")
@click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True)
@_reads
@json_option
@click.pass_obj
def list_erasures(output: Output, item_id: UUID | None, limit: int, url: str, key: str | None) -> int:
    """List erasures, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [
            (item["erasure_id"], item["target_kind"], item["state"], item["known_from"], item["purge_at"], item["reason"])
            for item in answer["erasures"]
        ]
        output.table(("id", "kind", "state", "since", "erased at", "reason"), rows, empty="Nothing was erased.")

    return answered(output, post(url, key, "admin/list_erasures", {"item_id": str(item_id) if item_id else None, "limit": limit}), say)


@erase.command("show")
@_erasure
@_reads
@json_option
@click.pass_obj
def show(output: Output, erasure_id: UUID, url: str, key: str | None) -> int:
    """Show one erasure as it stands."""
    found = post(url, key, "admin/describe_erasure", {"erasure_id": str(erasure_id)})
    return answered(output, found, lambda answer: output.table(("what", "value"), list(answer.items()), empty=""))


@click.group()
def hold() -> None:
    """Place, list and release legal holds: what they cover is not erased."""


@hold.command("place")
@click.argument("kind", metavar="KIND", type=click.Choice(get_args(HoldKind)))
@_target
@click.option("--reason", required=True, help="Why; it is kept with the hold.")
@_reads
@json_option
@click.pass_obj
def place(output: Output, kind: str, target_id: UUID, reason: str, url: str, key: str | None) -> int:
    """Keep a text, a source, a member's texts, a space or the team from being erased."""
    found = post(url, key, "admin/place_hold", {"target_kind": kind, "target_id": str(target_id), "reason": reason})
    return answered(output, found, lambda answer: click.echo(f"{answer['hold_id']}: holds the {answer['target_kind']} {answer['target_id']}"))


@hold.command("release")
@click.argument("hold_id", metavar="HOLD_ID", type=click.UUID)
@_reads
@json_option
@click.pass_obj
def release(output: Output, hold_id: UUID, url: str, key: str | None) -> int:
    """End a hold."""
    return answered(
        output, post(url, key, "admin/release_hold", {"hold_id": str(hold_id)}), lambda answer: click.echo(f"{answer['hold_id']}: released")
    )


@hold.command("list")
@click.option("--released", is_flag=True, help="Those that are over as well.")
@_reads
@json_option
@click.pass_obj
def list_holds(output: Output, released: bool, url: str, key: str | None) -> int:
    """List holds, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [
            (item["hold_id"], item["target_kind"], item["target_id"], item["known_from"], item["released_at"], item["reason"])
            for item in answer["holds"]
        ]
        output.table(("id", "kind", "of", "since", "released", "reason"), rows, empty="Nothing is held.")

    return answered(output, post(url, key, "admin/list_holds", {"released": released}), say)


@click.group()
def exports() -> None:
    """List files that were made from the team's rows, and note that one was destroyed."""


@exports.command("list")
@_reads
@json_option
@click.pass_obj
def list_exports(output: Output, url: str, key: str | None) -> int:
    """List exports, the newest first."""

    def say(answer: dict[str, Any]) -> None:
        rows = [(item["export_id"], item["export_kind"], item["known_from"], item["destroyed_at"], item["file_path"]) for item in answer["exports"]]
        output.table(("id", "kind", "made", "destroyed", "file"), rows, empty="No file was made.")

    return answered(output, post(url, key, "admin/list_exports", {}), say)


@exports.command("destroyed")
@click.argument("export_id", metavar="EXPORT_ID", type=click.UUID)
@_reads
@json_option
@click.pass_obj
def destroyed(output: Output, export_id: UUID, url: str, key: str | None) -> int:
    """Note that a file exists no more; receipts from then on leave it out."""
    found = post(url, key, "admin/destroy_export", {"export_id": str(export_id)})
    return answered(output, found, lambda answer: click.echo(f"{answer['export_id']}: destroyed at {answer['destroyed_at']}"))
