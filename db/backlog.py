"""What waits for a worker in each space: vectors to make, and postings and statistics to fold."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.audit_log import is_seal_due
from commonlore.db.conflict_review import is_review_due
from commonlore.db.contracts import KeptContract, is_filled, kept_contracts
from commonlore.db.erasure.waiting import ask_for_erasures, ask_for_unfinished
from commonlore.db.errors import stating
from commonlore.db.hypothesis_runs import is_proposal_due
from commonlore.db.job_queue import JobQueue, is_cared_for
from commonlore.db.jobs import enqueue, job_key
from commonlore.db.postings import FOLD_FROM, fold_postings
from commonlore.db.projection import tend_generations
from commonlore.db.retention import is_retention_due
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.vector_indexes import read_indexes
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.domain.errors import CommonloreError
from commonlore.domain.ids import new_id
from commonlore.domain.jobs.kind import (
    APPLY_RETENTION,
    EMBED_CONTRACT,
    EMBED_PARTS,
    FOLD_STATISTICS,
    PROPOSE_HYPOTHESES,
    REVIEW_CONFLICTS,
    SEAL_AUDIT,
    TEND_VECTOR_INDEXES,
    JobKind,
)
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.vector_index import VectorIndexPolicy
from commonlore.domain.remember.prepare import search_prefix
from commonlore.domain.time import Clock, system_clock

log = logging.getLogger(__name__)
_SQL = statements("worker")
_FOLDING = statements("folding")
_INSTALLATION = statements("installation")
MAX_ATTEMPTS = 5
_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True)
class WaitingText:
    """A part of evidence, or a relationship document, that has no vector yet. `key` names its row."""

    kind: str
    key: tuple[Any, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SpaceBacklog:
    """The backlog of one space of one team under one embedding contract, with the worker's role."""

    pool: Pool
    team_id: UUID
    space_id: UUID
    contract_id: int = 1

    async def read(self, batch: int) -> list[WaitingText]:
        """The next texts without a vector: parts by id, then documents; at most `batch`. Empty for a space that is gone."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await open_space(transaction, self.space_id):
                return []
            parts = await (await transaction.execute(_SQL["waiting_parts"], batch=batch, contract_id=self.contract_id)).fetchall()
            found = [WaitingText("part", (row["evidence_id"], row["part_no"]), search_prefix(row["speaker"]) + row["text"]) for row in parts]
            if len(found) < batch:
                left = {"batch": batch - len(found), "contract_id": self.contract_id}
                documents = await (await transaction.execute(_SQL["waiting_documents"], **left)).fetchall()
                found += [
                    WaitingText("document", (row["generation"], row["relationship_id"], row["source_version"]), row["text"]) for row in documents
                ]
            return found

    async def count(self) -> int:
        """How many texts of the space wait for a vector."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await open_space(transaction, self.space_id):
                return 0
            row = await (await transaction.execute(_SQL["count_waiting"], contract_id=self.contract_id)).fetchone()
            return int(row["texts"]) if row else 0

    async def store(self, made: Sequence[tuple[WaitingText, Vectors]]) -> None:
        """Store vectors of what still waits; anything else is left alone."""
        parts = [(item.key, vector) for item, vector in made if item.kind == "part"]
        documents = [(item.key, vector) for item, vector in made if item.kind == "document"]
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await open_space(transaction, self.space_id):
                return
            if parts:
                await transaction.execute(
                    of_contract(_SQL["store_part_vectors"], self.contract_id),
                    contract_id=self.contract_id,
                    evidence_ids=[key[0] for key, _ in parts],
                    part_nos=[key[1] for key, _ in parts],
                    embeddings=[as_halfvec(vector) for _, vector in parts],
                )
            if documents:
                await transaction.execute(
                    of_contract(_SQL["store_document_vectors"], self.contract_id),
                    generations=[key[0] for key, _ in documents],
                    relationship_ids=[key[1] for key, _ in documents],
                    source_versions=[key[2] for key, _ in documents],
                    embeddings=[as_halfvec(vector) for _, vector in documents],
                )

    async def forget(self, items: Sequence[WaitingText]) -> None:
        """Parts without any sign that the model sees wait for nothing."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if await open_space(transaction, self.space_id):
                keys = [item.key for item in items if item.kind == "part"]
                await transaction.execute(
                    _SQL["forget_parts"], contract_id=self.contract_id, evidence_ids=[key[0] for key in keys], part_nos=[key[1] for key in keys]
                )

    async def fail(self, item: WaitingText, error_code: str, now: datetime) -> None:
        """Count a failed try; the fifth leaves the text out until an administrator asks for it again."""
        common = {"error_code": error_code, "max_attempts": MAX_ATTEMPTS, "now": now}
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await open_space(transaction, self.space_id):
                return
            if item.kind == "part":
                parameters = {"evidence_id": item.key[0], "part_no": item.key[1], "contract_id": self.contract_id}
                await transaction.execute(_SQL["fail_part"], **common, **parameters)
            else:
                await transaction.execute(_SQL["fail_document"], **common, generation=item.key[0], relationship_id=item.key[1])

    async def fold(self) -> bool | None:
        """Fold the next differences of postings, and the statistics, of both frontiers; whether more may wait. None when another worker does it now."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await open_space(transaction, self.space_id):
                return None
            row = await (await transaction.execute(_FOLDING["lock_folding"])).fetchone()
            if row is None or not row["is_ours"]:
                return None
            waits = await fold_postings(transaction)
            await transaction.execute(_SQL["fold_evidence"], statistic_id=new_id())
            await transaction.execute(_SQL["fold_relationships"], statistic_id=new_id())
            return waits


