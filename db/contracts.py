"""The embedding contracts of the installation as writers and workers see them: which are kept, and what each still lacks.

Writers share the lock of the contracts; whoever starts, switches or retires one holds it alone. So a text that a write
stores either is there when a contract begins, or gets its place among what waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from commonlore.db.errors import stating
from commonlore.db.session import Pool, TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.embed import InlineVectors

_SQL = statements("contract")
_FIRST = UUID(int=0)
# Parts that are looked at in one statement while a contract's backlog is filled.
FILL_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class KeptContract:
    """A contract that every text gets a vector of."""

    contract_id: int
    contract_key: str
    is_served: bool

    def made(self, vectors: Mapping[str, Vectors]) -> bool:
        """Whether the vectors were made under this contract; plain ones, under the served one."""
        return vectors.contract_key == self.contract_key if isinstance(vectors, InlineVectors) else self.is_served


async def share_contracts(transaction: TeamTransaction) -> list[KeptContract]:
    """The contracts that are kept, the served one first; they stay so until the transaction ends."""
    async with transaction.connection.pipeline():
        await transaction.execute(_SQL["share_contracts"])
        rows = await (await transaction.execute(_SQL["kept_contracts"])).fetchall()
    return [KeptContract(**row) for row in rows]


async def kept_contracts(pool: Pool) -> list[KeptContract]:
    """The contracts that are kept now, the served one first."""
    with stating():
        async with pool.connection() as connection:
            rows = await (await connection.execute(_SQL["kept_contracts"])).fetchall()
    return [KeptContract(**row) for row in rows]


async def fill_backlog(transaction: TeamTransaction, contract: KeptContract, served: KeptContract, *, batch: int = FILL_BATCH) -> bool:
    """Note the next parts of the open space as waiting for the contract's vectors; whether every part was looked at."""
    row = await (await transaction.execute(_SQL["read_filled"], contract_id=contract.contract_id)).fetchone()
    if row is not None and row["is_filled"]:
        return True
    after_id, after_no = (row["filled_to"], row["filled_no"]) if row else (_FIRST, -1)
    last = await (
        await transaction.execute(
            of_contract(_SQL["fill_backlog"], contract.contract_id, served.contract_id),
            contract_id=contract.contract_id,
            served_id=served.contract_id,
            after_id=after_id,
            after_no=after_no,
            batch=batch,
        )
    ).fetchone()
    if last is not None:
        after_id, after_no = last["evidence_id"], last["part_no"]
    await transaction.execute(_SQL["note_filled"], contract_id=contract.contract_id, after_id=after_id, after_no=after_no, is_filled=last is None)
    return last is None


async def is_filled(transaction: TeamTransaction, contract: KeptContract) -> bool:
    """Whether every part of the open space has a vector of the contract, waits for one, or failed."""
    row = await (await transaction.execute(_SQL["read_filled"], contract_id=contract.contract_id)).fetchone()
    return row is not None and bool(row["is_filled"])
