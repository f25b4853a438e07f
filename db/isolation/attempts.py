"""What a role can see and do in each table, by trying it: without a context, with odd ones, and with the context of one space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import psycopg
from psycopg import Connection, sql
from psycopg.rows import DictRow

from commonlore.db.isolation.catalogue import level, tenant_tables
from commonlore.db.isolation.population import Population, SampleSpace
from commonlore.db.isolation.report import Check
from commonlore.db.sql import statements

_SESSION = statements("session")
# None leaves the settings alone. The last is a team that does not exist.
_ODD = (None, "", "0", "null", "*", "%", "default", "00000000-0000-0000-0000-000000000000")


def attempt_checks(
    admin: Connection[DictRow], connection: Connection[DictRow], role: str, population: Population, *, only: Sequence[str] = ()
) -> list[Check]:
    """Every table, or those of `only`. `connection` is the role's own login, `admin` a superuser's; both autocommit. Nothing is changed."""
    listing = {"team"} if role == "commonlore_worker" else set()  # the policy list_teams
    tables = list(only) or tenant_tables(admin)
    checks = list(_filled(admin, tables, population)) if role == "commonlore_app" else []
    for table in tables:
        checks += _odd_contexts(connection, role, table, population, listed=table in listing)
        foreign_rows = {space: _row(admin, table, space) for space in (population.foreign, population.neighbour)}
        checks.append(_refused_without_context(connection, role, table, foreign_rows[population.foreign]))
        checks += _one_space(admin, connection, role, table, population, listed=table in listing)
        checks += _foreign_writes(connection, role, table, population, foreign_rows)
    checks.append(_clean_after_commit(connection, role, population))
    return checks


def _name(table: str) -> sql.Identifier:
    return sql.Identifier("commonlore", table)


def _belongs(table: str, space: SampleSpace) -> sql.Composed:
    team = sql.SQL("team_id = {}").format(sql.Literal(space.team_id))
    return sql.SQL("{} and space_epoch = {}").format(team, sql.Literal(space.space_epoch)) if level(table) == "space" else sql.Composed([team])


def _filled(admin: Connection[DictRow], tables: list[str], population: Population) -> Iterator[Check]:
    """The proof would be empty over an empty table."""
    for table in tables:
        empty = [space for space in population.spaces if not _count(admin, table, _belongs(table, space))]
        yield Check("the proof has rows of every space to look for", table, not empty, f"{len(empty)} spaces have none" if empty else "")


def _count(connection: Connection[DictRow], table: str, condition: sql.Composable) -> int:
    row = connection.execute(sql.SQL("select count(*) as n from {} where {}").format(_name(table), condition)).fetchone()
    assert row is not None
    return int(row["n"])


def _row(admin: Connection[DictRow], table: str, space: SampleSpace) -> str:
    """One row of a space, as the text of the table's row type."""
    row = admin.execute(sql.SQL("select t::text as row from {} t where {} limit 1").format(_name(table), _belongs(table, space))).fetchone()
    return str(row["row"]) if row else "()"


def enter(connection: Connection[DictRow], space: SampleSpace) -> None:
    """The context of one space, set by the statements that the service uses."""
    connection.execute(_SESSION["enter_team"], {"team_id": space.team_id, "timeout_ms": 60_000, "plans": "force_custom_plan"})
    connection.execute(_SESSION["enter_space"], {"team_id": space.team_id, "space_id": space.space_id})


def _set(connection: Connection[DictRow], team: str | None, epoch: str | None) -> None:
    """Values that the service's own statements would never let through."""
    for setting, value in (("commonlore.team_id", team), ("commonlore.space_epoch", epoch)):
        if value is not None:
            connection.execute(sql.SQL("set local {} = {}").format(sql.SQL(setting), sql.Literal(value)))


def _visible(connection: Connection[DictRow], table: str, team: str | None, epoch: str | None) -> str:
    """How many rows show, or the SQLSTATE of a refusal."""
    try:
        with connection.transaction(force_rollback=True):
            _set(connection, team, epoch)
            return str(_count(connection, table, sql.SQL("true")))
    except psycopg.Error as error:
        return error.sqlstate or "error"


def _odd_contexts(connection: Connection[DictRow], role: str, table: str, population: Population, *, listed: bool) -> Iterator[Check]:
    own, foreign = population.open, population.foreign
    contexts: list[tuple[str | None, str | None]] = [(value, value) for value in _ODD]
    if level(table) == "space":
        team = str(own.team_id)
        contexts += [(team, value) for value in (*_ODD[:-1], "-1", str(foreign.space_epoch))]
        contexts += [(str(foreign.team_id), str(own.space_epoch)), ("", str(own.space_epoch))]
    wrong = []
    for team_value, epoch in contexts:
        seen = _visible(connection, table, team_value, epoch)
        # A value that is no uuid or number may be refused; an unset or empty one must show nothing, without an error (B003).
        malformed = any(value not in (None, "") for value in (team_value, epoch)) and seen in ("22P02", "22003")
        if not (seen == "0" or malformed or (listed and (seen == "2" or malformed))):
            wrong.append(f"team {team_value!r}, epoch {epoch!r}: {seen}")
    yield Check(f"{role}: an unset or odd context shows nothing", table, not wrong, "; ".join(wrong))


