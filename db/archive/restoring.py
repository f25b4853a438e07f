"""Putting an archive into an empty database: the archive's own revision first, the rows in one transaction, then the newer migrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow

from commonlore.db.archive.file import ArchiveReader, Manifest, Progress, TableEntry, Tally
from commonlore.db.archive.snapshot import Table, as_owner, list_tables
from commonlore.db.errors import stating
from commonlore.db.locate import Database
from commonlore.db.migrate import MIGRATION_LOCK, head_revision, shipped_revisions, upgrade
from commonlore.db.provision import provision
from commonlore.db.sql import statements
from commonlore.domain.errors import OperatorError

_SQL = statements("archive")
_TENANCY = statements("tenancy")
_SCHEMAS = ("commonlore", "procrastinate")


@dataclass(frozen=True, slots=True)
class RestoreFacts:
    """What was restored; `revision` is that of the database now."""

    manifest: Manifest
    revision: str


def restore(database: Database, passwords: Mapping[str, str], archive: ArchiveReader, *, progress: Progress | None = None) -> RestoreFacts:
    """Restore into a database that holds no team; a service that runs on it should be stopped.

    The whole archive is read and checked before anything is touched. Its rows are written in one transaction, which ends
    only when what was written has been read back and has the hashes of the archive: a restore that is cut off leaves an
    empty database. Then the migrations that are newer than the archive run.

    Raises:
        OperatorError: `archive_invalid`, also for one of a newer program; `database_not_empty`; `migration_failed`.
        CommonloreError: the database does not answer, or refuses.
    """
    manifest = archive.manifest
    if manifest.revision not in shipped_revisions():
        raise _invalid(f"the archive is of revision {manifest.revision}, which this program ({head_revision()}) does not know; update the program")
    phases = _Phases(progress, manifest.rows)
    archive.check(phases.part(0))
    with stating():
        provision(database.admin_conninfo, passwords)
        _clear(database.owner_conninfo)
        provision(database.admin_conninfo, passwords)
    upgrade(database.migrator_conninfo, to=manifest.revision)
    with as_owner(database.owner_conninfo) as connection:
        _load(connection, archive, phases)
    with as_owner(database.owner_conninfo) as connection:
        for table in list_tables(connection):
            connection.execute(sql.SQL("analyze {}").format(table.identifier))
    _, revision = upgrade(database.migrator_conninfo)
    return RestoreFacts(manifest, revision)


class _Phases:
    """Rows are gone through three times: checked, written and read back."""

    def __init__(self, progress: Progress | None, rows: int) -> None:
        self._progress, self._rows = progress, rows

    def part(self, number: int) -> Progress:
        def tell(done: int, _: int | None) -> None:
            if self._progress is not None:
                self._progress(number * self._rows + done, 3 * self._rows)

        return tell

    def counted(self, number: int) -> Callable[[bytes], None]:
        tell, done = self.part(number), 0

        def count(piece: bytes) -> None:
            nonlocal done
            done += piece.count(b"\n")
            tell(done, None)

        return count


def _clear(owner_conninfo: str) -> None:
    """Drop both schemas if no team is there; they hold nothing that a migration does not make."""
    with as_owner(owner_conninfo) as connection:
        connection.execute(_SQL["hold_off_everyone"], {"lock": MIGRATION_LOCK})
        _require_empty(connection)
        for schema in _SCHEMAS:
            connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))


def _require_empty(connection: Connection[DictRow]) -> None:
    row = connection.execute(_SQL["has_teams_table"], {}).fetchone()
    if row and row["made"] and connection.execute(_TENANCY["list_teams"], {}).fetchone() is not None:
        raise OperatorError("database_not_empty", "the database holds a team; an archive is restored into an empty one and never mixed with another")


def _load(connection: Connection[DictRow], archive: ArchiveReader, phases: _Phases) -> None:
    """Everything in the one transaction of `connection`, which the caller commits."""
    present = {table.name: table for table in list_tables(connection)}
    connection.execute(sql.SQL("lock table {} in access exclusive mode").format(sql.SQL(", ").join(table.identifier for table in present.values())))
    _require_empty(connection)
    count = phases.counted(1)
    with _unguarded(connection, present.values()):
        for entry in _installation_first(archive.manifest, present):
            table = present.get(entry.name) or _made(connection, entry)
            present[entry.name] = table
            _load_table(connection, archive, entry, table, count)
    _require_same(archive.manifest, present)
    _read_back(connection, archive.manifest, present, phases.counted(2))
    for sequence in archive.manifest.sequences:
        values = {"schema_name": sequence.schema_name, "sequence_name": sequence.sequence_name, "last_value": sequence.last_value}
        connection.execute(_SQL["set_sequence"], values)


def _installation_first(manifest: Manifest, present: Mapping[str, Table]) -> list[TableEntry]:
    """Tables that other tables are made from come first: a contract has vector tables of its own."""
    return sorted(manifest.tables, key=lambda entry: entry.name not in present or present[entry.name].level != "installation")


def _made(connection: Connection[DictRow], entry: TableEntry) -> Table:
    connection.execute(_SQL["make_vector_tables"], {})
    found = {table.name: table for table in list_tables(connection)}.get(entry.name)
    if found is None:
        raise _invalid(f"the archive has a table {entry.name} that its revision does not")
    connection.execute(sql.SQL("alter table {} no force row level security").format(found.identifier))
    return found


def _load_table(connection: Connection[DictRow], archive: ArchiveReader, entry: TableEntry, table: Table, count: Callable[[bytes], None]) -> None:
    if entry.columns != table.columns:
        raise _invalid(f"{entry.name} has other columns in the archive than its revision gives it")
    if table.level == "installation":
        connection.execute(sql.SQL("delete from {}").format(table.identifier))
    query = sql.SQL("copy {} ({}) from stdin").format(table.identifier, table.column_list)
    try:
        with connection.cursor().copy(query) as copy:
            for piece in archive.pieces(entry):
                copy.write(piece)
                count(piece)
    except (psycopg.errors.DataError, psycopg.errors.IntegrityError) as error:
        raise _invalid(f"the rows of {entry.name} do not fit their table ({error.sqlstate})") from error


@contextmanager
def _unguarded(connection: Connection[DictRow], tables: Any) -> Iterator[None]:
    """Rows go in as they were: without policies, which bind the owner, without triggers, and with foreign keys checked at the end."""
    forced = [table for table in tables if table.forced]
    keys = connection.execute(_SQL["list_foreign_keys"], {}).fetchall()
    triggers = connection.execute(_SQL["list_triggers"], {}).fetchall()
    for table in forced:
        connection.execute(sql.SQL("alter table {} no force row level security").format(table.identifier))
    for row in keys:
        connection.execute(sql.SQL("alter table {} drop constraint {}").format(_of(row), sql.Identifier(row["name"])))
    for row in triggers:
        connection.execute(sql.SQL("alter table {} disable trigger {}").format(_of(row), sql.Identifier(row["name"])))
    yield
    for row in triggers:
        connection.execute(sql.SQL("alter table {} enable trigger {}").format(_of(row), sql.Identifier(row["name"])))
    for row in keys:
        statement = sql.SQL("alter table {} add constraint {} {}").format(_of(row), sql.Identifier(row["name"]), sql.SQL(row["definition"]))
        try:
            connection.execute(statement)
        except psycopg.errors.ForeignKeyViolation as error:
            raise _invalid(f"rows of {row['schema_name']}.{row['table_name']} refer to rows that are not there ({row['name']})") from error


def _of(row: Mapping[str, Any]) -> sql.Identifier:
    return sql.Identifier(row["schema_name"], row["table_name"])


def _require_same(manifest: Manifest, present: Mapping[str, Table]) -> None:
    missing = sorted(set(present) - {entry.name for entry in manifest.tables})
    if missing:
        raise _invalid(f"the archive lacks the table {missing[0]} of its revision")


def _read_back(connection: Connection[DictRow], manifest: Manifest, present: Mapping[str, Table], count: Callable[[bytes], None]) -> None:
    for entry in manifest.tables:
        table, tally = present[entry.name], Tally()
        with connection.cursor().copy(sql.SQL("copy (select {} from {}) to stdout").format(table.column_list, table.identifier)) as copy:
            for piece in copy:
                tally.add(bytes(piece))
                count(bytes(piece))
        if not tally.matches(entry):
            raise _invalid(f"{entry.name} reads back with other rows than the archive has")
        if table.forced:
            connection.execute(sql.SQL("alter table {} force row level security").format(table.identifier))


def _invalid(message: str) -> OperatorError:
    return OperatorError("archive_invalid", message)
