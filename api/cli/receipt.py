"""`commonlore receipt`: the signed receipt of an erasure, read from a service, and verified anywhere."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import msgspec

from commonlore.api.cli.calling import answered, post, service_options
from commonlore.api.cli.connection import as_owner
from commonlore.api.cli.output import Output, json_option
from commonlore.db.erasure import reading
from commonlore.db.erasure.signing import is_signed, receipt_key
from commonlore.db.session import Pool, team_transaction
from commonlore.db.settings import read_settings
from commonlore.domain.erasure.receipt import key_id, signed_parts
from commonlore.domain.errors import OperatorError

_reads = service_options("with the scope admin")


@click.group()
def receipt() -> None:
    """Read the receipt of an erasure, verify one, and show the public key."""


@receipt.command("show")
@click.argument("erasure_id", metavar="ERASURE_ID", type=click.UUID)
@click.option(
    "--team", "team_id", type=click.UUID, metavar="TEAM_ID", help="Of an erased team, by whoever holds the database: it has no key any more."
)
@_reads
@json_option
@click.pass_obj
def show(output: Output, erasure_id: UUID, team_id: UUID | None, url: str, key: str | None) -> int:
    """Write the receipt as JSON, as it was signed; keep it where you keep such papers."""
    if team_id is None:
        found = post(url, key, "admin/read_receipt", {"erasure_id": str(erasure_id)})
        return answered(output, (found[0], found[1]["receipt"]) if found[0] == 200 else found, _write)

    async def work(pool: Pool) -> str:
        async with team_transaction(pool, team_id, timeout_ms=30_000) as transaction:
            return await reading.read_receipt(transaction, erasure_id)

    _write(msgspec.json.decode(as_owner(work)))
    return 0


def _write(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


@receipt.command("verify")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--public-key", "wanted", metavar="BASE64", help="The key that the service publishes. Left out: the key of this installation.")
@json_option
@click.pass_obj
def verify(output: Output, file: Path, wanted: str | None) -> int:
    """Check that a receipt is whole and was signed by the key. Exit code 1 where it was not, or where the erasure was not complete."""
    try:
        document = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError("receipt_invalid", "the file is no JSON document") from error
    parts = signed_parts(document) if isinstance(document, dict) else None
    if parts is None:
        raise OperatorError("receipt_invalid", "the file is no receipt of a known format")
    message, named, signature = parts
    expected = _decoded(wanted) if wanted else receipt_key(read_settings(os.environ).home).public_key
    holds = named == expected and is_signed(message, expected, signature)
    answer = {
        "valid": holds,
        "complete": bool(document.get("complete")),
        "erasure_id": document.get("erasure_id"),
        "key_id": key_id(named),
        "expected_key_id": key_id(expected),
        "exports_to_destroy": document.get("exports_to_destroy", []),
    }
    if output.as_json:
        output.document(answer)
    else:
        click.echo(
            f"The signature {'holds' if holds else 'does not hold'}. The search found {'nothing' if answer['complete'] else 'something'} left."
        )
        for item in answer["exports_to_destroy"]:
            click.echo(f"Still to destroy: {item['kind']} {item['export_id']} of {item['made_at']} ({item['carries']})")
    return 0 if holds and answer["complete"] else 1


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise OperatorError("receipt_invalid", "--public-key must be 32 bytes in base64") from error


@receipt.command("key")
@json_option
@click.pass_obj
def key(output: Output) -> int:
    """Show the public key of this installation, by which its receipts are verified."""
    public = receipt_key(read_settings(os.environ).home).public_key
    answer = {"algorithm": "Ed25519", "key_id": key_id(public), "public_key": base64.b64encode(public).decode()}
    output.document(answer) if output.as_json else click.echo(answer["public_key"])
    return 0
