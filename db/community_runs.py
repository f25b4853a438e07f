"""Runs of detection in one space, under the worker's role: read one state of it, write a snapshot, publish it.

Every step is a transaction of its own but the publication, which is one: rows, the ledger lock of the space, the source mark
read again, members that stopped counting meanwhile, the gate. Whoever recalls sees all of it or nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.community.describe import CommunityRecord
from commonlore.domain.community.gate import RunStatus
from commonlore.domain.community.schedule import CommunitySchedule
from commonlore.domain.community.source import CommunitySource, SourceRelationship, SourceSupport
from commonlore.domain.ids import new_id

_SQL = statements("community_run")
_WORKER = statements("worker")
_LEDGER = statements("ledger")
_TIMEOUT_MS = 120_000
_MEMBERS_A_STATEMENT = 20_000


class SpaceGone(Exception):
    """The space was fenced, or is no longer active: nothing of this run belongs anywhere."""


class SwitchedOff(Exception):
    """Communities were switched off while the run went on."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much one state of a space holds, and the mark that tells it from every other."""

    mark: bytes
    relationships: int
    supports: int


@dataclass(frozen=True, slots=True)
class Published:
    """What the gate of a space names; all None where nothing is published."""

    snapshot_id: UUID | None
    configuration: str | None
    mark: bytes | None


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a run came to know before it ended."""

    mark: bytes | None = None
    relationships: int | None = None
    groups: int | None = None
    ties: int | None = None
    communities: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is to be published."""

    source: CommunitySource
    configuration: str
    records: Sequence[CommunityRecord]


@dataclass(frozen=True, slots=True)
class SpaceRuns:
    """The runs of one space between two fences."""

    pool: Pool
    team_id: UUID
    space_id: UUID
    space_epoch: int

    @asynccontextmanager
    async def _open(self, *, snapshot: bool = False) -> AsyncIterator[TeamTransaction]:
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS, snapshot=snapshot) as transaction:
            if await _epoch(transaction, self.space_id) != self.space_epoch:
                raise SpaceGone
            await transaction.enter(self.space_id)
            yield transaction

    async def begin(self, *, configuration: str, now: datetime) -> UUID | None:
        """The id of a new run; None where communities are off. The caller holds the lock of the space."""
        async with self._open() as transaction:
            row = await (await transaction.execute(_SQL["last_begun"])).fetchone()
            if row is None:
                return None
            await transaction.execute(_SQL["end_abandoned"], now=now)
            reason = "scheduled" if _is_due(await _schedule(transaction), row["begun"], now) else "requested"
            run_id = new_id()
            await transaction.execute(_SQL["begin_run"], run_id=run_id, reason=reason, configuration=configuration, now=now)
            await transaction.execute(_SQL["state_run"], status="running")
            return run_id

    async def end(self, run_id: UUID, status: RunStatus, *, now: datetime, counts: RunCounts, error_code: str | None = None) -> None:
        """Nothing was published; what was before goes on."""
        async with self._open() as transaction:
            await self._end(transaction, run_id, status, counts, now, error_code)
            await transaction.execute(_SQL["state_run"], status=status)

    async def _end(
        self, transaction: TeamTransaction, run_id: UUID, status: RunStatus, counts: RunCounts, now: datetime, error_code: str | None = None
    ) -> None:
        await transaction.execute(
            _SQL["end_run"],
            run_id=run_id,
            status=status,
            error_code=error_code,
            now=now,
            source_mark=counts.mark,
            relationship_count=counts.relationships,
            group_count=counts.groups,
            tie_count=counts.ties,
            community_count=counts.communities,
        )

    async def measure(self) -> tuple[Extent, Published]:
        """What there is, and what is published; before anything large is read."""
        async with self._open(snapshot=True) as transaction:
            row = await (await transaction.execute(_SQL["read_published"])).fetchone()
            if row is None:
                raise SpaceGone
            published = Published(row["snapshot_id"], row["configuration"], None if row["source_mark"] is None else bytes(row["source_mark"]))
            return await _extent(transaction), published

    async def read_source(self) -> CommunitySource:
        """One state of the space's relationships."""
        async with self._open(snapshot=True) as transaction:
            mark = (await _extent(transaction)).mark
            relationships = await (await transaction.execute_tuples(_SQL["source_relationships"])).fetchall()
            supports = await (await transaction.execute_tuples(_SQL["source_supports"])).fetchall()
        return CommunitySource.of(mark, map(SourceRelationship._make, relationships), map(SourceSupport._make, supports))

    async def earlier(self, snapshot_id: UUID | None) -> dict[UUID, frozenset[str]]:
        """The groups of a snapshot's communities by logical id."""
        found: dict[UUID, set[str]] = defaultdict(set)
        if snapshot_id is not None:
            async with self._open(snapshot=True) as transaction:
                for name, key in await (await transaction.execute_tuples(_SQL["earlier_members"], snapshot_id=snapshot_id)).fetchall():
                    found[name].add(key)
        return {name: frozenset(keys) for name, keys in found.items()}

    async def publish(self, run_id: UUID, snapshot: Snapshot, *, now: datetime, counts: RunCounts) -> UUID:
        """Write the snapshot and let recalls read it; its id.

        The writers of the space wait only while the source mark is read again and members that stopped counting are noted.

        Raises:
            SwitchedOff: nothing was written.
        """
        snapshot_id = new_id()
        async with self._open() as transaction:
            await self._write(transaction, snapshot_id, run_id, snapshot, now)
            await transaction.execute(_LEDGER["lock_ledger"])
            stale = False
            if (await _extent(transaction)).mark != snapshot.source.mark:
                row = await (await transaction.execute(_SQL["note_changed"], snapshot_id=snapshot_id, now=now)).fetchone()
                stale = row is not None and row["gone"] > 0
            cursor = await transaction.execute(_SQL["publish"], snapshot_id=snapshot_id, now=now, stale_from=now if stale else None)
            if await cursor.fetchone() is None:
                raise SwitchedOff
            await self._end(transaction, run_id, "completed", counts, now)
        return snapshot_id

    async def _write(self, transaction: TeamTransaction, snapshot_id: UUID, run_id: UUID, snapshot: Snapshot, now: datetime) -> None:
        records, source = snapshot.records, snapshot.source
        rows = [{"community_no": number, **_row(record)} for number, record in enumerate(records, start=1)]
        members = [(key, number, place) for number, record in enumerate(records, start=1) for place, key in enumerate(record.group_keys, start=1)]
        members.sort()
        async with transaction.pipeline():
            transaction.ask_tuples(
                _SQL["insert_snapshot"],
                snapshot_id=snapshot_id,
                run_id=run_id,
                configuration=snapshot.configuration,
                source_mark=source.mark,
                relationship_count=len(source.relationships),
                group_count=len(source.group_keys),
                community_count=len(records),
                now=now,
            )
            transaction.ask_tuples(_SQL["insert_communities"], snapshot_id=snapshot_id, rows=msgspec.json.encode(rows).decode())
            for start in range(0, len(members), _MEMBERS_A_STATEMENT):
                keys, numbers, places = zip(*members[start : start + _MEMBERS_A_STATEMENT], strict=True)
                transaction.ask_tuples(
                    _SQL["insert_members"], snapshot_id=snapshot_id, group_keys=list(keys), community_nos=list(numbers), places=list(places)
                )

    async def prune(self) -> int:
        """Remove snapshots older than the one before the published one, and old runs; how many snapshots went."""
        async with self._open() as transaction:
            old = [row["snapshot_id"] for row in await (await transaction.execute(_SQL["old_snapshots"])).fetchall()]
            if old:
                for statement in ("forget_stale", "forget_members", "forget_communities", "forget_snapshots"):
                    await transaction.execute(_SQL[statement], snapshot_ids=old)
            await transaction.execute(_SQL["forget_runs"])
        return len(old)


