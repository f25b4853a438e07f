"""Backups are in the list of exports before they are there, and the search at the end of an erasure reads them unpacked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from commonlore.db.archive import BackupFacts, compare, take_backup
from commonlore.db.archive.file import ArchiveReader
from commonlore.db.erasure.exports import registered_backup, search_file
from tests.support.erasure import erase, work
from tests.support.memory import Holder, Memory

EVERY = ("read", "write", "admin", "destroy")
SAID = "The quixotic zanzibar ledger of Ophelia Marrow."


async def back_up(memory: Memory, path: Path, *, team_id: UUID | None = None) -> None:
    """As the command does it."""

    def run() -> None:
        owner = memory.database.owner_conninfo
        with registered_backup(owner, path, team_id=team_id) as register:

            def note(facts: BackupFacts) -> None:
                register(UUID(team.team_id) for team in facts.manifest.teams)

            take_backup(owner, path, team_id=team_id, note=note)

    await asyncio.to_thread(run)


def listed(memory: Memory, holder: Holder) -> list[tuple[str, bool]]:
    """Files of the team by name, and whether they are destroyed."""
    rows = memory.sql("select file_path, destroyed_at is not null from commonlore.export where team_id = %s order by known_from", holder.team_id)
    return [(Path(path).name, destroyed) for path, destroyed in rows]


async def test_an_erasure_finds_its_words_in_an_archive(memory: Memory, tmp_path: Path) -> None:
    """Whose bytes do not show them, for they are packed. One that was made after the rows were gone is named as possible alone."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    ids = await memory.remember_all(ann, [SAID, "Another text."])
    await back_up(memory, tmp_path / "before")
    begun = await erase(memory, ann, "evidence", ids[0])
    await back_up(memory, tmp_path / "between")
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)
    await back_up(memory, tmp_path / "after")

    assert SAID.encode() not in (tmp_path / "before").read_bytes()
    assert [("backup", "found"), ("backup", "found")] == [(item["kind"], item["carries"]) for item in receipt["exports_to_destroy"]]
    assert ["found", "possible"] == [await search_file(tmp_path / name, [SAID]) for name in ("before", "after")]


async def test_a_team_knows_of_every_archive_that_holds_it(memory: Memory, tmp_path: Path) -> None:
    """Of those of the installation and its own; the line is in the archive, which equals the database. One that failed is destroyed."""
    ann, eve = await memory.key(), await memory.key(team="other")
    await back_up(memory, tmp_path / "all")
    with ArchiveReader(tmp_path / "all") as archive:
        tables = await asyncio.to_thread(compare, memory.database.owner_conninfo, archive)
    await back_up(memory, tmp_path / "mine", team_id=ann.team_id)
    with pytest.raises(Exception, match="is there already"):
        await back_up(memory, tmp_path / "mine", team_id=ann.team_id)

    assert [] == [table.table for table in tables if not table.equal]
    assert [("all", False), ("mine", False), ("mine", True)] == listed(memory, ann)
    assert [("all", False)] == listed(memory, eve)


async def test_a_team_that_came_while_it_was_written_knows_too(memory: Memory, tmp_path: Path) -> None:
    """Each of them once."""
    ann, late = await memory.key(), await memory.key(team="late")

    def run() -> None:
        with registered_backup(memory.database.owner_conninfo, tmp_path / "all", team_id=ann.team_id) as register:
            register([ann.team_id, late.team_id])

    await asyncio.to_thread(run)

    assert [[("all", False)]] * 2 == [listed(memory, holder) for holder in (ann, late)]
