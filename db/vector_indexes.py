"""Vector indexes of large spaces: what stands and what should, the building and dropping, and how much an index finds.

Searches are correct whatever stands: an index is used only while `commonlore.vector_index` says that it finds enough, and
where it is gone the same statement is exact. Building and dropping need the owner of the tables, so they have connections
of their own; everything else is the worker's role with the team set.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row, tuple_row

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.vector_index import IndexState, Overlap, Seen, VectorIndexPolicy, size_bucket

_SQL = statements("vector_index")
_WORKER = statements("worker")
_TIMEOUT_MS = 120_000
_MARK, _END = "/* and in one space: ", " */"
_BUILD_LOCK = 0x636F6D6D6F6E6C76  # "commonlv"; one building or dropping at a time in a database
_LOCK_TRIES, _LOCK_EVERY_S = 10, 0.1
# Memory of a build: the graph of that many rows, so that it is not written out on the way, within bounds.
_BYTES_PER_ROW, _LEAST_MB, _MOST_MB = 1_700, 64, 1_024


@lru_cache(maxsize=2_000)
def in_one_space(statement: LiteralString, team_id: UUID, space_epoch: int, generation: int = 0) -> LiteralString:
    """The statement with the literals of one space in place of each mark, so that a plan made once can use the space's index."""
    head, *rest = statement.split(_MARK)
    pieces = [piece.split(_END, 1) for piece in rest]
    made = head + "".join(f"and {_condition(f'{alias}.', team_id, space_epoch, generation)}{tail}" for alias, tail in pieces)
    return made


def _condition(alias: str, team_id: UUID, space_epoch: int, generation: int) -> str:
    """Whose rows an index holds. Only a uuid and whole numbers ever become text."""
    team, epoch, number = (sql.Literal(value).as_string(None) for value in (UUID(int=team_id.int), int(space_epoch), int(generation)))
    condition = f"{alias}team_id = {team} and {alias}space_epoch = {epoch}::bigint"
    return f"{condition} and {alias}generation = {number}::integer" if generation else condition


def index_name(seen: Seen, space_epoch: int) -> str:
    """A number names one space of one team between two fences, so the name is one of a kind."""
    return f"{_table(seen)}_near_{space_epoch}" + (f"_{seen.generation}" if seen.generation else "")


def _table(seen: Seen) -> str:
    return f"{seen.frontier}_vector_{seen.contract_id}"


