"""The one way to tenant rows: a transaction with the team fixed, and one space open at a time.

`commonlore.team_id` and `commonlore.space_epoch` are set here and nowhere else. Both end with the transaction, so a
pooled connection never carries a team to its next user; unset, every policy compares with null and shows nothing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncCursor, sql
from psycopg.pq import PipelineStatus
from psycopg.rows import DictRow, TupleRow, dict_row, tuple_row
from psycopg_pool import AsyncConnectionPool

from commonlore.db.acting import UNNAMED, current_act
from commonlore.db.audit import Record, add_entries
from commonlore.db.deadline import remaining_ms
from commonlore.db.errors import stating
from commonlore.db.pipeline import Asked, Connection, Pipeline
from commonlore.db.shares import KnownKeys, Shares
from commonlore.db.sql import statements
from commonlore.domain.audit.act import Noted, refusal_of
from commonlore.domain.errors import CommonloreError, Unauthenticated
from commonlore.domain.limits.policy import limits_of
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey, matches
from commonlore.domain.time import Clock, system_clock

log = logging.getLogger("commonlore.db")
_SQL = statements("session")
# admin_shutdown, crash_shutdown, database_dropped, idle_session_timeout
_SESSION_ENDED = frozenset({"57P01", "57P02", "57P04", "57P05"})
Begun = TypeVar("Begun")
Ahead = Callable[["TeamTransaction"], Awaitable[None]]
OWNER = "owner"  # the name of the pool by which the operator acts


class Pool(AsyncConnectionPool[Connection]):
    """Connections; which keys were seen to be valid, and how the teams share the connections."""

    known: KnownKeys
    shares: Shares


def make_pool(conninfo: str, *, size: int, name: str, vectors: bool = True, prepare: bool = True) -> Pool:
    """A closed pool of autocommit connections with dict rows; open it with `await pool.open()`.

    `vectors` lets them carry vectors; the role must then find the extension's types on its search path.

    Statements are prepared at their first use. Were it the sixth, psycopg would take a statement for prepared that a failed
    or cancelled pipeline never parsed, and the connection would refuse it for good. Without `prepare` none ever is, which a
    pooler in transaction mode needs: the next transaction has another server connection, which knows no statement of this one.
    """
    pool = Pool(
        conninfo,
        connection_class=Connection,
        min_size=min(2, size),
        max_size=size,
        timeout=5.0,
        max_waiting=200,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "application_name": f"commonlore-{name}",
            "prepare_threshold": 0 if prepare else None,
        },
        configure=register_vector_async if vectors else None,
        open=False,
        name=name,
    )
    pool.known, pool.shares = KnownKeys(), Shares(size)
    return pool


class TeamTransaction:
    """An open transaction of one team. `enter` opens a space; `execute` runs a statement with both locks bound.

    `noted`: what it says to the audit log beside what was asked.
    """

    def __init__(self, connection: Connection, team_id: UUID) -> None:
        self.connection = connection
        self.team_id = team_id
        self.epochs: dict[UUID, int] = {}
        self.space_epoch: int | None = None
        self.noted = Noted()
        self.began: datetime | None = None  # the instant at which the key was checked
        self._open_space: UUID | None = None
        self._pipeline: Pipeline | None = None

    def forget_space(self) -> None:
        """After a rollback to a savepoint the setting may be an older one: the next `enter` sets it again."""
        self._open_space = None

    async def enter(self, space_id: UUID) -> None:
        """Open one space for the statements that follow; the one that was open is closed.

        In a pipeline this costs no round trip of its own. The policies get the epoch from the database, the statements'
        own predicates from what authentication read: two locks with a key each.
        """
        if self._open_space == space_id:
            return
        self._open_space = space_id
        self.space_epoch = self.epochs.get(space_id)
        parameters = {"team_id": self.team_id, "space_id": space_id}
        if self._pipeline is not None:
            self._pipeline.ask_tuples(_SQL["enter_space"], parameters)
        else:
            await self.connection.execute(_SQL["enter_space"], parameters)

    async def enter_erased(self, erasure_id: UUID, space_epoch: int) -> None:
        """Open an epoch that an erasure of the team reaches into, ended or not; any other leaves all closed."""
        self._open_space = None
        self.space_epoch = space_epoch
        parameters = {"team_id": self.team_id, "erasure_id": erasure_id, "epoch": space_epoch}
        await self.connection.execute(_SQL["enter_erased"], parameters)

    def search_by_index(self, ef_search: int) -> None:
        """Let the searches by a vector index that follow in a pipeline keep that many candidates."""
        self.ask_tuples(_SQL["search_by_index"], ef_search=ef_search)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Pipeline]:
        """For statements that go out together, in one round trip: inside it `ask` and `enter` are those of the pipeline."""
        try:
            async with Pipeline(self.connection) as self._pipeline:
                yield self._pipeline
        finally:
            self._pipeline = None

    def send(self) -> None:
        """`Pipeline.send`."""
        assert self._pipeline is not None
        self._pipeline.send()

    def ask(self, statement: LiteralString, /, **parameters: object) -> Asked[DictRow]:
        """`execute` inside a pipeline."""
        assert self._pipeline is not None
        return self._pipeline.ask(statement, {"team_id": self.team_id, "space_epoch": self.space_epoch, **parameters})

    def ask_tuples(self, statement: LiteralString, /, **parameters: object) -> Asked[TupleRow]:
        """`execute_tuples` inside a pipeline."""
        assert self._pipeline is not None
        return self._pipeline.ask_tuples(statement, {"team_id": self.team_id, "space_epoch": self.space_epoch, **parameters})

    async def execute(self, statement: LiteralString | sql.Composed, /, **parameters: object) -> AsyncCursor[DictRow]:
        """Run one statement of `queries/`; `team_id` and `space_epoch` are added."""
        return await self.connection.execute(statement, {"team_id": self.team_id, "space_epoch": self.space_epoch, **parameters}, binary=True)

    async def execute_tuples(self, statement: LiteralString, /, **parameters: object) -> AsyncCursor[TupleRow]:
        """`execute` with plain tuples as rows."""
        cursor = self.connection.cursor(row_factory=tuple_row, binary=True)
        return await cursor.execute(statement, {"team_id": self.team_id, "space_epoch": self.space_epoch, **parameters})


@asynccontextmanager
async def team_transaction(pool: Pool, team_id: UUID, *, timeout_ms: int, snapshot: bool = False) -> AsyncIterator[TeamTransaction]:
    """A transaction that sees one team. `snapshot`: READ ONLY and REPEATABLE READ, so that every read sees one state.

    A statement may take as long as the request that is served has left, or `timeout_ms` where none is.
    What it writes is logged as the operator's act on the owner's pool, else where it noted what it decided.

    Raises:
        CommonloreError: any database error, stated.
    """

    async def begin(connection: Connection) -> TeamTransaction:
        async with Pipeline(connection) as pipeline:
            _begin(pipeline, team_id, timeout_ms=timeout_ms, snapshot=snapshot)
        return TeamTransaction(connection, team_id)

    async def end(transaction: TeamTransaction) -> None:
        act = replace(current_act() or UNNAMED, actor_kind="operator" if pool.name == OWNER else "worker")
        noted = transaction.noted
        logs = not snapshot and (pool.name == OWNER or noted.subjects)
        await _commit(transaction, Record(act, noted.with_those_of(act), system_clock(), is_certain=noted.is_logged) if logs else None)

    async with _begun(pool, begin, end) as (_, transaction):
        yield transaction


def _begin(pipeline: Pipeline, team_id: UUID, *, timeout_ms: int, snapshot: bool) -> None:
    pipeline.ask_tuples("begin isolation level repeatable read read only" if snapshot else "begin isolation level read committed")
    plans = "force_generic_plan" if snapshot else "force_custom_plan"
    pipeline.ask_tuples(_SQL["enter_team"], {"team_id": team_id, "timeout_ms": remaining_ms(timeout_ms), "plans": plans})


@asynccontextmanager
async def _begun(
    pool: Pool, begin: Callable[[Connection], Awaitable[Begun]], end: Callable[[Begun], Awaitable[None]]
) -> AsyncIterator[tuple[Connection, Begun]]:
    """A connection on which `begin` has run; `end` commits after the block, ROLLBACK on any other way out of it, cancellation included.

    A connection that the server closed while it lay in the pool is found out here, before anything happened, and replaced.
    """
    with stating():
        for spare in range(pool.max_size, -1, -1):
            async with pool.connection() as connection:
                try:
                    begun = await begin(connection)
                except psycopg.OperationalError as error:
                    if spare and _ended(connection, error):
                        await connection.close()
                        continue
                    raise
                except BaseException:
                    await _roll_back(connection)
                    raise
                try:
                    yield connection, begun
                    await end(begun)
                except BaseException:
                    await _roll_back(connection)
                    raise
                return


async def _commit(transaction: TeamTransaction, record: Record | None) -> None:
    """COMMIT, with the entries of the audit log in front of it in the same round trip."""
    connection = transaction.connection
    if record is None:
        async with Pipeline(connection) as pipeline:
            pipeline.ask_tuples("commit")
        return
    async with connection.pipeline():
        await add_entries(connection, transaction.team_id, record)
        await connection.execute("commit")


def _ended(connection: Connection, error: psycopg.Error) -> bool:
    """Whether the server has ended the session. It says so before it hangs up: the connection may not know yet."""
    return connection.closed or error.sqlstate in _SESSION_ENDED


async def _roll_back(connection: Connection) -> None:
    """A connection that was cut off while psycopg entered or left a pipeline stays half in it: the pool gets it closed."""
    if connection.closed:
        return
    if connection.pgconn.pipeline_status != PipelineStatus.OFF:
        await connection.close()
    else:
        await connection.execute("rollback")


@asynccontextmanager
async def actor_transaction(
    pool: Pool, key: PresentedKey, *, clock: Clock, timeout_ms: int, snapshot: bool = False, ahead: Ahead | None = None
) -> AsyncIterator[tuple[Actor, TeamTransaction]]:
    """`team_transaction` for the holder of a key, checked inside the same transaction: a revocation counts at once.

    The team has no more than its share of the pool (`db/shares.py`): never open one inside another.

    `ahead` asks more in the same round trip; where that fails it is as if it had not been asked.

    What it writes is logged as the act of that key. An administrator's act that is refused is logged in a transaction of its own.

    Raises:
        Unauthenticated: unknown, wrong, revoked and expired keys alike.
        Unavailable: `overloaded`, no connection became free in time.
    """
    act, actor = current_act() or UNNAMED, None

    async def opened(connection: Connection, ahead: Ahead | None) -> tuple[TeamTransaction, dict[str, Any] | None]:
        transaction = TeamTransaction(connection, key.team_id)
        async with transaction.pipeline() as pipeline:
            _begin(pipeline, key.team_id, timeout_ms=timeout_ms, snapshot=snapshot)
            transaction.began = clock()
            found = pipeline.ask(_SQL["authenticate"], {"team_id": key.team_id, "prefix": key.prefix, "now": transaction.began})
            if ahead is not None:
                await ahead(transaction)
            return transaction, await found.fetchone()

    async def begin(connection: Connection) -> tuple[TeamTransaction, dict[str, Any] | None]:
        if ahead is not None:
            try:
                return await opened(connection, ahead)
            except psycopg.Error as error:
                if _ended(connection, error) or error.sqlstate == "57014":
                    raise
                await _roll_back(connection)
        return await opened(connection, None)

    async def end(begun: tuple[TeamTransaction, dict[str, Any] | None]) -> None:
        transaction, _ = begun
        assert transaction.began is not None
        subjects = transaction.noted.with_those_of(act)
        record = Record(act, subjects, transaction.began, actor, is_certain=transaction.noted.is_logged)
        await _commit(transaction, None if snapshot else record)

    try:
        async with pool.shares.one(key.team_id if key in pool.known else None), _begun(pool, begin, end) as (_, (transaction, row)):
            pool.known.forget(key)
            actor = _actor(key, row)
            pool.known.note(key)
            transaction.epochs = {UUID(space[0]): space[3] for space in row["spaces"]} if row else {}
            yield actor, transaction
    except CommonloreError as error:
        outcome = refusal_of(error)
        if actor is not None and act.is_administrative and outcome is not None and not (snapshot and outcome == "refused"):
            await _log_refusal(pool, Record(act, act.subjects, clock(), actor, outcome, error.code), timeout_ms=timeout_ms)
        raise


async def _log_refusal(pool: Pool, record: Record, *, timeout_ms: int) -> None:
    """Written after the refused transaction was rolled back. Where the database does not take it the refusal stands all the same."""
    assert record.actor is not None
    try:
        async with team_transaction(pool, record.actor.team_id, timeout_ms=timeout_ms) as transaction:
            await add_entries(transaction.connection, transaction.team_id, replace(record, is_certain=True))
    except CommonloreError as error:
        log.error("an act that was refused could not be logged: correlation=%s %s", record.act.correlation, error.code)


def _actor(key: PresentedKey, row: dict[str, Any] | None) -> Actor:
    if not matches(key, bytes(row["secret_sha256"]) if row else None) or row is None or not row["valid"]:
        raise Unauthenticated("credential_invalid", "the key is unknown, expired or revoked")
    spaces = sorted(
        (Space(UUID(space_id), kind, name, has_content, can_write) for space_id, kind, name, _, has_content, can_write in row["spaces"]),
        key=lambda space: space.order,
    )
    return Actor(
        team_id=key.team_id,
        profile_id=row["profile_id"],
        credential_id=row["credential_id"],
        scopes=frozenset(row["scopes"]),
        spaces=tuple(spaces),
        unclaimed_evidence=row["unclaimed_evidence"],
        keeps_feedback=row["recall_feedback"],
        limits=limits_of(row["key_limits"], row["team_limits"], row["limit_ceiling"]),
    )


async def touch_credentials(pool: Pool, team_id: UUID, credential_ids: list[UUID], *, clock: Clock) -> None:
    """Note the last use of credentials, batched by the caller; never on a request's own path."""
    async with team_transaction(pool, team_id, timeout_ms=5_000) as transaction:
        parameters = {"team_id": team_id, "credential_ids": credential_ids, "now": clock()}
        await transaction.connection.execute(_SQL["touch_credentials"], parameters)
