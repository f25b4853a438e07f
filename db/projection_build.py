"""What a worker does to a generation: projects texts in batches, carries vectors over, and says when it is ready or gone.

Every step is a transaction of its own and works from rows, so it may be cut off anywhere. The texts of a batch are written
under the ledger lock of their space: a write of the same space comes before or after the batch, and goes into both generations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from commonlore.db.arrays import UuidArray, ids_of
from commonlore.db.changes import note_statistics, write_rows
from commonlore.db.postings import append_documents
from commonlore.db.projection import count_documents, fail, list_generations, lock_generations, open_spaces, stand_by, switch
from commonlore.db.rendering import wording
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.projection.generation import DocumentCounts, Generation, serving
from commonlore.domain.projection.posting import document_blocks
from commonlore.domain.remember.changes import DocumentRow
from commonlore.domain.time import Clock

# Documents of one transaction at most, whatever the pace.
TEXT_BATCH = 16_000
VECTOR_BATCH = 1_000
CLEAR_BATCH = 2_000
_SQL = statements("projection_build")
_FOLDING = statements("folding")
_GATE = statements("projection")
_LEDGER = statements("ledger")
_FIRST = UUID(int=0)
_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True)
class Batch:
    """How many documents one transaction dealt with, and whether calls were being served at its end."""

    done: int
    is_served: bool


@dataclass(frozen=True, slots=True)
class GenerationBuild:
    """One generation of one team, under the worker's role."""

    pool: Pool
    team_id: UUID
    number: int
    clock: Clock

    async def look(self) -> tuple[Generation | None, DocumentCounts]:
        """The generation as it stands, and its documents counted from their rows; None where there is none of its number."""
        async with self._transaction() as transaction:
            generations = await list_generations(transaction)
            found = self._of(generations)
            return found, await count_documents(transaction, found, serving(generations)) if found else DocumentCounts()

    async def spaces(self) -> list[UUID]:
        async with self._transaction() as transaction:
            return list(await open_spaces(transaction))

    async def project(self, space_id: UUID, most: int = TEXT_BATCH) -> Batch | None:
        """Write the next texts of a space into the generation, at most so many; None when the space has no more."""
        most = min(most, TEXT_BATCH)
        async with self._transaction() as transaction:
            if not await self._locked(transaction, space_id):
                return None
            generations = await list_generations(transaction)
            found, source = self._of(generations), serving(generations)
            if found is None or source is None or found.state != "projecting_text" or found.paused_at is not None:
                return None
            progress = await (await transaction.execute(_SQL["read_progress"], generation=self.number)).fetchone()
            if progress is not None and progress["is_projected"]:
                return None
            after = progress["projected_to"] if progress else _FIRST
            numbers = {"generation": self.number, "source": source.generation}
            rows = await (await transaction.execute(_SQL["next_wordings"], **numbers, after=after, batch=most)).fetchall()
            lacking = [row for row in rows if not row["is_projected"]]
            if lacking:
                await self._write(transaction, source, lacking)
            is_last = len(rows) < most
            after = rows[-1]["relationship_id"] if rows else after
            noted = {"projected_to": after, "projected": len(lacking), "is_projected": is_last}
            await transaction.execute(_SQL["note_progress"], generation=self.number, **noted)
            return await _batch(transaction, len(lacking))

    async def _write(self, transaction: TeamTransaction, source: Generation, rows: Sequence[dict[str, Any]]) -> None:
        texts = [_worded(row) for row in rows]
        # The database copies on a processor of its own meanwhile.
        posting = asyncio.ensure_future(asyncio.to_thread(document_blocks, texts))
        try:
            await self._write_texts(transaction, source, rows, texts)
            made, difference = await posting
        finally:
            await asyncio.wait((posting,))
        await transaction.execute(_FOLDING["wait_for_folding"])
        await append_documents(transaction, self.number, made, ids_of([row["relationship_id"] for row in rows]))
        await note_statistics(transaction, self.number, difference)

    async def _write_texts(self, transaction: TeamTransaction, source: Generation, rows: Sequence[dict[str, Any]], texts: Sequence[str]) -> None:
        same = [row["relationship_id"] for row, text in zip(rows, texts, strict=True) if text == row["document_text"]]
        changed = [
            DocumentRow(relationship_id=row["relationship_id"], source_version=row["version"], document_text=text, replaces=None)
            for row, text in zip(rows, texts, strict=True)
            if text != row["document_text"]
        ]
        if same:
            numbers = {"generation": self.number, "source": source.generation, "relationship_ids": UuidArray.of(ids_of(same))}
            await transaction.execute(_SQL["copy_documents"], **numbers)
        if changed:
            await write_rows(transaction, self.number, changed, {})

    async def finish_text(self) -> bool:
        """Leave `projecting_text` once every space is projected and no document lacks; whether it was left."""
        async with self._transaction() as transaction:
            generations = await lock_generations(transaction)
            found, source = self._of(generations), serving(generations)
            if found is None or source is None or found.state != "projecting_text" or found.paused_at is not None:
                return False
            is_whole = True
            for space_id in await open_spaces(transaction):
                await transaction.enter(space_id)
                progress = await (await transaction.execute(_SQL["read_progress"], generation=self.number)).fetchone()
                numbers = {"generation": self.number, "source": source.generation}
                row = await (await transaction.execute(_GATE["count_documents"], **numbers)).fetchone()
                assert row is not None
                if row["documents"] < row["expected"]:
                    # Nothing is taken on trust: the space is gone through again.
                    start = {"projected_to": _FIRST, "projected": 0, "is_projected": False}
                    await transaction.execute(_SQL["note_progress"], generation=self.number, **start)
                    is_whole = False
                elif progress is None or not progress["is_projected"]:
                    is_whole = False
            if is_whole:
                await transaction.execute(_SQL["note_projected"], generation=self.number, now=self.clock())
            return is_whole

    async def carry(self, space_id: UUID, most: int = VECTOR_BATCH) -> Batch | None:
        """Carry vectors over of texts that say what they said under the same contract, at most so many; None when there are no more."""
        async with self._transaction() as transaction:
            generations = await list_generations(transaction)
            found, source = self._of(generations), serving(generations)
            if found is None or source is None or found.state != "embedding" or found.paused_at is not None:
                return None
            if found.contract_id != source.contract_id or not await _enter(transaction, space_id):
                return None
            numbers = {"generation": self.number, "source": source.generation, "batch": min(most, VECTOR_BATCH)}
            row = await (await transaction.execute(of_contract(_SQL["carry_vectors"], found.contract_id), **numbers)).fetchone()
            return await _batch(transaction, row["carried"]) if row and row["carried"] else None

    async def conclude(self) -> Generation | None:
        """Say what became of the generation once no document of it waits: ready, or failed where some have no vector for good."""
        async with self._transaction() as transaction:
            return await conclude(transaction, self.number, clock=self.clock)

    async def clear(self, space_id: UUID, most: int = CLEAR_BATCH) -> Batch | None:
        """Clear away the next rows of a retired generation, at most so many documents; None when there are no more."""
        async with self._transaction() as transaction:
            # A write that began before the generation was retired may still put documents into it.
            if not await self._locked(transaction, space_id):
                return None
            found = self._of(await list_generations(transaction))
            if found is None or found.state != "retired":
                return None
            numbers = {"generation": self.number, "batch": min(most, CLEAR_BATCH)}
            statement = _SQL["clear_documents"] if await has_tables(transaction, found) else _SQL["clear_texts"]
            row = await (await transaction.execute(of_contract(statement, found.contract_id), **numbers)).fetchone()
            if row is None or not row["cleared"]:
                await transaction.execute(_FOLDING["wait_for_folding"])
                await transaction.execute(_SQL["clear_rest"], generation=self.number)
                return None
            return await _batch(transaction, row["cleared"])

    def _transaction(self) -> Any:
        return team_transaction(self.pool, self.team_id, timeout_ms=_TIMEOUT_MS)

    def _of(self, generations: Sequence[Generation]) -> Generation | None:
        return next((generation for generation in generations if generation.generation == self.number), None)

    async def _locked(self, transaction: TeamTransaction, space_id: UUID) -> bool:
        if not await _enter(transaction, space_id):
            return False
        await transaction.execute(_LEDGER["lock_ledger"])
        return True


