"""One state of the database as the owner may read it: which tables there are, and the rows of each.

The owner is bound by every policy, so the rows are read as they are guarded: team by team, space by space, inside one
transaction, READ ONLY and REPEATABLE READ. Rows behind a fence are erased; no context opens them, and they are not read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from commonlore.db.errors import stating
from commonlore.db.isolation.catalogue import GLOBAL_TABLES
from commonlore.db.migrate import MIGRATION_LOCK
from commonlore.db.sql import statements
from commonlore.domain.errors import OperatorError

_SQL = statements("archive")
_SESSION = statements("session")
_TENANCY = statements("tenancy")
# The text of a value is the same on every server.
_TEXT_FORM = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=1 -c bytea_output=hex -c client_encoding=UTF8"

LEFT_OUT: Mapping[str, str] = {
    "commonlore.alembic_version": "the manifest has the revision",
    "commonlore.vector_index": "indexes of one database; a worker builds those of another anew",
}
# The queue stands outside row security. What of it is one team's; a table that nobody listed refuses the backup of a team.
_JOBS = sql.SQL("select j.{column} from procrastinate.procrastinate_jobs j where j.args ->> 'team_id' = {team}")
_QUEUE_OF_TEAM: Mapping[str, sql.Composable] = {
    "procrastinate_jobs": sql.SQL("args ->> 'team_id' = {team}"),
    "procrastinate_events": sql.SQL("job_id in ({ids})"),
    "procrastinate_workers": sql.SQL("id in ({workers})"),
    "procrastinate_periodic_defers": sql.SQL("false"),
    "job_turn": sql.SQL("team = {team}"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is carried. `level`: `installation`, `team` or `space`, by its policies."""

    schema_name: str
    table_name: str
    level: str
    columns: tuple[str, ...]
    forced: bool
    rows_about: int | None
    is_empty: bool

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}"

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema_name, self.table_name)

    @property
    def column_list(self) -> sql.Composed:
        return sql.SQL(", ").join(map(sql.Identifier, self.columns))


@dataclass(frozen=True, slots=True)
class TeamName:
    team_id: UUID
    name: str


@contextmanager
def as_owner(conninfo: str) -> Iterator[Connection[DictRow]]:
    """A connection that acts as `commonlore_owner` and writes values in one form, whatever the server's own settings are.

    Raises:
        CommonloreError: any database error, stated.
    """
    options = f"-c role=commonlore_owner {_TEXT_FORM} -c statement_timeout=0 -c lock_timeout=30s"
    with stating(), psycopg.connect(make_conninfo(conninfo, options=options), row_factory=dict_row) as connection:
        yield connection


def list_tables(connection: Connection[DictRow]) -> list[Table]:
    """What is carried, by schema and name."""
    found = []
    for row in connection.execute(_SQL["list_tables"], {}).fetchall():
        if f"{row['schema_name']}.{row['table_name']}" not in LEFT_OUT:
            columns, empty = tuple(row["columns"]), row["has_no_page"]
            found.append(Table(row["schema_name"], row["table_name"], row["level"], columns, row["forced"], row["rows_about"], empty))
    return found


class Snapshot:
    """One state, of the whole installation or of one team."""

    def __init__(self, connection: Connection[DictRow], team_id: UUID | None) -> None:
        self._connection = connection
        self._team_id = team_id
        connection.execute(_SQL["hold_off_migrations"], {"lock": MIGRATION_LOCK})
        names = sql.SQL(", ").join(table.identifier for table in list_tables(connection))
        connection.commit()
        connection.execute("set transaction isolation level repeatable read, read only")
        # Against dropping and emptying, which would show through a snapshot; reads and writes go on. A lock takes no snapshot, so it begins below.
        connection.execute(sql.SQL("lock table {} in access share mode").format(names))
        self.state: dict[str, Any] = connection.execute(_SQL["read_state"], {}).fetchone() or {}
        self.tables = list_tables(connection)
        self.teams = self._read_teams()
        self._epochs = {team.team_id: self._read_epochs(team.team_id) for team in self.teams}

    def _read_teams(self) -> list[TeamName]:
        rows = self._connection.execute(_TENANCY["list_teams"], {}).fetchall()
        return [TeamName(row["team_id"], row["name"]) for row in rows if self._team_id in (None, row["team_id"])]

    def _read_epochs(self, team_id: UUID) -> list[int]:
        self._enter(team_id)
        return [row["space_epoch"] for row in self._connection.execute(_SQL["list_epochs"], {"team_id": team_id}).fetchall()]

    def _enter(self, team_id: UUID, space_epoch: int | None = None) -> None:
        self._connection.execute(_SESSION["enter_team"], {"team_id": team_id, "timeout_ms": 0, "plans": "auto"})
        if space_epoch is not None:
            self._connection.execute(_SESSION["enter_epoch"], {"space_epoch": space_epoch})

    def sequences(self) -> list[dict[str, Any]]:
        """Read last, so that no number that a row of the snapshot has is given again."""
        return self._connection.execute(_SQL["list_sequences"], {}).fetchall()

    @property
    def rows_about(self) -> int | None:
        """The planner's estimate over all teams; None where there is none, or where one team is asked for."""
        known = [table.rows_about for table in self.tables]
        return None if None in known or self._team_id is not None else sum(rows or 0 for rows in known)

    def rows(self, table: Table) -> Generator[bytes, None, None]:
        """The lines of one table, in pieces. To be closed by whoever leaves off early: the connection is in the middle of a COPY.

        Raises:
            OperatorError: `backup_failed`, nobody said what of the table is the team's.
        """
        if table.is_empty:
            return
        if table.level == "installation":
            yield from self._copy(table, self._condition(table))
            return
        for team in self.teams:
            for space_epoch in self._epochs[team.team_id] if table.level == "space" else (None,):
                self._enter(team.team_id, space_epoch)
                # The owner may list all teams, so the policy alone is not enough.
                condition = sql.SQL("team_id = {}").format(sql.Literal(team.team_id))
                if space_epoch is not None:
                    condition += sql.SQL(" and space_epoch = {}").format(sql.Literal(space_epoch))
                yield from self._copy(table, condition)

    def _condition(self, table: Table) -> sql.Composable:
        if self._team_id is None or (table.schema_name == "commonlore" and table.table_name in GLOBAL_TABLES):
            return sql.SQL("true")
        known = _QUEUE_OF_TEAM.get(table.table_name) if table.schema_name == "procrastinate" else None
        if not isinstance(known, sql.SQL):
            raise OperatorError("backup_failed", f"nobody said which rows of {table.name} are one team's; back up the whole installation")
        team = sql.Literal(str(self._team_id))
        ids, workers = (_JOBS.format(column=sql.Identifier(column), team=team) for column in ("id", "worker_id"))
        return known.format(team=team, ids=ids, workers=workers)

    def _copy(self, table: Table, condition: sql.Composable) -> Iterator[bytes]:
        query = sql.SQL("copy (select {} from {} where {}) to stdout").format(table.column_list, table.identifier, condition)
        with self._connection.cursor().copy(query) as copy:
            for piece in copy:
                yield bytes(piece)
