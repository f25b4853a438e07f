"""Which texts were recalled shortly before, and which new ones quote them: in the process at once, in the database by batches.

A recall only notes ids in memory. Another process learns of them with the next batch, so an echo that is stored there within
that time is missed; so is one after a crash that lost a batch. What is lost is a warning, never a text.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from commonlore.db.backlog import open_space
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ledger.echo import MOST_CHARS, MOST_RECALLED, RETENTION_S, Echo, Recalled, find_echoes, runs_of
from commonlore.domain.tenancy.actor import Actor, Space

_SQL = statements("echo")
_MOST_TEAMS = 1_000
_MOST_WAITING = 10 * MOST_RECALLED
_MOST_KNOWN, _MOST_RUNS = 5_000, 500_000


@dataclass(slots=True)
class RecentRecalls:
    """What this process recalled. Bounded: ids of `MOST_RECALLED` texts a team, and the runs of some texts that were compared."""

    _ids: OrderedDict[UUID, OrderedDict[UUID, datetime]] = field(default_factory=OrderedDict)
    _waiting: dict[UUID, dict[UUID, datetime]] = field(default_factory=dict)
    _spaces: dict[UUID, set[UUID]] = field(default_factory=dict)
    _runs: OrderedDict[UUID, frozenset[int]] = field(default_factory=OrderedDict)
    _kept_runs: int = 0

    def note(self, actor: Actor, evidence_ids: Iterable[UUID], now: datetime) -> None:
        """A recall returned these texts. No I/O."""
        ids = self._ids.setdefault(actor.team_id, OrderedDict())
        self._ids.move_to_end(actor.team_id)
        waiting = self._waiting.setdefault(actor.team_id, {})
        for key in evidence_ids:
            ids[key] = waiting[key] = now
            ids.move_to_end(key)
        while len(ids) > MOST_RECALLED:
            ids.popitem(last=False)
        while len(waiting) > _MOST_WAITING:
            del waiting[next(iter(waiting))]
        self._spaces.setdefault(actor.team_id, set()).update(space.space_id for space in actor.spaces_to_read)
        while len(self._ids) > _MOST_TEAMS:
            team_id, _ = self._ids.popitem(last=False)
            self._waiting.pop(team_id, None)
            self._spaces.pop(team_id, None)

    def of(self, team_id: UUID, since: datetime) -> list[UUID]:
        return [key for key, noted in self._ids.get(team_id, {}).items() if noted >= since]

    def known(self, evidence_ids: Iterable[UUID]) -> dict[UUID, frozenset[int]]:
        """The runs of those texts whose runs are at hand."""
        return {key: self._runs[key] for key in evidence_ids if key in self._runs}

    def learn(self, made: Mapping[UUID, frozenset[int]]) -> None:
        """Keep the runs of texts, which never change, for the next time."""
        for key, runs in made.items():
            if key not in self._runs:
                self._runs[key] = runs
                self._kept_runs += len(runs)
        while len(self._runs) > _MOST_KNOWN or (self._kept_runs > _MOST_RUNS and len(self._runs) > 1):
            self._kept_runs -= len(self._runs.popitem(last=False)[1])

    async def flush(self, pool: Pool, now: datetime) -> None:
        """Keep what was noted since the last time, for other processes, and forget what is too old.

        Raises:
            CommonloreError: the database did not take what is of one team. It comes last the next time, after those that were not reached.
        """
        for team_id in list(self._waiting):
            noted, spaces = self._waiting.pop(team_id, {}), self._spaces.pop(team_id, set())
            try:
                await _keep_recalled(pool, team_id, spaces, noted, now)
            except CommonloreError:
                if team_id in self._ids:
                    self._waiting[team_id] = noted | self._waiting.pop(team_id, {})
                    self._spaces.setdefault(team_id, set()).update(spaces)
                raise


async def _keep_recalled(pool: Pool, team_id: UUID, space_ids: Collection[UUID], noted: Mapping[UUID, datetime], now: datetime) -> None:
    async with team_transaction(pool, team_id, timeout_ms=5_000) as transaction:
        for space_id in sorted(space_ids):
            if await open_space(transaction, space_id):
                await transaction.execute(_SQL["keep_recalled"], evidence_ids=list(noted), instants=list(noted.values()))
                await transaction.execute(_SQL["forget_recalled"], before=now - timedelta(seconds=RETENTION_S))


@dataclass(frozen=True, slots=True)
class ReadRecalls:
    """`RecalledTexts`: as they were read, and how those begin whose runs are still to be made. Empty, it compares with nothing."""

    recent: RecentRecalls
    texts: list[Recalled] = field(default_factory=list)
    begins: dict[UUID, str] = field(default_factory=dict)

    async def find_echoes(self, texts: Sequence[Sequence[int]]) -> Mapping[int, Echo]:
        if not self.texts:
            return {}
        echoes, made = await asyncio.to_thread(self._compare, texts)
        self.recent.learn(made)
        return echoes

    def _compare(self, texts: Sequence[Sequence[int]]) -> tuple[Mapping[int, Echo], dict[UUID, frozenset[int]]]:
        made = {key: frozenset(runs_of(begin)) for key, begin in self.begins.items()}
        return find_echoes(texts, [replace(item, runs=made.get(item.evidence_id, item.runs)) for item in self.texts]), made


async def read_recalled(transaction: TeamTransaction, actor: Actor, target: Space, recent: RecentRecalls, now: datetime) -> ReadRecalls:
    """What was recalled within the last day in the spaces that the actor reads. The target space is open afterwards."""
    since = now - timedelta(seconds=RETENTION_S)
    ids, read = recent.of(actor.team_id, since), ReadRecalls(recent)
    for space in [item for item in actor.spaces_to_read if item.has_content]:
        await transaction.enter(space.space_id)
        cursor = await transaction.execute(_SQL["read_recalled"], since=since, most=MOST_RECALLED, evidence_ids=ids)
        groups = {row["evidence_id"]: row["source_group_key"] for row in await cursor.fetchall()}
        known = recent.known(groups)
        is_target = space.space_id == target.space_id
        read.texts.extend(Recalled(key, group, is_target, known.get(key, frozenset())) for key, group in groups.items())
        if len(known) < len(groups):
            cursor = await transaction.execute(_SQL["read_begins"], evidence_ids=[key for key in groups if key not in known], chars=MOST_CHARS)
            read.begins.update({row["evidence_id"]: row["begins"] for row in await cursor.fetchall()})
    await transaction.enter(target.space_id)
    return read


async def keep_echoes(transaction: TeamTransaction, echoes: Mapping[UUID, Echo], now: datetime) -> None:
    """Keep of new texts, by their ids, what they are echoes of."""
    rows: Sequence[dict[str, object]] = [
        {
            "evidence_id": key,
            "echoed_evidence_id": echo.kept_id,
            "source_group_key": echo.source_group_key,
        }
        for key, echo in sorted(echoes.items())
    ]
    await transaction.execute(_SQL["keep_echoes"], rows=msgspec.json.encode(rows).decode(), now=now)
