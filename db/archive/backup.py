"""Making an archive of one state of the database, beside everything that goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from uuid import UUID

from commonlore.db.archive.file import (
    FORMAT,
    FORMAT_VERSION,
    ArchiveWriter,
    Manifest,
    Progress,
    SequenceEntry,
    TeamEntry,
    file_sha256,
    new_archive,
)
from commonlore.db.archive.snapshot import LEFT_OUT, Snapshot, as_owner


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """An archive that was made. `sha256` is that of the file."""

    path: Path
    sha256: str
    bytes: int
    manifest: Manifest


def take_backup(
    owner_conninfo: str,
    path: Path,
    *,
    team_id: UUID | None = None,
    progress: Progress | None = None,
    note: Callable[[BackupFacts], None] | None = None,
) -> BackupFacts:
    """Write every row of the installation, or of one team, into a new file; recalls and writes go on meanwhile.

    All rows are of one state. The file has its name only when it is whole, and is readable by its owner alone (0600).
    `note` is called before it has it, so that no archive is about that nobody noted; where it raises there is none.

    Raises:
        OperatorError: `backup_failed`.
        CommonloreError: the database does not answer, or refuses.
    """
    made: list[BackupFacts] = []

    def whole(partial: Path, manifest: Manifest) -> None:
        made.append(BackupFacts(path, file_sha256(partial), partial.stat().st_size, manifest))
        if note is not None:
            note(made[0])

    with new_archive(path, whole) as writer, as_owner(owner_conninfo) as connection:
        snapshot = Snapshot(connection, team_id)
        _write_tables(snapshot, writer, progress)
        manifest = Manifest(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            program=version("commonlore"),
            scope="installation" if team_id is None else "team",
            teams=tuple(TeamEntry(team_id=str(team.team_id), name=team.name) for team in snapshot.teams),
            tables=tuple(writer.tables),
            sequences=tuple(SequenceEntry(**row) for row in snapshot.sequences() if row["last_value"] is not None),
            left_out=dict(LEFT_OUT),
            **snapshot.state,
        )
        writer.finish(manifest)
    return made[0]


def _write_tables(snapshot: Snapshot, writer: ArchiveWriter, progress: Progress | None) -> None:
    done, total = 0, snapshot.rows_about

    def counted(pieces: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal done
        for piece in pieces:
            done += piece.count(b"\n")
            if progress is not None:
                progress(done, None if total is None else max(total, done))
            yield piece

    for table in snapshot.tables:
        with closing(snapshot.rows(table)) as pieces:
            writer.add_table(table.schema_name, table.table_name, table.columns, counted(pieces))