@dataclass(frozen=True, slots=True)
class SpaceIndexes:
    """The indexes of one space, under the worker's role."""

    pool: Pool
    team_id: UUID
    space_id: UUID
    policy: VectorIndexPolicy

    async def read(self) -> list[Seen]:
        """Both frontiers as they stand; empty for a space that is gone."""
        async with self._open() as transaction:
            return await read_indexes(transaction) if transaction is not None else []

    async def note_building(self, seen: Seen) -> str | None:
        """Make searches exact before anything is built or dropped; the index's name, or None for a space that is gone."""
        async with self._open() as transaction:
            if transaction is None or transaction.space_epoch is None:
                return None
            name = index_name(seen, transaction.space_epoch)
            await transaction.execute(_SQL["note_building"], **_key(seen), index_name=name)
            return name

    async def forget(self, seen: Seen) -> None:
        async with self._open() as transaction:
            if transaction is not None:
                await transaction.execute(_SQL["forget_index"], **_key(seen))

    async def condition(self, seen: Seen) -> str | None:
        """What the index's rows have in common, as SQL; None for a space that is gone."""
        async with self._open() as transaction:
            if transaction is None or transaction.space_epoch is None:
                return None
            return _condition("", self.team_id, transaction.space_epoch, seen.generation)

    async def measure(self, seen: Seen, *, depth: int) -> Overlap | None:
        """The least depth of search that finds enough, and what it finds; each query in one state of the database. None where there is nothing to ask.

        A query is a mixture of two vectors that are stored, two parts to one: near to some, equal to none, and found about as
        well as real questions are (ADR 0027).
        """
        async with self._open() as transaction:
            queries = await _queries(transaction, seen, self.policy.queries) if transaction is not None else []
        shares: dict[int, list[float]] = {}
        for query in queries:
            async with self._open(snapshot=True) as transaction:
                if transaction is None:
                    return None
                for ef_search, share in (await self._shares(transaction, seen, query, depth)).items():
                    shares.setdefault(ef_search, []).append(share)
        found = [Overlap(int(1000 * sum(of_it) / len(of_it)), len(of_it), ef_search) for ef_search, of_it in shares.items()]
        return self.policy.least_that_finds_enough(found, seen.rows) if found else None

    async def _shares(self, transaction: TeamTransaction, seen: Seen, query: Vectors, depth: int) -> dict[int, float]:
        """Of one query, the share of the exact nearest that the index finds at each depth of search."""
        assert transaction.space_epoch is not None
        statement = of_contract(_SQL[f"nearest_{seen.frontier}"], seen.contract_id)
        indexed = in_one_space(statement, self.team_id, transaction.space_epoch, seen.generation)
        wanted = set((await _nearest(transaction, statement, seen, query, depth))[: self.policy.nearest])
        shares = {}
        for ef_search in self.policy.depths:
            async with transaction.pipeline():
                transaction.search_by_index(ef_search)
            near = set((await _nearest(transaction, indexed, seen, query, depth))[: self.policy.nearest])
            shares[ef_search] = len(wanted & near) / len(wanted) if wanted else 1.0
        return shares

    async def note_measured(self, seen: Seen, overlap: Overlap, state: IndexState, now: datetime) -> None:
        values = {"overlap": overlap.thousandths, "query_count": overlap.queries, "now": now}
        async with self._open() as transaction:
            if transaction is None:
                return
            await transaction.execute(_SQL["note_measured"], **_key(seen), **values, state=state, row_count=seen.rows, ef_search=overlap.ef_search)
            await transaction.execute(_SQL["keep_overlap"], frontier=seen.frontier, size_bucket=size_bucket(seen.rows), **values)

    @asynccontextmanager
    async def _open(self, *, snapshot: bool = False) -> AsyncIterator[TeamTransaction | None]:
        """A transaction with the space open; None where the space is gone."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS, snapshot=snapshot) as transaction:
            rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
            transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
            if self.space_id in transaction.epochs:
                await transaction.enter(self.space_id)
                yield transaction
            else:
                yield None


async def read_indexes(transaction: TeamTransaction) -> list[Seen]:
    """Both frontiers of the open space under the served contract, and what stands of others."""
    rows = await (await transaction.execute(_SQL["read_indexes"])).fetchall()
    return [
        Seen(
            row["frontier"],
            row["contract_id"],
            row["generation"],
            row["row_count"],
            row["is_valid"],
            row["state"],
            row["measured_rows"],
            row["measured_at"],
        )
        for row in rows
    ]


def _key(seen: Seen) -> dict[str, Any]:
    return {"frontier": seen.frontier, "contract_id": seen.contract_id, "generation": seen.generation}


async def _queries(transaction: TeamTransaction, seen: Seen, number: int) -> list[Vectors]:
    statement = of_contract(_SQL[f"sample_{seen.frontier}"], seen.contract_id)
    generation = {"generation": seen.generation} if seen.generation else {}
    vectors: list[Vectors] = []
    for place in (secrets.token_hex(6), "0" * 12):
        rows = await (await transaction.execute(statement, place=place, vectors=2 * number - len(vectors), **generation)).fetchall()
        vectors += [_floats(row["embedding"]) for row in rows]
    mixed = [2 * first + second for first, second in zip(vectors[::2], vectors[1::2], strict=False)]
    return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in mixed if np.any(vector)]


def _floats(embedding: HalfVector) -> Vectors:
    return np.asarray(embedding.to_numpy(), dtype=np.float32)


async def _nearest(transaction: TeamTransaction, statement: LiteralString, seen: Seen, query: Vectors, depth: int) -> list[tuple[object, ...]]:
    generation = {"generation": seen.generation} if seen.generation else {}
    cursor = await transaction.execute_tuples(statement, vector=as_halfvec(query), depth=depth, **generation)
    return await cursor.fetchall()


@dataclass(frozen=True, slots=True)
class IndexBuilder:
    """A connection as the owner of the tables, which alone may build and drop, and holds the lock of building."""

    connection: AsyncConnection[DictRow]
    conninfo: str

    async def build(self, name: str, seen: Seen, condition: str, policy: VectorIndexPolicy) -> None:
        """Build it beside everything that goes on; what an earlier try left is dropped first. Cut off, it leaves an index that is not valid."""
        await self.drop(name)
        memory = min(max(seen.rows * _BYTES_PER_ROW // 1_000_000, _LEAST_MB), _MOST_MB)
        await self.connection.execute(sql.SQL("set maintenance_work_mem = {}").format(sql.Literal(f"{memory}MB")))
        statement = (
            "create index concurrently {} on commonlore.{} using hnsw (embedding {}.halfvec_ip_ops) with (m = {}, ef_construction = {}) where "
        )
        schema = await self._vector_schema()
        composed = sql.SQL(statement).format(
            sql.Identifier(name),
            sql.Identifier(_table(seen)),
            sql.Identifier(schema),
            sql.Literal(policy.links),
            sql.Literal(policy.build_depth),
        )
        await self.connection.execute(composed + sql.SQL(condition))

    async def drop(self, name: str) -> None:
        await self.connection.execute(sql.SQL("drop index concurrently if exists commonlore.{}").format(sql.Identifier(name)))

    async def built(self) -> int:
        """Rows that the present build has taken in."""
        connection = await AsyncConnection.connect(self.conninfo, autocommit=True, row_factory=tuple_row)
        async with connection:
            pid = self.connection.info.backend_pid
            row = await (
                await connection.execute("select tuples_done from pg_catalog.pg_stat_progress_create_index where pid = %s::int", (pid,))
            ).fetchone()
            return int(row[0] or 0) if row else 0

    async def standing(self) -> dict[str, int]:
        """Every index of a space by name, with the number of the space."""
        rows = await (
            await self.connection.execute(
                r"select c.relname, substring(c.relname from '_near_(\d+)')::bigint as space_epoch from pg_catalog.pg_class c "
                r"where c.relnamespace = 'commonlore'::regnamespace and c.relkind = 'i' and c.relname ~ '^[a-z]+_vector_\d+_near_\d+(_\d+)?$' "
                "order by c.relname"
            )
        ).fetchall()
        return {row["relname"]: row["space_epoch"] for row in rows}

    async def _vector_schema(self) -> str:
        row = await (
            await self.connection.execute(
                "select n.nspname from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'"
            )
        ).fetchone()
        assert row is not None
        return str(row["nspname"])


@asynccontextmanager
async def index_builder(owner_conninfo: str) -> AsyncIterator[IndexBuilder | None]:
    """The one builder of a database; None while another one builds, which is looked at for a second: dropping an index takes no longer.

    The lock is tried, never waited for: whoever waits holds a snapshot, and building waits for every snapshot.

    Raises:
        CommonloreError: any database error, stated.
    """
    with stating():
        connection = await AsyncConnection.connect(owner_conninfo, autocommit=True, row_factory=dict_row, application_name="commonlore-index")
        async with connection:
            await connection.execute("set role commonlore_owner")
            # Old transactions are waited for, but not for ever; whoever is killed leaves no backend that goes on building.
            await connection.execute("set statement_timeout = 0")
            await connection.execute("set lock_timeout = '15min'")
            await connection.execute("set client_connection_check_interval = '5s'")
            await connection.execute("set max_parallel_maintenance_workers = 0")
            for _ in range(_LOCK_TRIES):
                row = await (await connection.execute("select pg_try_advisory_lock(%s::bigint) as is_ours", (_BUILD_LOCK,))).fetchone()
                if row is not None and row["is_ours"]:
                    yield IndexBuilder(connection, owner_conninfo)
                    return
                await asyncio.sleep(_LOCK_EVERY_S)
            yield None
