"""`RecallSnapshot` over PostgreSQL: one READ ONLY, REPEATABLE READ transaction, one space open at a time."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from commonlore.db.communities import communities, seeded_groups
from commonlore.db.conflict_views import touched_cases
from commonlore.db.errors import stated
from commonlore.db.frontier import Frontier
from commonlore.db.histories import matching_histories
from commonlore.db.hypotheses import touched_hypotheses
from commonlore.db.last_read import SpacesLastRead
from commonlore.db.pipeline import Asked
from commonlore.db.recall_rows import by_group, evidence_row, relationship_row, space_statistics
from commonlore.db.residence import Residence
from commonlore.db.resident_reading import WordCounts
from commonlore.db.search_parameters import view_parameters
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.statements import FRONTIER, HISTORY, HYDRATE, STATISTICS_WITHOUT_WORDS
from commonlore.domain.conflict.view import CaseRow
from commonlore.domain.errors import CommonloreError, Fault
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.recall.community import CommunityRow, CommunitySeeds, SeededGroup
from commonlore.domain.recall.context import part_numbers
from commonlore.domain.recall.eligibility import RelationshipHistory
from commonlore.domain.recall.filters import NO_FILTER
from commonlore.domain.recall.hypothesis import HypothesisRow, Touched
from commonlore.domain.recall.plan import QueryVector, RecallIntent, RetrievalPlan, SpacePlan, SpaceStatistics
from commonlore.domain.recall.result import EvidenceRow, RelationshipRow
from commonlore.domain.recall.snapshot import EvidenceBranches, Fetched, Foresight, KnownCoverage
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock, TemporalView


@asynccontextmanager
async def recall_snapshot(
    pool: Pool,
    key: PresentedKey,
    *,
    clock: Clock,
    timeout_ms: int,
    intent: RecallIntent | None = None,
    last_read: SpacesLastRead | None = None,
    residence: Residence | None = None,
    vector: Awaitable[QueryVector] | None = None,
) -> AsyncIterator[PostgresRecallSnapshot]:
    """One state of the database for the holder of a key. With an intent its statistics are read ahead, where the spaces are those of last time;
    meanwhile the process looks at what it keeps of them, where the vector is there.

    Raises:
        Unauthenticated: the key is not valid.
    """
    known = last_read.of(key) if last_read is not None and intent is not None else ()
    asked: dict[TeamTransaction, tuple[Frontier, list[Asked[DictRow]]]] = {}

    async def ahead(transaction: TeamTransaction) -> None:
        assert intent is not None
        transaction.epochs = {space.space_id: epoch for space, epoch in known if epoch is not None}
        transaction.ask_tuples("savepoint branches")
        frontier, statistics = Frontier(transaction, residence), []
        for space, _ in known:
            statistics.append(await _ask_statistics(transaction, intent, space))
            if intent.view.is_present and intent.filter is NO_FILTER:
                frontier.ask_ahead(intent.terms)
        asked[transaction] = frontier, statistics
        if vector is not None:
            await frontier.look_ahead(vector)

    async with actor_transaction(pool, key, clock=clock, timeout_ms=timeout_ms, snapshot=True, ahead=ahead if known else None) as (
        actor,
        transaction,
    ):
        spaces = tuple((space, transaction.epochs.get(space.space_id)) for space in actor.spaces_to_read)
        if transaction in asked and spaces == known:
            frontier, statistics = asked[transaction]
            snapshot = PostgresRecallSnapshot(actor, transaction, frontier)
            snapshot.statistics_ahead = list(zip(actor.spaces_to_read, statistics, strict=True))
        else:
            snapshot = PostgresRecallSnapshot(actor, transaction, Frontier(transaction, residence))
            transaction.forget_space()
        if last_read is not None:
            last_read.note(key, spaces)
        yield snapshot


async def _ask_statistics(
    transaction: TeamTransaction, intent: RecallIntent, space: Space, statement: LiteralString = FRONTIER["read_statistics"]
) -> Asked[DictRow]:
    await transaction.enter(space.space_id)
    return transaction.ask(statement, terms=list(intent.terms))


class PostgresRecallSnapshot:
    """`RecallSnapshot` inside one transaction."""

    def __init__(self, actor: Actor, transaction: TeamTransaction, frontier: Frontier) -> None:
        self.actor = actor
        self._transaction = transaction
        self._frontier = frontier
        self._generation = 1
        self.lost_spaces: set[UUID] = set()
        self.statistics_ahead: list[tuple[Space, Asked[DictRow]]] = []
        # Rows of groups that were read before they were asked for, none for one without members.
        self._ahead: dict[Space, dict[str, list[DictRow]]] = {}
        self._rows_ahead: RowsAhead | None = None

    def narrow(self, names: Sequence[str]) -> None:
        """From here on the caller has no other spaces than these.

        Raises:
            Incorrect, NotVisible: as `Actor.only`.
        """
        self.actor = self.actor.only(names)
        self.statistics_ahead = [found for found in self.statistics_ahead if found[0] in self.actor.spaces]

    async def read_statistics(self, intent: RecallIntent) -> list[tuple[Space, SpaceStatistics]]:
        """A private space that cannot be read is left out; the shared one must be read.

        Raises:
            CommonloreError: the team's shared space could not be read.
        """
        spaces = self.actor.spaces_to_read
        try:
            if asked := self.statistics_ahead:
                found = [(space, self._statistics(space, await _one(one))) for space, one in asked]
            else:
                async with self._transaction.pipeline():
                    self._transaction.ask_tuples("savepoint branches")
                    asked = [(space, await _ask_statistics(self._transaction, intent, space)) for space in spaces]
                    found = [(space, self._statistics(space, await _one(one))) for space, one in asked]
        except psycopg.Error as error:
            await self._recover(error)
            found = [(space, alone) for space in spaces if (alone := await self._statistics_alone(intent, space)) is not None]
        self._generation = found[0][1].generation if found else 1
        return found

    async def _statistics_alone(self, intent: RecallIntent, space: Space) -> SpaceStatistics | None:
        """Without the words of relationships where those cannot be counted: that lane is then stated as missing."""
        try:
            async with self._transaction.pipeline():
                return self._statistics(space, await _one(await _ask_statistics(self._transaction, intent, space)))
        except psycopg.Error as error:
            await self._recover(error)
        try:
            async with self._transaction.pipeline():
                row = await _one(await _ask_statistics(self._transaction, intent, space, STATISTICS_WITHOUT_WORDS))
            return replace(self._statistics(space, row), relationships_failed=True)
        except psycopg.Error as error:
            if space.public_kind == "team_shared" or self._transaction.connection.closed or error.sqlstate == "57014":
                raise stated(error) from error
            await self._return_to("branches")
            self.lost_spaces.add(space.space_id)
            return None

    def _statistics(self, space: Space, row: DictRow) -> SpaceStatistics:
        self._frontier.note_words(space.space_id, WordCounts.of(row["part_words"]), WordCounts.of(row["document_words"]))
        return space_statistics(row)

    async def _return_to(self, savepoint: LiteralString) -> None:
        await self._transaction.connection.execute(f"rollback to savepoint {savepoint}")
        self._transaction.forget_space()

    async def fetch(
        self, plan: RetrievalPlan, vector: Awaitable[QueryVector], *, depth: int, foresight: Foresight | None = None
    ) -> dict[UUID, Fetched]:
        ahead = self._rows_ahead = RowsAhead(self, plan.intent, foresight) if foresight is not None else None
        found = await self._frontier.fetch(plan, vector, depth=depth, rows=ahead)
        if ahead is not None:
            ahead.found = found
        return found

    async def hydrate_evidence(self, intent: RecallIntent, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]]) -> dict[UUID, EvidenceRow]:
        ahead, self._rows_ahead = self._rows_ahead, None
        if ahead is not None and ahead.is_read(wanted):
            rows = [row for asked in ahead.evidence for row in await asked.fetchall()]
        else:
            ask_groups = ahead.ask_groups_late if ahead is not None else None
            rows = await self._hydrated(wanted, lambda space: self.ask_evidence(intent, wanted[space]), ask_groups)
        for space, groups, asked in ahead.groups if ahead is not None else ():
            if asked.is_read:
                self._ahead[space] = by_group(groups, await asked.fetchall())
        return {row["evidence_id"]: evidence_row(row) for row in rows}

    def send(self) -> None:
        """As the transaction's."""
        self._transaction.send()

    async def enter(self, space: Space) -> None:
        """As the transaction's."""
        await self._transaction.enter(space.space_id)

    def ask_evidence(self, intent: RecallIntent, hits: Mapping[UUID, Sequence[int]]) -> Asked[DictRow]:
        """Of the open space, in a pipeline."""
        pairs = [(key, number) for key, numbers in hits.items() for number in part_numbers(numbers, _MANY)]
        return self._transaction.ask(
            _rows_in(intent.view)["hydrate_evidence"],
            **view_parameters(intent.view),
            withheld=self.actor.unclaimed_evidence == "withheld",
            equivalents=_EQUIVALENTS + 1,
            evidence_ids=list(hits),
            wanted_ids=[key for key, _ in pairs],
            wanted_parts=[number for _, number in pairs],
        )

    def ask_groups(self, intent: RecallIntent, groups: Sequence[str]) -> Asked[DictRow]:
        """As `ask_evidence`."""
        parameters = {**view_parameters(intent.view), "groups": list(groups), "generation": self._generation}
        return self._transaction.ask(_rows_in(intent.view)["hydrate_groups"], **parameters)

    async def read_known(self, intent: RecallIntent, spaces: Sequence[Space]) -> KnownCoverage:
        if not (intent.known_evidence_ids or intent.known_relationship_ids):
            return KnownCoverage(frozenset())
        known = {"evidence_ids": list(intent.known_evidence_ids), "relationship_ids": list(intent.known_relationship_ids)}

        def ask(_: Space) -> Asked[DictRow]:
            return self._transaction.ask(_rows_in(intent.view)["read_known"], **view_parameters(intent.view), **known)

        return KnownCoverage(frozenset(row["semantic_group_key"] for row in await self._hydrated(spaces, ask)))

    async def read_conflicts(
        self, intent: RecallIntent, spaces: Sequence[Space], evidence_ids: Sequence[UUID], *, most: int
    ) -> list[tuple[Space, CaseRow]]:
        try:
            return await touched_cases(self._transaction, intent.view, spaces, evidence_ids, most=most)
        except psycopg.Error as error:
            await self._recover(error)
        found: list[tuple[Space, CaseRow]] = []
        for space in spaces:
            with contextlib.suppress(_PrivatePartLost):
                async with self._alone(space):
                    found += await touched_cases(self._transaction, intent.view, [space], evidence_ids, most=most)
        return found

    async def read_seeded(self, space: Space, snapshot_id: UUID, seeds: CommunitySeeds) -> list[SeededGroup] | None:
        return await seeded_groups(self._transaction, space, snapshot_id, seeds)

    async def read_communities(
        self, space: Space, snapshot_id: UUID, numbers: Sequence[int], *, without: Sequence[str], most: int
    ) -> list[CommunityRow] | None:
        return await communities(self._transaction, space, snapshot_id, numbers, without=without, most=most)

    async def read_hypotheses(self, space: Space, touched: Touched, *, most: int) -> list[HypothesisRow] | None:
        return await touched_hypotheses(self._transaction, space, touched, most=most)

    async def hydrate_groups(self, intent: RecallIntent, wanted: Mapping[Space, Sequence[str]]) -> dict[str, list[RelationshipRow]]:
        found: dict[str, list[DictRow]] = {}
        others: dict[Space, list[str]] = {}
        for space, groups in wanted.items():
            ahead = self._ahead.get(space, {})
            found |= {group: ahead[group] for group in groups if group in ahead}
            if missing := [group for group in groups if group not in ahead]:
                others[space] = missing
        for row in await self._hydrated(others, lambda space: self.ask_groups(intent, others[space])) if others else ():
            found.setdefault(row["semantic_group_key"], []).append(row)
        return {group: [relationship_row(row) for row in rows] for group, rows in found.items()}

    async def read_histories(
        self, intent: RecallIntent, space_plan: SpacePlan, embedded: QueryVector, *, known: Collection[UUID], most: int
    ) -> list[RelationshipHistory]:
        try:
            return await matching_histories(self._transaction, intent, space_plan, embedded, known=known, most=most)
        except psycopg.Error as error:
            await self._recover(error)
            return []  # the lane that reads the same tables is stated as missing

    async def _hydrated(
        self, spaces: Iterable[Space], ask: Callable[[Space], Asked[DictRow]], ask_beside: Callable[[], Awaitable[None]] | None = None
    ) -> list[DictRow]:
        """The rows of every space, asked together; when a statement fails, of each alone, and nothing beside."""
        wanted = list(spaces)
        try:
            async with self._transaction.pipeline():
                asked = []
                for space in wanted:
                    await self._transaction.enter(space.space_id)
                    asked.append(ask(space))
                if ask_beside is not None:
                    await ask_beside()
                return [row for one in asked for row in await one.fetchall()]
        except psycopg.Error as error:
            await self._recover(error)
        rows: list[DictRow] = []
        for space in wanted:
            with contextlib.suppress(_PrivatePartLost):
                async with self._alone(space), self._transaction.pipeline():
                    await self._transaction.enter(space.space_id)
                    rows += await ask(space).fetchall()
        return rows

    async def _recover(self, error: psycopg.Error) -> None:
        if self._transaction.connection.closed or error.sqlstate == "57014":
            raise error
        await self._return_to("branches")

    @asynccontextmanager
    async def _alone(self, space: Space) -> AsyncIterator[None]:
        """Reads of one space's rows. A private space that fails is noted and left; knowledge of the shared one is never made up.

        Raises:
            Fault: `hydration_failed`, the rows of the shared space could not be read.
        """
        try:
            yield
        except psycopg.Error as error:
            await self._recover(error)
            if space.public_kind == "team_shared":
                raise _hydration_failed(error) from error
            self.lost_spaces.add(space.space_id)
            raise _PrivatePartLost from error