@asynccontextmanager
async def exclusive(pool: Pool, team_id: UUID, space_id: UUID) -> AsyncIterator[SpaceRuns | None]:
    """The space for one run at a time; None while another one goes on, or where there is no such space.

    The lock is that of a transaction that stays open for the length of the block, so it ends with its worker.
    """
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        epoch = await _epoch(transaction, space_id)
        if epoch is None:
            yield None
            return
        await transaction.enter(space_id)
        row = await (await transaction.execute(_SQL["lock_run"])).fetchone()
        yield SpaceRuns(pool, team_id, space_id, epoch) if row is not None and row["is_ours"] else None


async def due_spaces(transaction: TeamTransaction, now: datetime) -> list[UUID]:
    """Spaces of the team whose window opened and that had no run since; by id."""
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    schedule = await _schedule(transaction)
    due = []
    for space_id in transaction.epochs:
        await transaction.enter(space_id)
        row = await (await transaction.execute(_SQL["last_begun"])).fetchone()
        if row is not None and _is_due(schedule, row["begun"], now):
            due.append(space_id)
    return due


async def active_teams(pool: Pool) -> list[UUID]:
    with stating():
        async with pool.connection() as connection:
            return [row["team_id"] for row in await (await connection.execute(_WORKER["list_teams"])).fetchall()]


def _is_due(schedule: CommunitySchedule, begun: datetime | None, now: datetime) -> bool:
    return begun is None or begun < schedule.begins(schedule.latest_window(now))


async def _schedule(transaction: TeamTransaction) -> CommunitySchedule:
    row = await (await transaction.execute(_SQL["read_schedule"])).fetchone()
    return CommunitySchedule(row["community_time_zone"], row["community_start_minute"]) if row else CommunitySchedule()


async def _extent(transaction: TeamTransaction) -> Extent:
    row = await (await transaction.execute(_SQL["source_mark"])).fetchone()
    assert row is not None
    return Extent(bytes(row["mark"]), row["relationships"], row["supports"])


async def _epoch(transaction: TeamTransaction, space_id: UUID) -> int | None:
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return transaction.epochs.get(space_id)


def _row(record: CommunityRecord) -> dict[str, object]:
    return {
        "community_id": record.community_id,
        "logical_community_id": record.logical_community_id,
        "group_count": len(record.group_keys),
        "relationship_count": record.relationship_count,
        "entity_count": record.entity_count,
        "top_entity_ids": record.top_entity_ids,
        "top_predicates": record.top_predicates,
        "quote_support_ids": record.quote_support_ids,
    }
