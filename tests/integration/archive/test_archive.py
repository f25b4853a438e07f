"""An archive carries every row, and a restored database is the one that was backed up."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import stat
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from commonlore.db.archive import ArchiveReader, compare, restore, take_backup
from commonlore.db.archive.file import seal
from commonlore.db.archive.snapshot import LEFT_OUT, Snapshot, Table, as_owner
from commonlore.db.isolation import verify_live
from commonlore.db.migrate import MIGRATION_LOCK, head_revision, shipped_revisions, upgrade
from commonlore.domain.errors import OperatorError
from commonlore.domain.tenancy.key import parse
from tests.support.catalogue import admin, counts, shape
from tests.support.databases import TestDatabase, clone, drop, passwords
from tests.support.memory import Holder, Memory
from tests.support.revisions import KEY, TEAM_ID, empty_database, fill, filled_database, named


@pytest.fixture(scope="module")
def filled() -> Iterator[TestDatabase]:
    with filled_database() as database:
        yield database


@pytest.fixture
def archive(filled: TestDatabase, tmp_path: Path) -> Path:
    path = tmp_path / "all.archive"
    take_backup(filled.owner_conninfo, path)
    return path


def rows(database: TestDatabase, table: str) -> list[tuple[Any, ...]]:
    """Without the transactions that rows came with, which are the server's own."""
    with admin(database) as connection:
        return sorted(connection.execute(f"select (to_jsonb(t) - 'arrived')::text from {table} t".encode()).fetchall())


async def recalled(database: TestDatabase, query: str) -> list[str]:
    presented = parse(KEY)
    assert presented is not None
    holder = Holder(presented, KEY, TEAM_ID, named("ada"), named("key"))
    async with Memory.open(database) as memory:
        return [item["context"] for item in (await memory.recall(holder, query))["results"]]


def test_every_table_has_rows_to_carry(filled: TestDatabase) -> None:
    """Red for a new table until tests/data/revisions has rows for it: what is not there is not proven."""

    assert [] == [name for name, number in counts(filled).items() if number == 0]


def test_every_row_of_every_table_is_carried(filled: TestDatabase, archive: Path) -> None:
    """As many rows as a superuser counts, in every table but those that are left out with a reason."""
    with ArchiveReader(archive) as found:
        carried = {table.name: table.rows for table in found.manifest.tables}

    assert {name: number for name, number in counts(filled).items() if name not in LEFT_OUT} == carried
    assert set(LEFT_OUT) <= set(counts(filled))


def test_a_table_that_is_not_carried_makes_the_check_red(filled: TestDatabase, tmp_path: Path) -> None:
    """The comparison above notices a table of any kind that a backup would not see."""
    with admin(filled) as connection:
        connection.execute("create table commonlore.late (team_id uuid primary key)")
        connection.execute("alter table commonlore.late owner to commonlore_owner")
        connection.execute("insert into commonlore.late values (gen_random_uuid())")
        connection.execute("select commonlore.isolate('commonlore.late', 'team', 'none', 'none')")
    try:
        made = take_backup(filled.owner_conninfo, tmp_path / "late.archive")
        found = {table.name: table.rows for table in made.manifest.tables}

        assert (0, 1) == (found["commonlore.late"], counts(filled)["commonlore.late"])  # a row of no team: nothing opens it
    finally:
        with admin(filled) as connection:
            connection.execute("drop table commonlore.late")


async def test_a_restored_database_is_the_same(filled: TestDatabase, archive: Path) -> None:
    """Rows, sequences, shape and guards; and it answers."""
    with empty_database() as other, ArchiveReader(archive) as found:
        restored = restore(other, passwords(), found)

        assert head_revision() == restored.revision
        assert {**counts(filled), "commonlore.vector_index": 0} == counts(other)
        for table in counts(filled):
            if table not in LEFT_OUT:
                assert rows(filled, table) == rows(other, table), table
        assert shape(filled) == shape(other)
        assert [] == [check for check in verify_live(other.serving_conninfo) if not check.passed]
        assert all(table.equal for table in compare(other.owner_conninfo, found))
        assert ["Ada leads Orion.", "Orion has 7 people.\n\\.\n\t\\N NULL é漢"] == sorted(await recalled(other, "Orion"))
        with admin(filled) as before, admin(other) as after:
            query = "select schemaname, sequencename, last_value from pg_sequences order by 1, 2"
            assert before.execute(query).fetchall() == after.execute(query).fetchall()


