"""Runs that look for hypotheses in one space, under the worker's role: read one state of it, propose what still holds.

What is proposed is checked again under the ledger lock of the space, so that no write falls between a proposal and its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.hypotheses import own_rules
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledger
from commonlore.domain.community.schedule import CommunitySchedule
from commonlore.domain.hypothesis.generate import Proposal
from commonlore.domain.hypothesis.policy import VERSION
from commonlore.domain.hypothesis.rules import RuleBook, rules_of
from commonlore.domain.hypothesis.source import HypothesisSource, Premise
from commonlore.domain.ids import new_id
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.text.analyse import query_terms

_SQL = statements("hypothesis_run")
_WORKER = statements("worker")
_TIMEOUT_MS = 120_000


class SpaceGone(Exception):
    """The space was fenced, or is no longer active: nothing of this run belongs anywhere."""


class SwitchedOff(Exception):
    """Hypotheses were switched off while the run went on."""


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a run came to know before it ended."""

    relationships: int | None = None
    paths: int | None = None
    known: int | None = None
    assessed: int | None = None
    candidates: int | None = None
    proposed: int | None = None


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

    async def begin(self, *, now: datetime) -> tuple[UUID, int] | None:
        """The id of a new run and how many it may propose; None where hypotheses are off. The caller holds the lock of the space."""
        async with self._open() as transaction:
            row = await (await transaction.execute(_SQL["last_begun"])).fetchone()
            if row is None:
                return None
            await transaction.execute(_SQL["end_abandoned"], now=now)
            run_id, reason = new_id(), "scheduled" if _is_due(row, now) else "requested"
            await transaction.execute(_SQL["begin_run"], run_id=run_id, reason=reason, generator_version=VERSION, now=now)
            return run_id, row["outputs"]

    async def end(self, run_id: UUID, status: str, *, now: datetime, counts: RunCounts, error_code: str | None = None) -> None:
        async with self._open() as transaction:
            await _end(transaction, run_id, status, now, counts, error_code)
            await transaction.execute(_SQL["forget_runs"])

    async def read(self, *, now: datetime, most: int) -> tuple[HypothesisSource, RuleBook]:
        """One state of the space: its rules, the relationships that they name, at most one more than `most`, and what was proposed before."""
        async with self._open(snapshot=True) as transaction:
            rules = rules_of(own_rules(await (await transaction.execute(_SQL["read_rules"])).fetchall()))
            definitions = await (await transaction.execute(_SQL["definitions"])).fetchall()
            book = RuleBook.of(rules, {row["predicate_key"]: _predicate(row) for row in definitions})
            asked = await transaction.execute_tuples(_SQL["premises"], predicate_keys=sorted(book.keys), now=now, most=most + 1)
            premises = [Premise._make(row) for row in await asked.fetchall()]
            assessed = {bytes(row[0]) for row in await (await transaction.execute_tuples(_SQL["assessed"])).fetchall()}
            covered = Counter(entity for row in await (await transaction.execute_tuples(_SQL["covered"])).fetchall() for entity in row)
            kinds = await _kinds(transaction, premises) if any(item.subject_kinds or item.object_kinds for item in book.predicates.values()) else {}
            return HypothesisSource.of(premises, kinds, assessed=assessed, covered=covered), book

    async def propose(self, run_id: UUID, proposals: Sequence[Proposal], *, now: datetime, counts: RunCounts) -> int:
        """Write those that still hold, and end the run; how many there are.

        Raises:
            SwitchedOff: nothing was written.
        """
        async with self._open() as transaction:
            instant = await lock_ledger(transaction, now)
            if await (await transaction.execute(_SQL["last_begun"])).fetchone() is None:
                raise SwitchedOff
            entities = sorted({entity for item in proposals for entity in (item.target.subject_entity_id, item.target.object_entity_id)})
            rows = await (await transaction.execute_tuples(_SQL["names"], entity_ids=entities)).fetchall()
            names: dict[UUID, str] = dict(rows)
            made = [await _propose(transaction, run_id, item, names, instant) for item in proposals]
            proposed = RunCounts(counts.relationships, counts.paths, counts.known, counts.assessed, counts.candidates, sum(made))
            await _end(transaction, run_id, "completed", now, proposed)
            await transaction.execute(_SQL["forget_runs"])
        return sum(made)


