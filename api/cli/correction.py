"""`commonlore correct`: one correction through a running service, with the key of the relationship's author."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import click
import msgspec

from commonlore.api.cli.calling import post, service_options, show_refusal
from commonlore.api.cli.output import Output, idempotency_option, json_option
from commonlore.domain.errors import invalid


@click.command("correct")
@click.argument("relationship_id", type=click.UUID)
@click.option("--version", "expected_version", type=int, help="The version that was read; needed to submit.")
@click.option("--patch", help='What should be otherwise, as JSON: \'{"object_entity": {"name": "Porto", "entity_kind": "place"}}\'.')
@click.option("--reason", help="Why; it is kept with the correction.")
@click.option("--confirm", "submission_id", type=click.UUID, help="The submission that awaits confirmation.")
@click.option("--token", help="Its token; needed to confirm.")
@click.option("--subject", "subject_id", type=click.UUID, help="The candidate that the subject means.")
@click.option("--object", "object_id", type=click.UUID, help="The candidate that the object means.")
@idempotency_option
@service_options("of the author")
@json_option
@click.pass_obj
def correct(output: Output, /, relationship_id: UUID, url: str, key: str | None, **given: Any) -> int:
    """Correct a relationship in any field, or confirm which entity is meant."""
    status, answer = post(url, key, "correct_relationship", _request(relationship_id, given))
    done = status == 200 and answer.get("processing_state") != "rejected"
    if output.as_json:
        output.document(answer)
    elif not done:
        show_refusal(answer)
    elif answer["processing_state"] == "completed":
        successor = answer["correction_result"]["successor"]
        click.echo(f"{successor['relationship_id']} is {successor['disposition']}, at version {successor['relationship_version']}.")
    else:
        click.echo(f"Several entities carry the name. Confirm {answer['submission_id']} with the token {answer['confirmation_token']}:")
        for side in ("subject", "object"):
            for item in answer["candidates"][side]:
                click.echo(f"  --{side} {item['entity_id']}: {item['name']}, {item['entity_kind']}")
    return 0 if done else 1


def _request(relationship_id: UUID, given: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"relationship_id": str(relationship_id), "idempotency_key": given["idempotency_key"]}
    if given["submission_id"] is not None:
        chosen = {"subject_entity_id": given["subject_id"], "object_entity_id": given["object_id"]}
        selection = {name: str(value) for name, value in chosen.items() if value is not None}
        return {
            **body,
            "action": "confirm",
            "submission_id": str(given["submission_id"]),
            "confirmation_token": given["token"],
            "selection": selection,
        }
    try:
        patch = msgspec.json.decode(given["patch"] or "{}")
    except msgspec.DecodeError as error:
        raise invalid("/patch", "expected one JSON object") from error
    reason = {"reason": given["reason"]} if given["reason"] else {}
    return {**body, "expected_version": given["expected_version"], "patch": patch, **reason}