def test_an_archive_is_its_owners_alone_and_says_what_it_is(filled: TestDatabase, tmp_path: Path) -> None:
    """0600; the checksum is that of the file; nothing of another name is left; no secret of the installation is in it."""
    path = tmp_path / "x.archive"
    made = take_backup(filled.owner_conninfo, path)

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert made.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert ["x.archive"] == os.listdir(tmp_path)
    assert ("installation", head_revision(), [str(TEAM_ID)]) == (
        made.manifest.scope,
        made.manifest.revision,
        [team.team_id for team in made.manifest.teams],
    )
    with zipfile.ZipFile(path) as content:
        text = b"".join(content.read(name) for name in content.namelist())
    assert [] == [word for word in ["b" * 52, *passwords().values()] if word.encode() in text]


def test_a_backup_that_is_cut_off_leaves_no_archive(filled: TestDatabase, tmp_path: Path) -> None:
    """Neither under its name nor another; the next one goes through, also over what a killed one left."""
    path = tmp_path / "x.archive"

    def stop(done: int, _: int | None) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_backup(filled.owner_conninfo, path, progress=stop)
    assert [] == os.listdir(tmp_path)
    (tmp_path / "x.archive.partial").write_bytes(b"half an archive of a process that was killed")
    take_backup(filled.owner_conninfo, path)
    with pytest.raises(OperatorError, match="is there already"):
        take_backup(filled.owner_conninfo, path)

    assert ["x.archive"] == os.listdir(tmp_path)
    with ArchiveReader(path) as archive:
        archive.check()


def test_an_archive_is_noted_before_it_has_its_name(filled: TestDatabase, tmp_path: Path) -> None:
    """With its checksum; where it cannot be noted there is no archive."""
    path = tmp_path / "x.archive"
    noted: list[Any] = []

    def note(facts: Any) -> None:
        noted.append((path.exists(), facts))

    def refuse(_: Any) -> None:
        raise OperatorError("backup_failed", "it cannot be noted")

    with pytest.raises(OperatorError, match="cannot be noted"):
        take_backup(filled.owner_conninfo, path, note=refuse)
    assert [] == os.listdir(tmp_path)
    made = take_backup(filled.owner_conninfo, path, note=note)

    assert [(False, made)] == noted
    assert made.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_migration_waits_for_a_backup(filled: TestDatabase, tmp_path: Path) -> None:
    """No column comes or goes between the first table and the last; nor is a table emptied, which would show through the snapshot."""
    tried: list[Any] = []

    def meanwhile(*_: object) -> None:
        if not tried:
            with admin(filled) as connection:
                tried.append(connection.execute("select pg_try_advisory_lock(%s::bigint)", [MIGRATION_LOCK]).fetchone())
                connection.execute("set lock_timeout = '100ms'")
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    connection.execute("truncate commonlore.evidence_vector_1")

    take_backup(filled.owner_conninfo, tmp_path / "x.archive", progress=meanwhile)

    assert [(False,)] == tried


def test_two_backups_of_one_name_are_one(filled: TestDatabase, tmp_path: Path) -> None:
    """The second one is refused while the first writes."""
    path = tmp_path / "x.archive"
    refused: list[str] = []

    def meanwhile(*_: object) -> None:
        if not refused:
            with pytest.raises(OperatorError) as error:
                take_backup(filled.owner_conninfo, path)
            refused.append(error.value.code)

    take_backup(filled.owner_conninfo, path, progress=meanwhile)

    assert ["backup_failed"] == refused


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 0.95, 0.999])
def test_a_changed_byte_is_found(archive: Path, place: float) -> None:
    """Wherever it lies, in the rows or in what is around them."""
    data = bytearray(archive.read_bytes())
    data[int(len(data) * place)] ^= 0xFF
    archive.write_bytes(data)

    with pytest.raises(OperatorError) as error, ArchiveReader(archive) as found:
        found.check()
    assert "archive_invalid" == error.value.code


