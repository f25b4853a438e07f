"""`commonlore import`: a file of JSON Lines into a running service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from commonlore.api.cli.calling import require_key, require_url
from commonlore.api.cli.output import Output, json_option
from commonlore.api.importing import MOST_LINES, ImportOptions, ImportSummary, Progress, count_lines, run_import


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", envvar="COMMONLORE_URL", default="http://127.0.0.1:7411", show_default=True, help="Where the service answers.")
@click.option("--key", envvar="COMMONLORE_KEY", help="A key with the scope write. Better given as COMMONLORE_KEY: other users see command lines.")
@click.option(
    "--target-space",
    metavar="SPACE",
    default="team_shared",
    show_default=True,
    help="Who will find it: team_shared, private, or the name of a named space.",
)
@click.option("--source", metavar="NAME", help="What the texts come from; the file's name, if left out.")
@click.option("--assume-utc", is_flag=True, help="Read times without an offset as UTC; otherwise they are refused.")
@click.option("--keep-unknown", is_flag=True, help="Keep fields that are not known as metadata; otherwise they are refused.")
@click.option("--batch", type=click.IntRange(1, MOST_LINES), default=MOST_LINES, show_default=True, help="Lines in one request.")
@click.option("--concurrency", type=click.IntRange(1, 32), default=4, show_default=True, help="Requests at a time.")
@click.option("--map", "map_file", type=click.Path(path_type=Path), metavar="OUT", help="Also write {id, evidence_id} for every line, as JSON Lines.")
@json_option
@click.pass_obj
def import_file(
    output: Output,
    file: Path,
    url: str,
    key: str | None,
    target_space: str,
    source: str | None,
    assume_utc: bool,
    keep_unknown: bool,
    batch: int,
    concurrency: int,
    map_file: Path | None,
) -> None:
    """Import conversations and documents from JSON Lines.

    Each line is one object: text, and optionally speaker, time (or timestamp, occurred_at), session, sequence, id, source,
    source_type, authority, labels, metadata. Run it again after a failure or with more lines: nothing is stored twice.
    """
    options = ImportOptions(
        source=source or file.name,
        target_space=target_space,
        assume_utc=assume_utc,
        keep_unknown=keep_unknown,
        batch=batch,
        concurrency=concurrency,
    )
    with progress_bar(count_lines(file), shown=not output.as_json) as progress:
        summary = asyncio.run(import_into(url, key, file, options, progress))
    if map_file is not None:
        with map_file.open("w", encoding="utf-8") as out:
            for name, evidence_id in summary.evidence_ids.items():
                out.write(json.dumps({"id": name, "evidence_id": evidence_id}, ensure_ascii=False) + "\n")
    output.document(as_document(summary)) if output.as_json else click.echo(describe(summary))


async def import_into(url: str, key: str | None, file: Path, options: ImportOptions, progress: Progress | None) -> ImportSummary:
    """
    Raises:
        OperatorError: `settings_invalid` for a wrong address or key, `import_failed`.
    """
    import httpx

    key = require_key(key)
    require_url(url)
    limits = httpx.Limits(max_connections=options.concurrency, max_keepalive_connections=options.concurrency)
    # A key must reach the named service only, so neither a proxy of the environment nor a redirect is followed.
    async with httpx.AsyncClient(
        base_url=url.rstrip("/"), headers={"authorization": f"Bearer {key}"}, limits=limits, trust_env=False, follow_redirects=False
    ) as client:
        return await run_import(file, client, options, progress=progress)


@contextmanager
def progress_bar(total: int, *, shown: bool, label: str = "Importing") -> Iterator[Progress | None]:
    """A bar with rate and remaining time; it draws nothing where the output is no terminal."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]:.0f}/s"), TimeRemainingColumn())
    console = Console()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total, rate=0.0)
        yield lambda summary: bar.update(task, completed=summary.lines, rate=summary.lines_per_second)


def as_document(summary: ImportSummary) -> dict[str, Any]:
    names = ("lines", "stored", "repeated", "already_imported", "pending_vectors")
    return {name: getattr(summary, name) for name in names} | {
        "seconds": round(summary.seconds, 3),
        "lines_per_second": round(summary.lines_per_second, 1),
    }


def describe(summary: ImportSummary) -> str:
    parts = [f"{summary.stored} stored"]
    if summary.repeated:
        parts.append(f"{summary.repeated} said before by the same speaker, noted as further occurrences")
    if summary.already_imported:
        parts.append(f"{summary.already_imported} imported by an earlier run")
    if summary.pending_vectors:
        parts.append(f"{summary.pending_vectors} found by their words now, by meaning when the worker is done")
    return f"{summary.lines} {'line' if summary.lines == 1 else 'lines'} in {summary.seconds:.1f} s ({summary.lines_per_second:.0f}/s): {'; '.join(parts)}."
