"""What a recall asks of the vectors that its process keeps: what is new to them in its own snapshot, then who may be near.

Asked before the lexical branches and read after them, so that the database goes on while the process measures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import TupleRow

from commonlore.db.pipeline import Asked
from commonlore.db.resident import Arrivals, BlockName, Nearest, ResidentVectors, VectorBlock, made_block
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.ports import Vectors

_SQL = statements("resident")
# Bytes whose reading would hold up other requests for milliseconds.
_LONG_BYTES = 1 << 20


@dataclass(slots=True)
class Held:
    """What was asked about one space and frontier. `block` is None while everything is read."""

    store: ResidentVectors
    name: BlockName
    block: VectorBlock | None
    asked: Asked[TupleRow]

    async def nearest(self, vector: Vectors, wanted: int) -> Nearest | None:
        """Candidates for the nearest vectors of the open snapshot; None where the space is to be searched itself."""
        (row,) = await self.asked.fetch_early()
        found = Arrivals(row[0], *(column or b"" for column in row[1:]))
        if self.block is None:
            self.block = await asyncio.to_thread(made_block, found) if len(found.vectors) > _LONG_BYTES else made_block(found)
            if self.block is None:
                return None
            self.store.keep(self.name, self.block)
        elif not self.block.add(found):
            self.store.forget(self.name, self.block)
            return None
        if len(vector) != self.block.dimensions or wanted > self.store.most_share * self.block.count:
            return None
        return self.block.nearest(vector, wanted)

    def note_short(self) -> None:
        """The candidates were too few, and the space was searched after all."""
        if self.block is not None:
            self.block.note_short()


def ask_held(transaction: TeamTransaction, store: ResidentVectors, name: BlockName, rows: int) -> Held | None:
    """Ask what a kept block lacks, or for the whole of a space that is to be kept; None where it is not.

    The space of `name` must be open. A block that was read before this snapshot began, and grew since, holds all that the snapshot sees.
    """
    block = store.of(name)
    if block is None and not store.wants(name, rows):
        return None
    statement = of_contract(_SQL[f"{'load' if block is None else 'new'}_{name.frontier}"], name.contract_id)
    asked = {"mark": str(block.mark), "held": [str(number) for number in sorted(block.held)]} if block else {}
    return Held(store, name, block, transaction.ask_tuples(statement, generation=name.generation, **asked))


def without_notes(rows: Sequence[TupleRow], columns: int, held: Held | None) -> Sequence[TupleRow]:
    """The rows of a vector branch without what those over a process's own vectors say beyond: whether its candidates were too few."""
    if not rows or len(rows[0]) == columns:
        return rows
    if rows[0][columns] and held is not None:
        held.note_short()
    return [row[:columns] for row in rows]
