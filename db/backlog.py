"""What waits for a worker in each space: vectors to make and statistics to fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.vectors import CONTRACT_ID, as_halfvec
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Vectors
from commonlore.domain.remember.prepare import search_prefix

_SQL = statements("worker")
_ENQUEUE = statements("ledger_rows")["enqueue"]
_INSTALLATION = statements("installation")
EMBED_PARTS = "embed_parts"
MAX_ATTEMPTS = 5
# Differences that a space's statistics may have before they are worth folding; a read adds up at most about this many a term.
_FOLD_ROWS = 64
_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True)
class WaitingText:
    """A part of evidence, or a relationship document, that has no vector yet. `key` names its row."""

    kind: str
    key: tuple[Any, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SpaceBacklog:
    """The backlog of one space of one team, under the worker's role."""

    pool: Pool
    team_id: UUID
    space_id: UUID

    async def read(self, batch: int) -> list[WaitingText]:
        """The next texts without a vector: parts by id, then documents; at most `batch`. Empty for a space that is gone."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await _open(transaction, self.space_id):
                return []
            parts = await (await transaction.execute(_SQL["waiting_parts"], batch=batch, contract_id=CONTRACT_ID)).fetchall()
            found = [WaitingText("part", (row["evidence_id"], row["part_no"]), search_prefix(row["speaker"]) + row["text"]) for row in parts]
            if len(found) < batch:
                documents = await (await transaction.execute(_SQL["waiting_documents"], batch=batch - len(found))).fetchall()
                found += [
                    WaitingText("document", (row["generation"], row["relationship_id"], row["source_version"]), row["text"]) for row in documents
                ]
            return found

    async def store(self, made: Sequence[tuple[WaitingText, Vectors]]) -> None:
        """Store vectors of what still waits; anything else is left alone."""
        parts = [(item.key, vector) for item, vector in made if item.kind == "part"]
        documents = [(item.key, vector) for item, vector in made if item.kind == "document"]
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await _open(transaction, self.space_id):
                return
            if parts:
                await transaction.execute(
                    _SQL["store_part_vectors"],
                    contract_id=CONTRACT_ID,
                    evidence_ids=[key[0] for key, _ in parts],
                    part_nos=[key[1] for key, _ in parts],
                    embeddings=[as_halfvec(vector) for _, vector in parts],
                )
            if documents:
                await transaction.execute(
                    _SQL["store_document_vectors"],
                    generations=[key[0] for key, _ in documents],
                    relationship_ids=[key[1] for key, _ in documents],
                    source_versions=[key[2] for key, _ in documents],
                    embeddings=[as_halfvec(vector) for _, vector in documents],
                )

    async def fail(self, item: WaitingText, error_code: str) -> None:
        """Count a failed try; the fifth leaves the text out until an administrator asks for it again."""
        common = {"error_code": error_code, "max_attempts": MAX_ATTEMPTS}
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await _open(transaction, self.space_id):
                return
            if item.kind == "part":
                parameters = {"evidence_id": item.key[0], "part_no": item.key[1], "contract_id": CONTRACT_ID}
                await transaction.execute(_SQL["fail_part"], **common, **parameters)
            else:
                await transaction.execute(_SQL["fail_document"], **common, generation=item.key[0], relationship_id=item.key[1])

    async def fold(self) -> bool:
        """Fold the statistics of both frontiers; False when another worker does it now."""
        async with team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            if not await _open(transaction, self.space_id):
                return False
            row = await (await transaction.execute(_SQL["lock_folding"])).fetchone()
            if row is None or not row["is_ours"]:
                return False
            await transaction.execute(_SQL["fold_evidence"], statistic_id=new_id())
            await transaction.execute(_SQL["fold_relationships"], statistic_id=new_id())
            return True


@dataclass(frozen=True, slots=True)
class SweepResult:
    spaces: int
    enqueued: int
    folded: int


async def sweep(pool: Pool) -> SweepResult:
    """Look at every space once: enqueue what waits without a job, fold what has many differences. Teams by id."""
    spaces = enqueued = folded = 0
    with stating():
        async with pool.connection() as connection:
            teams = [row["team_id"] for row in await (await connection.execute(_SQL["list_teams"])).fetchall()]
    for team_id in teams:
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            rows = await (await transaction.execute(_SQL["spaces_of_team"])).fetchall()
            transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
            wanting: list[UUID] = []
            for space_id in transaction.epochs:
                await transaction.enter(space_id)
                found = await (await transaction.execute(_SQL["waiting"])).fetchone()
                spaces += 1
                if found and found["is_waiting"]:
                    await enqueue_embedding(transaction, space_id)
                    enqueued += 1
                if found and max(found["evidence_rows"], found["relationship_rows"]) > _FOLD_ROWS:
                    wanting.append(space_id)
        for space_id in wanting:
            folded += await SpaceBacklog(pool, team_id, space_id).fold()
    return SweepResult(spaces, enqueued, folded)


async def enqueue_embedding(transaction: TeamTransaction, space_id: UUID) -> None:
    """Ask for the vectors of a space, in the transaction that needs them; one waiting job a space is enough."""
    args = {"team_id": str(transaction.team_id), "space_id": str(space_id)}
    await transaction.execute(
        _ENQUEUE,
        task_name=EMBED_PARTS,
        queue_name="embedding",
        priority=0,
        queueing_lock=f"{EMBED_PARTS}:{space_id}",
        args=msgspec.json.encode(args).decode(),
    )


async def served_contract_key(pool: Pool) -> str | None:
    """The embedding contract whose vectors are stored and searched."""
    with stating():
        async with pool.connection() as connection:
            row = await (await connection.execute(_INSTALLATION["read_contract"])).fetchone()
    return row["contract_key"] if row else None


async def _open(transaction: TeamTransaction, space_id: UUID) -> bool:
    """Open an active space of the team; False where there is none."""
    rows = await (await transaction.execute(_SQL["spaces_of_team"])).fetchall()
    transaction.epochs = {row["space_id"]: row["space_epoch"] for row in rows}
    if space_id not in transaction.epochs:
        return False
    await transaction.enter(space_id)
    return True