@asynccontextmanager
async def exclusive(pool: Pool, team_id: UUID, space_id: UUID) -> AsyncIterator[SpaceRuns | None]:
    """The space for one run at a time; None while another one goes on, or where there is no such space."""
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        epoch = await _epoch(transaction, space_id)
        if epoch is None:
            yield None
            return
        await transaction.enter(space_id)
        row = await (await transaction.execute(_SQL["lock_run"])).fetchone()
        yield SpaceRuns(pool, team_id, space_id, epoch) if row is not None and row["is_ours"] else None


async def is_proposal_due(transaction: TeamTransaction, now: datetime) -> bool:
    """Whether the open space has hypotheses on, and the day's window opened since its last run began."""
    row = await (await transaction.execute(_SQL["last_begun"])).fetchone()
    return row is not None and _is_due(row, now)


def _is_due(row: Mapping[str, Any], now: datetime) -> bool:
    schedule = CommunitySchedule(row["community_time_zone"], row["community_start_minute"])
    return row["begun"] is None or row["begun"] < schedule.begins(schedule.latest_window(now))


async def _kinds(transaction: TeamTransaction, premises: Iterable[Premise]) -> dict[UUID, str]:
    entities = {entity for item in premises for entity in (item.subject_entity_id, item.object_entity_id) if entity is not None}
    return dict(await (await transaction.execute_tuples(_SQL["kinds"], entity_ids=sorted(entities))).fetchall())


async def _propose(transaction: TeamTransaction, run_id: UUID, item: Proposal, names: dict[UUID, str], now: datetime) -> bool:
    target, found = item.target, item.likelihood
    terms = {term for entity in (target.subject_entity_id, target.object_entity_id) for term in query_terms(names.get(entity, ""))}
    cursor = await transaction.execute(
        _SQL["propose"],
        hypothesis_id=new_id(),
        run_id=run_id,
        relationship_ids=[premise.relationship_id for premise in item.premises],
        relationship_versions=[premise.version for premise in item.premises],
        rule_kind=item.rule.kind,
        first_key=item.rule.first,
        second_key=item.rule.second,
        subject_entity_id=target.subject_entity_id,
        predicate_key=target.predicate_key,
        predicate_version=item.predicate_version,
        object_entity_id=target.object_entity_id,
        scope_key=target.scope_key,
        inverse_key=item.inverse_key,
        is_single=item.is_single,
        likelihood=found.likelihood,
        confidence=found.confidence,
        record=found.record,
        strength=found.strength,
        tested=item.tested,
        closed=item.closed,
        target_sha256=item.target_sha256,
        content_sha256=item.content_sha256,
        generator_version=VERSION,
        terms=sorted(terms),
        now=now,
    )
    return await cursor.fetchone() is not None


async def _end(transaction: TeamTransaction, run_id: UUID, status: str, now: datetime, counts: RunCounts, error_code: str | None = None) -> None:
    await transaction.execute(
        _SQL["end_run"],
        run_id=run_id,
        status=status,
        error_code=error_code,
        now=now,
        relationships=counts.relationships,
        paths=counts.paths,
        known=counts.known,
        assessed=counts.assessed,
        candidates=counts.candidates,
        proposed=counts.proposed,
    )


async def _epoch(transaction: TeamTransaction, space_id: UUID) -> int | None:
    rows = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    return transaction.epochs.get(space_id)


def _predicate(row: Mapping[str, Any]) -> Predicate:
    return Predicate(
        key=row["predicate_key"],
        version=row["version"],
        aliases=tuple(row["aliases"]),
        subject_kinds=tuple(row["subject_kinds"]),
        object_kinds=tuple(row["object_kinds"]),
        relationship_kind=row["relationship_kind"],
        current_cardinality=row["current_cardinality"],
        lifecycle_state=row["lifecycle_state"],
    )