@dataclass(frozen=True, slots=True)
class SweepResult:
    """`enqueued`: jobs that were asked for. `failed`: teams that could not be looked at."""

    spaces: int
    enqueued: int
    failed: int


async def sweep(pool: Pool, queue: JobQueue | None = None, *, clock: Clock = system_clock, indexes: VectorIndexPolicy | None = None) -> SweepResult:
    """Look at every space once and ask for the jobs that it needs; with a queue, forget jobs that ended long ago.

    Vector indexes are asked for with `indexes` alone: by a worker that can build them.

    Teams by id, each in a transaction of its own: one that fails is left to the next sweep and keeps no other from its turn.
    """
    with stating():
        async with pool.connection() as connection:
            teams = [row["team_id"] for row in await (await connection.execute(_SQL["list_teams"])).fetchall()]
    kept = await kept_contracts(pool)
    spaces = enqueued = failed = 0
    enqueued += await ask_for_erasures(pool, clock())
    for team_id in teams:
        try:
            seen, asked = await _sweep_team(pool, team_id, clock(), indexes, kept)
            if queue is not None:
                await queue.forget_ended(team_id)
        except CommonloreError as error:
            log.warning("sweep: team %s: %s", team_id, error.code)
            failed += 1
        else:
            spaces, enqueued = spaces + seen, enqueued + asked
    return SweepResult(spaces, enqueued, failed)


async def _sweep_team(pool: Pool, team_id: UUID, now: datetime, indexes: VectorIndexPolicy | None, kept: Sequence[KeptContract]) -> tuple[int, int]:
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        asked = await tend_generations(transaction, kept, now=now)
        if await is_seal_due(transaction, now):
            asked += await _ask(transaction, SEAL_AUDIT, None)
        if await is_retention_due(transaction, now):
            asked += await _ask(transaction, APPLY_RETENTION, None)
        asked += await ask_for_unfinished(transaction, now)
        rows = await (await transaction.execute(_SQL["spaces_of_team"])).fetchall()
        transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
        for space_id in transaction.epochs:
            await transaction.enter(space_id)
            found = await (await transaction.execute(_SQL["waiting"], contract_id=kept[0].contract_id)).fetchone()
            assert found is not None
            wanted = {
                EMBED_PARTS: found["is_waiting"],
                FOLD_STATISTICS: found["differences"] >= FOLD_FROM,
                REVIEW_CONFLICTS: await is_review_due(transaction, now),
                PROPOSE_HYPOTHESES: await is_proposal_due(transaction, now),
                TEND_VECTOR_INDEXES: indexes is not None and any(indexes.step(seen, now) for seen in await read_indexes(transaction)),
            }
            for kind in (kind for kind, is_wanted in wanted.items() if is_wanted):
                asked += await _ask(transaction, kind, space_id)
            for contract in kept[1:]:
                if await waits_for(transaction, contract):
                    asked += await _ask(transaction, EMBED_CONTRACT, space_id, contract_id=contract.contract_id)
    return len(rows), asked


async def waits_for(transaction: TeamTransaction, contract: KeptContract) -> bool:
    """Whether anything of the open space lacks a vector of a contract that is kept beside the served one."""
    if not await is_filled(transaction, contract):
        return True
    found = await (await transaction.execute(_SQL["waiting"], contract_id=contract.contract_id)).fetchone()
    return bool(found and found["is_waiting"])


async def active_epochs(pool: Pool) -> set[int] | None:
    """The numbers of all active spaces of active teams; None where one of the teams could not be looked at."""
    epochs: set[int] = set()
    try:
        with stating():
            async with pool.connection() as connection:
                teams = [row["team_id"] for row in await (await connection.execute(_SQL["list_teams"])).fetchall()]
        for team_id in teams:
            async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
                epochs |= {row["space_epoch"] for row in await (await transaction.execute(_SQL["spaces_of_team"])).fetchall()}
    except CommonloreError as error:
        log.warning("the spaces of every team could not be read: %s", error.code)
        return None
    return epochs


async def _ask(transaction: TeamTransaction, kind: JobKind, space_id: UUID | None, **numbers: int) -> bool:
    """Ask for a job, unless one of its key waits, runs, or gave up not long ago; whether it was asked for."""
    if await is_cared_for(transaction, job_key(kind, transaction.team_id, space_id, numbers)):
        return False
    await enqueue(transaction, kind, space_id=space_id, **numbers)
    return True


async def enqueue_embedding(transaction: TeamTransaction, space_id: UUID) -> None:
    """Ask for the vectors of a space, in the transaction that needs them; one waiting job a space is enough."""
    await enqueue(transaction, EMBED_PARTS, space_id=space_id)


async def open_space(transaction: TeamTransaction, space_id: UUID) -> bool:
    """Open an active space of the team; False where there is none."""
    rows = await (await transaction.execute(_SQL["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    if space_id not in transaction.epochs:
        return False
    await transaction.enter(space_id)
    return True
