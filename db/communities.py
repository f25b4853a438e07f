"""Communities as a write, a recall and an administrator reach them: notes of stale members, the published snapshot, the gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.community.gate import CommunityGate
from commonlore.domain.community.schedule import CommunitySchedule
from commonlore.domain.recall.community import CommunityRow, CommunitySeeds, SeededGroup
from commonlore.domain.recall.result import EntityRef
from commonlore.domain.tenancy.actor import Space

_SQL = statements("community")
# Relationships of each side of an entity that may seed communities.
FAN_OUT = 200


async def note_stale(transaction: TeamTransaction, relationship_ids: Sequence[UUID], *, now: datetime) -> None:
    """Note members of the published snapshot that no relationship says any more. The caller holds the ledger lock of the space."""
    await transaction.execute(_SQL["note_stale"], relationship_ids=list(relationship_ids), now=now)


# -- recall


async def seeded_groups(transaction: TeamTransaction, space: Space, snapshot_id: UUID, seeds: CommunitySeeds) -> list[SeededGroup] | None:
    """Where the seeds lie in the snapshot; None where it could not be read, with the transaction as it was."""
    rows: list[SeededGroup] = []
    async with _tried(transaction, space) as tried:
        cursor = await transaction.execute_tuples(
            _SQL["seeded"],
            snapshot_id=snapshot_id,
            group_keys=list(seeds.group_keys),
            evidence_ids=list(seeds.evidence_ids),
            relationship_ids=list(seeds.relationship_ids),
            entity_ids=list(seeds.entity_ids),
            fan_out=FAN_OUT,
        )
        rows = [SeededGroup._make(row) for row in await cursor.fetchall()]
    return None if tried.failed else rows


async def communities(
    transaction: TeamTransaction,
    space: Space,
    snapshot_id: UUID,
    numbers: Sequence[int],
    *,
    without: Sequence[str],
    most: int,
) -> list[CommunityRow] | None:
    """The communities of the numbers, each with at most `most` eligible members that are not among `without`; None as `seeded_groups`."""
    rows: list[CommunityRow] = []
    async with _tried(transaction, space) as tried:
        asked = await transaction.execute_tuples(
            _SQL["other_members"], snapshot_id=snapshot_id, community_nos=list(numbers), without=list(without), most=most
        )
        described = await transaction.execute(_SQL["described"], snapshot_id=snapshot_id, community_nos=list(numbers))
        members: dict[int, list[str]] = {}
        for number, key in await asked.fetchall():
            members.setdefault(number, []).append(key)
        rows = [_row(row, members.get(row["community_no"], ())) for row in await described.fetchall()]
    return None if tried.failed else rows


@dataclass(slots=True)
class _Tried:
    failed: bool = False


@asynccontextmanager
async def _tried(transaction: TeamTransaction, space: Space) -> AsyncIterator[_Tried]:
    """An optional read of one space: when a statement fails the transaction goes back to where it was, and the block ends as failed."""
    connection, tried = transaction.connection, _Tried()
    try:
        async with connection.pipeline():
            await connection.execute("savepoint communities")
            await transaction.enter(space.space_id)
            yield tried
    except psycopg.Error as error:
        if connection.closed or error.sqlstate == "57014":
            raise
        await connection.execute("rollback to savepoint communities")
        transaction.forget_space()
        tried.failed = True


def _row(row: dict[str, Any], member_keys: Sequence[str]) -> CommunityRow:
    return CommunityRow(
        community_no=row["community_no"],
        community_id=row["community_id"],
        logical_community_id=row["logical_community_id"],
        entities=tuple(EntityRef(entity_id=UUID(key), name=name) for key, name in row["entities"] or ()),
        predicates=tuple(row["top_predicates"]),
        quotes=tuple(row["quotes"] or ()),
        entity_count=row["entity_count"],
        relationship_count=row["member_count"],
        member_keys=tuple(member_keys),
    )


# -- administration


@dataclass(frozen=True, slots=True)
class CommunityState:
    """The open space as an administrator sees it. `gate` is None where communities were never switched on."""

    enabled: bool
    gate: CommunityGate | None
    schedule: CommunitySchedule
    relationships: int | None
    groups: int | None
    communities: int | None
    stale_members: int
    runs: list[dict[str, Any]]


async def read_state(transaction: TeamTransaction, *, runs: int) -> CommunityState:
    row = await (await transaction.execute(_SQL["read_gate"])).fetchone()
    assert row is not None
    gate = None
    if row["enabled"] is not None:
        gate = CommunityGate(row["snapshot_id"], row["published_at"], row["run_status"], row["stale_from"])
    return CommunityState(
        enabled=bool(row["enabled"]),
        gate=gate,
        schedule=CommunitySchedule(row["community_time_zone"], row["community_start_minute"]),
        relationships=row["relationship_count"],
        groups=row["group_count"],
        communities=row["community_count"],
        stale_members=row["stale_count"],
        runs=await (await transaction.execute(_SQL["latest_runs"], most=runs)).fetchall(),
    )


async def switch(transaction: TeamTransaction, *, enabled: bool, now: datetime) -> None:
    """Communities of the open space on or off."""
    await transaction.execute(_SQL["switch_gate"], enabled=enabled, now=now)


async def set_schedule(transaction: TeamTransaction, *, time_zone: str | None, start_minute: int | None) -> None:
    """The team's time of the day; what is None stays."""
    await transaction.execute(_SQL["set_schedule"], time_zone=time_zone, start_minute=start_minute)