@pytest.mark.parametrize("place", [0.0, 0.3, 0.99])
def test_a_cut_archive_is_found(archive: Path, place: float) -> None:
    archive.write_bytes(archive.read_bytes()[: int(archive.stat().st_size * place)])

    with pytest.raises(OperatorError) as error, ArchiveReader(archive) as found:
        found.check()
    assert "archive_invalid" == error.value.code


def test_an_exchanged_member_is_found_before_anything_is_touched(filled: TestDatabase, archive: Path, tmp_path: Path) -> None:
    """Rows of another making under a valid ZIP are not those of the manifest, and the database stays as it was."""
    changed = tmp_path / "changed.archive"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(changed, "w") as new:
        new.comment = old.comment
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b"Ada leads Orion.", b"Eve leads Orion.") if name.startswith("data/") else text)
    with changed.open("r+b") as file:
        seal(file)

    with empty_database() as other:
        upgrade(other.migrator_conninfo)
        before = counts(other)
        with pytest.raises(OperatorError, match="other rows in commonlore"), ArchiveReader(changed) as found:
            restore(other, passwords(), found)
        assert before == counts(other)


def test_a_database_with_a_team_is_refused(filled: TestDatabase, archive: Path) -> None:
    before = counts(filled)

    with pytest.raises(OperatorError) as error, ArchiveReader(archive) as found:
        restore(filled, passwords(), found)

    assert "database_not_empty" == error.value.code
    assert before == counts(filled)


def test_a_restore_that_is_cut_off_leaves_an_empty_database(filled: TestDatabase, archive: Path) -> None:
    """At each third of its way; the next restore goes through."""
    with empty_database() as other:
        for third in (0, 1, 2):

            def stop(done: int, total: int | None, third: int = third) -> None:
                if total and done >= total * (third + 0.5) / 3:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt), ArchiveReader(archive) as found:
                restore(other, passwords(), found, progress=stop)
            with admin(other) as connection:
                made = connection.execute("select to_regclass('commonlore.team') is not null").fetchone()
                assert made in ((False,), (True,))
                assert made == (False,) or connection.execute("select count(*) from commonlore.team").fetchone() == (0,)
        with ArchiveReader(archive) as found:
            restore(other, passwords(), found)
            assert all(table.equal for table in compare(other.owner_conninfo, found))


def test_a_restore_into_a_migrated_database_without_a_team(filled: TestDatabase, archive: Path) -> None:
    """What migrations and workers leave in an unused database is no data."""
    with empty_database() as other:
        upgrade(other.migrator_conninfo)
        with admin(other) as connection:
            connection.execute("insert into procrastinate.procrastinate_workers (last_heartbeat) values (now())")
        with ArchiveReader(archive) as found:
            restore(other, passwords(), found)
            assert all(table.equal for table in compare(other.owner_conninfo, found))


async def test_an_archive_of_an_earlier_version_is_restored_and_migrated(tmp_path: Path) -> None:
    """Its own revision first, the rows, then what is newer: the texts are found."""
    early = shipped_revisions()[-4]
    with empty_database() as old, empty_database() as new:
        for revision in shipped_revisions()[:-3]:
            upgrade(old.migrator_conninfo, to=revision)
            fill(old, revision)
        made = take_backup(old.owner_conninfo, tmp_path / "old.archive")
        with ArchiveReader(made.path) as found:
            restored = restore(new, passwords(), found)
            with pytest.raises(OperatorError, match="cannot be compared"):
                compare(new.owner_conninfo, found)

        assert (early, head_revision()) == (made.manifest.revision, restored.revision)
        assert ["Ada leads Orion."] == (await recalled(new, "Ada"))[:1]


