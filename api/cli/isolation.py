"""`commonlore verify-isolation`: run the proof and show it, rule by rule, with every object that fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict

import click

from commonlore.api.cli.connection import open_owner
from commonlore.api.cli.output import Output, json_option
from commonlore.db.isolation import Check, scratch_database, verify_live, verify_scratch
from commonlore.db.provision import role_passwords
from commonlore.db.settings import Settings, read_settings
from commonlore.domain.errors import OperatorError


@click.command("verify-isolation")
@click.option(
    "--scratch/--no-scratch",
    default=lambda: bool(os.environ.get("CI")),
    help="Also prove it by trying, in a scratch database that is made and dropped; on by default where CI is set.",
)
@json_option
@click.pass_obj
def verify_isolation(output: Output, scratch: bool) -> int:
    """Prove that no team or space sees another. Nothing of the live database is changed; a failure gives exit code 1."""
    settings = read_settings(os.environ)
    with open_owner(settings) as database:
        live = verify_live(database.serving_conninfo)
        tried: list[Check] = []
        if scratch:
            with scratch_database(database.admin_conninfo, _passwords(settings)) as conninfos:
                tried = verify_scratch(*conninfos)
    passed = all(check.passed for check in (*live, *tried))
    if output.as_json:
        groups = {"live": live, **({"scratch": tried} if scratch else {})}
        output.document({"passed": passed, **{name: [asdict(check) for check in group] for name, group in groups.items()}})
    else:
        _show(output, "this database", live)
        if scratch:
            _show(output, "a scratch database", tried)
        click.echo("Isolation holds." if passed else "Isolation does NOT hold; see the rows above.")
    return 0 if passed else 1


def _passwords(settings: Settings) -> dict[str, str]:
    """The roles' present passwords; making new ones here would shut out every other process."""
    if not (settings.home / "roles.json").exists():
        raise OperatorError("settings_invalid", "--scratch needs the home whose roles.json has the roles' passwords (COMMONLORE_HOME)")
    return role_passwords(settings.home)


def _show(output: Output, place: str, checks: Sequence[Check]) -> None:
    rules: dict[str, list[Check]] = {}
    for check in checks:
        rules.setdefault(check.rule, []).append(check)
    rows = [(rule, f"{sum(check.passed for check in group)} of {len(group)}", _verdict(group)) for rule, group in rules.items()]
    click.echo(f"Rules in {place}:")
    output.table(("rule", "objects", "result"), rows, empty="Nothing was checked.")
    failed = [check for check in checks if not check.passed]
    if failed:
        click.echo(f"What failed in {place}:")
        output.table(("rule", "object", "found"), [(check.rule, check.subject, check.detail) for check in failed], empty="")
    click.echo(f"{len(checks) - len(failed)} of {len(checks)} checks passed in {place}.\n")


def _verdict(group: Sequence[Check]) -> str:
    return "pass" if all(check.passed for check in group) else "FAIL"
