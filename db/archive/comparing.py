"""Whether a database holds what an archive holds: counts and hashes of rows, table by table."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from uuid import UUID

from commonlore.db.archive.file import ArchiveReader, Progress, Tally
from commonlore.db.archive.snapshot import Snapshot, as_owner
from commonlore.domain.errors import OperatorError


@dataclass(frozen=True, slots=True)
class Comparison:
    """One table in both. `equal`: the same rows, in whatever order. A side that has no such table has None rows."""

    table: str
    archived: int | None
    present: int | None
    equal: bool


def compare(owner_conninfo: str, archive: ArchiveReader, *, progress: Progress | None = None) -> list[Comparison]:
    """Every table of either side, by schema and name. The database is read in one state and not changed.

    Raises:
        OperatorError: `archive_invalid`, the database is at another revision, so that its rows have other columns.
        CommonloreError: the database does not answer.
    """
    manifest = archive.manifest
    entries = {entry.name: entry for entry in manifest.tables}
    done = 0
    with as_owner(owner_conninfo) as connection:
        snapshot = Snapshot(connection, UUID(manifest.teams[0].team_id) if manifest.scope == "team" else None)
        if snapshot.state["revision"] != manifest.revision:
            raise OperatorError(
                "archive_invalid",
                f"the archive is of revision {manifest.revision} and the database at {snapshot.state['revision']}: their rows cannot be compared",
            )
        found = []
        for table in snapshot.tables:
            tally = Tally()
            with closing(snapshot.rows(table)) as pieces:
                for piece in pieces:
                    tally.add(piece)
                    done += piece.count(b"\n")
                    if progress is not None:
                        progress(done, max(done, manifest.rows))
            entry = entries.pop(table.name, None)
            same = entry is not None and entry.columns == table.columns and tally.matches(entry)
            found.append(Comparison(table.name, None if entry is None else entry.rows, tally.rows, same))
    return found + [Comparison(entry.name, entry.rows, None, False) for entry in entries.values()]