async def conclude(transaction: TeamTransaction, number: int, *, clock: Clock) -> Generation | None:
    """`GenerationBuild.conclude` inside a transaction; the generation as it stands then."""
    generations = await lock_generations(transaction)
    found = next((generation for generation in generations if generation.generation == number), None)
    if found is None or found.state != "embedding" or found.paused_at is not None:
        return found
    pending = failed = 0
    for space_id in await open_spaces(transaction):
        await transaction.enter(space_id)
        row = await (await transaction.execute(_GATE["count_unfinished"], generation=number)).fetchone()
        assert row is not None
        pending, failed = pending + row["pending"], failed + row["failed"]
    if pending:
        return found
    now = clock()
    if failed:
        await fail(transaction, found, "documents_failed", now=now)
    else:
        await transaction.execute(_SQL["note_ready"], generation=number, now=now)
        rival = next((other for other in generations if other.state == "current" and other.contract_id == found.contract_id), None)
        if rival is None or found.activates_itself:
            await switch(transaction, rival, found, now=now)
        else:
            await stand_by(transaction, found, now=now)
    return next(generation for generation in await list_generations(transaction) if generation.generation == number)


async def conclude_generations(pool: Pool, team_id: UUID, contract_id: int, *, clock: Clock) -> None:
    """`conclude` for every generation of a contract that waits for its last vectors."""
    async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
        for generation in await list_generations(transaction):
            if generation.state == "embedding" and generation.contract_id == contract_id:
                await conclude(transaction, generation.generation, clock=clock)


async def has_tables(transaction: TeamTransaction, found: Generation) -> bool:
    """Whether the contract of a generation still has its vector tables."""
    row = await (await transaction.execute(_SQL["has_tables"], contract_id=found.contract_id)).fetchone()
    return row is not None and bool(row["exists"])


async def _batch(transaction: TeamTransaction, done: int) -> Batch:
    row = await (await transaction.execute(_SQL["is_serving"])).fetchone()
    return Batch(done, row is not None and bool(row["is_serving"]))


async def _enter(transaction: TeamTransaction, space_id: UUID) -> bool:
    if space_id not in await open_spaces(transaction):
        return False
    await transaction.enter(space_id)
    return True


def _worded(row: dict[str, Any]) -> str:
    """What a document should say; one that cannot be worded any more keeps its text."""
    if row["subject_name"] is None or (row["object_name"] is None and row["display"] is None):
        return str(row["document_text"])
    return wording(row)