def test_an_archive_of_a_newer_program_is_refused(filled: TestDatabase, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with empty_database() as other, ArchiveReader(archive) as found:
        monkeypatch.setattr("commonlore.db.archive.restoring.shipped_revisions", lambda: ["0001"])
        with pytest.raises(OperatorError, match="update the program"):
            restore(other, passwords(), found)


def test_a_change_in_the_database_is_seen(filled: TestDatabase, archive: Path) -> None:
    """A single value of a single row, in the table that it is in and in no other."""
    other = clone(filled.name)
    try:
        with admin(other) as connection:
            connection.execute("update commonlore.relationship set version = version + 1 where relationship_id = %s", [named("relationship 1")])
        with ArchiveReader(archive) as found:
            different = [table.table for table in compare(other.owner_conninfo, found) if not table.equal]

        assert ["commonlore.relationship"] == different
    finally:
        drop(other.name)


async def test_one_team_is_carried_alone(template: str, tmp_path: Path) -> None:
    """Its rows, its jobs and what belongs to no team; nothing of another team, in no table."""
    source = clone(template)
    try:
        async with Memory.open(source) as memory:
            ann, eve = await memory.key("atlas"), await memory.key("boreal")
            await memory.relate(ann, "Mark works on Zephyr.", "Mark", "works_on", "Zephyr")
            await memory.relate(eve, "Eve works on Quartz.", "Eve", "works_on", "Quartz")
            made = take_backup(source.owner_conninfo, tmp_path / "ann.archive", team_id=ann.team_id)
        with zipfile.ZipFile(made.path) as content:
            text = b"".join(content.read(name) for name in content.namelist())
        with empty_database() as other, ArchiveReader(made.path) as found:
            restore(other, passwords(), found)
            present = counts(other)
            with admin(other) as connection:
                of_team = {
                    table: connection.execute(f"select count(*) from commonlore.{table} where team_id <> %s".encode(), [ann.team_id]).fetchone()
                    for table in (name.removeprefix("commonlore.") for name in present if name.startswith("commonlore."))
                    if table not in ("alembic_version", "embedding_contract")
                }
            async with Memory.open(other) as memory:
                answer = await memory.recall(ann, "Mark")

        assert (True, False, False) == (str(ann.team_id).encode() in text, str(eve.team_id).encode() in text, b"Quartz" in text)
        assert {(0,)} == set(of_team.values())
        assert ["Mark works on Zephyr."] == [item["context"] for item in answer["results"]]
        assert (1, "team") == (present["commonlore.team"], made.manifest.scope)
    finally:
        drop(source.name)


def test_a_table_of_the_queue_that_nobody_knows_refuses_the_backup_of_a_team(filled: TestDatabase) -> None:
    """Rather than carry another team's rows."""
    with as_owner(filled.owner_conninfo) as connection:
        snapshot = Snapshot(connection, TEAM_ID)
        [table] = [table for table in snapshot.tables if table.table_name == "procrastinate_jobs"]
        unknown: Table = dataclasses.replace(table, table_name="procrastinate_batches")

        assert [] != b"".join(snapshot.rows(table)).splitlines()
        with pytest.raises(OperatorError, match="procrastinate_batches"):
            list(snapshot.rows(unknown))
        assert [] == [table for table in snapshot.tables if table.level == "installation" and snapshot._condition(table) is None]


async def test_a_backup_under_writes_is_of_one_state(template: str, tmp_path: Path) -> None:
    """Members of many writes at once: whatever moment it catches, every key refers to a row that is there, and what it has is found."""
    source = clone(template)
    try:
        async with Memory.open(source) as memory:
            ann = await memory.key()
            stop, written = threading.Event(), 0
            made: list[Any] = []

            def back_up() -> None:
                for number in range(3):
                    made.append(take_backup(source.owner_conninfo, tmp_path / f"{number}.archive"))
                stop.set()

            worker = threading.Thread(target=back_up)
            worker.start()
            while not stop.is_set():
                await memory.relate(ann, f"Person{written} works on Zephyr.", f"Person{written}", "works_on", "Zephyr")
                written += 1
            worker.join()
        sizes = [{table.name: table.rows for table in item.manifest.tables} for item in made]
        assert sizes[0]["commonlore.evidence"] < sizes[2]["commonlore.evidence"] <= written
        for item, size in zip(made, sizes, strict=True):
            assert size["commonlore.evidence"] == size["commonlore.relationship"] == size["commonlore.submission"]
            with empty_database() as other, ArchiveReader(item.path) as found:
                restore(other, passwords(), found)
    finally:
        drop(source.name)