class RowsAhead:
    """Rows that are asked for before `hydrate_evidence` wants them, or beside those that it wants. It changes no answer."""

    def __init__(self, snapshot: PostgresRecallSnapshot, intent: RecallIntent, foresight: Foresight) -> None:
        self._snapshot, self._intent, self._foresight = snapshot, intent, foresight
        self._wanted: Mapping[Space, Mapping[UUID, Sequence[int]]] = {}
        self.found: Mapping[UUID, Fetched] = {}
        self.evidence: list[Asked[DictRow]] = []
        self.groups: list[tuple[Space, Sequence[str], Asked[DictRow]]] = []

    def is_read(self, wanted: Mapping[Space, Mapping[UUID, Sequence[int]]]) -> bool:
        """Whether it is these rows that were asked for, and none failed."""
        return self.evidence != [] and self._wanted == wanted and all(asked.is_read for asked in self.evidence)

    async def ask_evidence(self, found: Mapping[UUID, EvidenceBranches]) -> None:
        self._wanted = self._foresight.evidence(found)
        for space, hits in self._wanted.items():
            await self._snapshot.enter(space)
            self.evidence.append(self._snapshot.ask_evidence(self._intent, hits))

    async def ask_groups(self, found: Mapping[UUID, Fetched]) -> None:
        for space, keys in self._foresight.groups(found).items():
            await self._snapshot.enter(space)
            self.groups.append((space, keys, self._snapshot.ask_groups(self._intent, keys)))

    async def ask_groups_late(self) -> None:
        """Beside rows of evidence that were asked for now: while the database is at those, it is found out which groups."""
        if not self.groups:
            self._snapshot.send()
            await self.ask_groups(self.found)


class _PrivatePartLost(Exception):
    """Ends the reading of one private space."""


def _hydration_failed(error: psycopg.Error) -> CommonloreError:
    found = stated(error)
    if not isinstance(found, Fault):
        return found
    return Fault("hydration_failed", "the rows behind what was found could not be read", details=found.details)


_EQUIVALENTS = RankingPolicy().equivalents_limit
# More parts than any text has: the database has the last word on which neighbours exist.
_MANY = 1 << 30


def _rows_in(view: TemporalView) -> dict[str, LiteralString]:
    return HYDRATE if view.is_present else HISTORY


async def _one(asked: Asked[DictRow]) -> DictRow:
    row = await asked.fetchone()
    assert row is not None
    return row