def _attempt(connection: Connection[DictRow], space: SampleSpace | None, statement: sql.Composed) -> str:
    """The number of rows that a statement changes in the context of a space, or the SQLSTATE that refuses it. Rolled back."""
    try:
        with connection.transaction(force_rollback=True):
            if space is not None:
                enter(connection, space)
            return str(connection.execute(statement).rowcount)
    except psycopg.Error as error:
        return error.sqlstate or "error"


def _copy(table: str, row: str) -> sql.Composed:
    return sql.SQL("insert into {0} select r.* from (select ({1}::{0}).*) r").format(_name(table), sql.Literal(row))


def _refused_without_context(connection: Connection[DictRow], role: str, table: str, row: str) -> Check:
    outcome = _attempt(connection, None, _copy(table, row))
    return Check(f"{role}: without context nothing can be inserted", table, outcome == "42501", "" if outcome == "42501" else outcome)


def _one_space(
    admin: Connection[DictRow], connection: Connection[DictRow], role: str, table: str, population: Population, *, listed: bool
) -> Iterator[Check]:
    own = population.open
    expected = _count(admin, table, _belongs(table, own))
    with connection.transaction(force_rollback=True):
        enter(connection, own)
        visible, owned = _count(connection, table, sql.SQL("true")), _count(connection, table, _belongs(table, own))
    passed = owned == expected and (visible == owned or listed)
    detail = "" if passed else f"{visible} rows show, {owned} of them own, {expected} exist"
    yield Check(f"{role}: one space shows its own rows, all of them and no other", table, passed, detail)
    # The id of another team's space opens nothing.
    with connection.transaction(force_rollback=True):
        connection.execute(_SESSION["enter_team"], {"team_id": own.team_id, "timeout_ms": 60_000, "plans": "force_custom_plan"})
        connection.execute(_SESSION["enter_space"], {"team_id": own.team_id, "space_id": population.foreign.space_id})
        seen = _count(connection, table, sql.SQL("true")) if level(table) == "space" else 0
    yield Check(f"{role}: another team's space id opens nothing", table, seen == 0, f"{seen} rows show" if seen else "")


def _foreign_writes(
    connection: Connection[DictRow], role: str, table: str, population: Population, rows: Mapping[SampleSpace, str]
) -> Iterator[Check]:
    own = population.open
    wrong = []
    for other, row in rows.items():
        if level(table) == "team" and other.team_id == own.team_id:
            continue
        where = _belongs(table, other)
        column, value = ("space_epoch", other.space_epoch) if level(table) == "space" else ("team_id", other.team_id)
        away = sql.SQL("update {} set {} = {}").format(_name(table), sql.Identifier(column), sql.Literal(value))
        attempts: list[tuple[str, sql.Composed, tuple[str, ...]]] = [
            ("insert", _copy(table, row), ("42501",)),
            ("update", sql.SQL("update {} set team_id = team_id where {}").format(_name(table), where), ("0", "42501")),
            ("delete", sql.SQL("delete from {} where {}").format(_name(table), where), ("0", "42501")),
            ("move away", away, ("42501",)),
        ]
        if other.team_id != own.team_id:
            move = sql.SQL("update {} set team_id = {}").format(_name(table), sql.Literal(other.team_id))
            attempts += [("move to the other team", move, ("42501",)), ("truncate", sql.SQL("truncate {}").format(_name(table)), ("42501",))]
        for label, statement, allowed in attempts:
            outcome = _attempt(connection, own, statement)
            if outcome not in allowed:
                wrong.append(f"{label}: {outcome}")
    yield Check(f"{role}: rows of another space can be neither made, changed, moved nor removed", table, not wrong, "; ".join(wrong))


def _clean_after_commit(connection: Connection[DictRow], role: str, population: Population) -> Check:
    """B003: on the connection of a finished transaction, the setting reads as an empty text and must still show nothing."""
    with connection.transaction():
        enter(connection, population.open)
    seen = _visible(connection, "profile", None, None), _visible(connection, "evidence", None, None)
    return Check(f"{role}: a finished transaction leaves no context", "connection", seen == ("0", "0"), "" if seen == ("0", "0") else str(seen))
