"""`commonlore backup`, `restore` and `verify`: everything in one file, back again, and whether it is whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from uuid import UUID

import click

from commonlore.api.cli.output import Output, json_option
from commonlore.db import tenancy
from commonlore.db.archive import ArchiveReader, BackupFacts, Comparison, Manifest, Progress, compare, restore, take_backup
from commonlore.db.erasure.exports import registered_backup
from commonlore.db.locate import Database, open_database, revision
from commonlore.db.provision import role_passwords
from commonlore.db.settings import read_settings
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.administration import Team, pick

_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@_file
@click.option("--team", "team_text", metavar="TEAM", help="Id or name: this team alone. Without it everything.")
@json_option
@click.pass_obj
def backup(output: Output, file: Path, team_text: str | None) -> None:
    """Write every row of one state of the database into FILE, which must not be there yet. Recalls and writes go on meanwhile.

    Each team's list of exports names FILE, so that a later erasure says whether it carries what was erased.
    FILE holds all texts in clear, and of keys only their hashes: keep it as you keep the database. What is not in it is in docs/how-to/back-up.md.
    """
    with open_database(read_settings(os.environ)) as database:
        _require_made(database)
        team_id = None if team_text is None else _team_of(database, team_text)
        owner = database.owner_conninfo
        with registered_backup(owner, file, team_id=team_id) as register, _bar("Writing", output) as progress:

            def note(facts: BackupFacts) -> None:
                register(UUID(team.team_id) for team in facts.manifest.teams)

            made = take_backup(owner, file, team_id=team_id, progress=progress, note=note)
    document = {"file": str(made.path), "sha256": made.sha256, "bytes": made.bytes, **_facts(made.manifest)}
    said = f"{made.path}: {_said(made.manifest)}, {made.bytes / 1e6:.1f} MB.\nsha256 {made.sha256}"
    output.document(document) if output.as_json else click.echo(said)


@click.command("restore")
@_file
@json_option
@click.pass_obj
def restore_archive(output: Output, file: Path) -> None:
    """Put the archive FILE into a database that holds no team yet, and bring it to this program's revision.

    The archive is checked before anything is touched, and what was written is read back and compared. A restore that is cut off leaves an
    empty database; run it again. Stop a service that runs on the database first.
    """
    settings = read_settings(os.environ)
    with ArchiveReader(file) as archive, open_database(settings) as database, _bar("Restoring", output) as progress:
        found = restore(database, role_passwords(settings.home), archive, progress=progress)
    document = {"file": str(file), **_facts(found.manifest), "database_revision": found.revision}
    said = f"Restored {_said(found.manifest)}. The database is at revision {found.revision}. Keys work as they did."
    output.document(document) if output.as_json else click.echo(said)


@click.command()
@_file
@click.option("--database", "against", is_flag=True, help="Also compare every table with the database: counts and hashes of rows.")
@json_option
@click.pass_obj
def verify(output: Output, file: Path, against: bool) -> int:
    """Check that the archive FILE is whole; with --database, that the database holds the same rows. Nothing is changed."""
    tables: list[Comparison] = []
    with ArchiveReader(file) as archive:
        with _bar("Checking", output) as progress:
            archive.check(progress)
        if against:
            with open_database(read_settings(os.environ)) as database, _bar("Comparing", output) as progress:
                _require_made(database)
                tables = compare(database.owner_conninfo, archive, progress=progress)
        manifest = archive.manifest
    different = [table for table in tables if not table.equal]
    if output.as_json:
        compared = {"equal": not different, "tables": [asdict(table) for table in tables]} if against else {}
        output.document({"file": str(file), "whole": True, **_facts(manifest), **compared})
    else:
        click.echo(f"{file} is whole: {_said(manifest)}.")
        if against:
            rows = [(table.table, table.archived, table.present) for table in different]
            output.table(("table", "rows in the archive", "rows now"), rows, empty="The database holds exactly these rows.")
            click.echo(f"{len(different)} of {len(tables)} tables differ." if different else "", nl=bool(different))
    return 1 if different else 0


def _require_made(database: Database) -> None:
    if revision(database.admin_conninfo) is None:
        raise OperatorError("migration_needed", "the database holds nothing: it was never migrated")


def _team_of(database: Database, text: str) -> UUID:
    async def run() -> list[Team]:
        async with tenancy.owner_pool(database.owner_conninfo) as pool:
            return await tenancy.list_teams(pool)

    return pick("/team", text, ((team.team_id, (team.name,)) for team in asyncio.run(run())))


def _facts(manifest: Manifest) -> dict[str, object]:
    return {
        "scope": manifest.scope,
        "teams": [{"team_id": team.team_id, "name": team.name} for team in manifest.teams],
        "taken_at": manifest.taken_at,
        "revision": manifest.revision,
        "tables": len(manifest.tables),
        "rows": manifest.rows,
    }


def _said(manifest: Manifest) -> str:
    whose = f"the team {manifest.teams[0].name}" if manifest.scope == "team" else f"the whole installation with {len(manifest.teams)} teams"
    return f"{whose}, {manifest.rows} rows of {len(manifest.tables)} tables at revision {manifest.revision}"


@contextmanager
def _bar(label: str, output: Output) -> Iterator[Progress | None]:
    """Rows so far, their rate and the time left; nothing where the output is no terminal."""
    if output.as_json:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console()
    with Bar(TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
