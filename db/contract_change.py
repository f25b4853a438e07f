"""The embedding contract of the installation: started, watched, activated, rolled back and retired by whoever holds the database.

A change of the rows of contracts holds the lock of the contracts alone: it comes between writes, never inside one. What
is to be done in every team is done team by team, and the sweep makes good what was cut off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from commonlore.db import tenancy
from commonlore.db.errors import stating
from commonlore.db.jobs import enqueue
from commonlore.db.projection import add, let_go, list_generations, lock_generations, open_spaces
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.jobs.kind import EMBED_CONTRACT
from commonlore.domain.projection.contract_change import (
    Contract,
    ContractCounts,
    parse_contract,
    require_kept,
    require_startable,
    require_unread,
    require_whole,
)

_SQL = statements("contract_change")
_CONTRACT = statements("contract")
_TIMEOUT_MS = 120_000


async def list_contracts(pool: Pool) -> list[Contract]:
    """Every contract that the installation had, by number."""
    with stating():
        async with pool.connection() as connection:
            return await _list(connection)


async def _list(connection: AsyncConnection[DictRow]) -> list[Contract]:
    rows = await (await connection.execute(_CONTRACT["list_contracts"])).fetchall()
    return [Contract(**row) for row in rows]


@asynccontextmanager
async def _alone(pool: Pool) -> AsyncIterator[tuple[AsyncConnection[DictRow], list[Contract]]]:
    """A transaction in which no write goes on, and the contracts as they stand."""
    with stating():
        async with pool.connection() as connection, connection.transaction():
            await connection.execute(_CONTRACT["lock_contracts"])
            yield connection, await _list(connection)


async def start(pool: Pool, key: str, *, now: datetime) -> Contract:
    """A contract beside the served one: its vector tables, a generation in every team, and the jobs that fill them.

    Raises:
        Incorrect: no key of a contract, or more dimensions than can be indexed.
        Conflict: `generation_building`, another one is being built or stands by; `stale_input`, it is served already.
    """
    wanted = parse_contract(key)
    async with _alone(pool) as (connection, contracts):
        require_startable(contracts, key)
        number = (await _row(connection, "next_contract_id"))["contract_id"]
        added = await _row(connection, "add_contract", contract_id=number, contract_key=key, dimensions=wanted.dimensions, now=now)
        contract_id: int = added["contract_id"]
        await connection.execute(_SQL["make_tables"], {"contract_id": contract_id, "dimensions": wanted.dimensions})
    for team_id in await _teams(pool):
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            known = await lock_generations(transaction)
            if not any(generation.contract_id == contract_id and generation.state != "retired" for generation in known):
                await add(transaction, contract_id, activates_itself=True, now=now)
            for space_id in await open_spaces(transaction):
                await enqueue(transaction, EMBED_CONTRACT, space_id=space_id, contract_id=contract_id)
    return next(contract for contract in await list_contracts(pool) if contract.contract_id == contract_id)


async def count(pool: Pool, contract: Contract, served: Contract) -> ContractCounts:
    """What a contract has and lacks, counted from the rows of every team."""
    total = ContractCounts()
    for team_id in await _teams(pool):
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            total = total.plus(await _count_team(transaction, contract, served))
    return total


async def _count_team(transaction: TeamTransaction, contract: Contract, served: Contract) -> ContractCounts:
    generations = [generation for generation in await list_generations(transaction) if generation.contract_id == contract.contract_id]
    total = ContractCounts(teams=1, unready=int(not any(generation.state == "current" for generation in generations)))
    for space_id in await open_spaces(transaction):
        await transaction.enter(space_id)
        parts = await _tenant_row(transaction, of_contract(_CONTRACT["count_parts"], contract.contract_id), contract_id=contract.contract_id)
        documents = await _tenant_row(transaction, _CONTRACT["count_kept_documents"], contract_id=contract.contract_id)
        statement = of_contract(_CONTRACT["count_unasked"], contract.contract_id, served.contract_id)
        unasked = await _tenant_row(transaction, statement, contract_id=contract.contract_id, served_id=served.contract_id)
        total = total.plus(
            ContractCounts(
                parts=parts["parts"],
                vectors=parts["vectors"],
                documents=documents["documents"],
                lacking=unasked["parts"],
                pending=parts["pending"] + documents["pending"],
                failed=parts["failed"] + documents["failed"],
            )
        )
    return total


async def activate(pool: Pool, *, accepts_failed: bool, now: datetime) -> Contract:
    """Let recalls read the vectors of the contract that is kept beside the served one; that one stands by.

    Raises:
        Conflict: `stale_input`, none is kept beside it; `generation_incomplete`, vectors are missing.
    """
    return await _switch(pool, "building", "standby", accepts_failed=accepts_failed, now=now)


async def roll_back(pool: Pool, *, now: datetime) -> Contract:
    """Let recalls read again the vectors of the contract that served before.

    Raises:
        Conflict: `stale_input`, none stands by; `generation_incomplete`, vectors are missing.
    """
    return await _switch(pool, "standby", accepts_failed=True, now=now)


async def _switch(pool: Pool, *states: Any, accepts_failed: bool, now: datetime) -> Contract:
    contracts = await list_contracts(pool)
    wanted = require_kept(contracts, *states)
    require_whole(await count(pool, wanted, require_kept(contracts, "served")), accepts_failed=accepts_failed)
    async with _alone(pool) as (connection, contracts):
        found = require_kept(contracts, *states)
        if found.state == "standby":
            await connection.execute(_SQL["make_room"], {"contract_id": found.contract_id})
        await connection.execute(_SQL["stand_by"])
        await connection.execute(_SQL["serve"], {"contract_id": found.contract_id, "now": now})
        served = next(contract for contract in await _list(connection) if contract.contract_id == found.contract_id)
    await _log(pool, served)
    return served


async def _log(pool: Pool, contract: Contract) -> None:
    """Contracts are the installation's; that another one serves is an entry in the log of every team."""
    for team_id in await _teams(pool):
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            transaction.noted.add("embedding_contract", contract.contract_id)
            transaction.noted.is_logged = True


async def retry(pool: Pool, *, now: datetime) -> Contract:
    """Try what failed under the contract that is kept beside the served one again, with all its tries.

    Raises:
        Conflict: `stale_input`, none is kept beside it.
    """
    from commonlore.db.projection import retry as retry_generation

    found = require_kept(await list_contracts(pool), "building", "standby")
    for team_id in await _teams(pool):
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            for generation in await list_generations(transaction):
                if generation.contract_id == found.contract_id and generation.state in ("failed", "current"):
                    await retry_generation(transaction, generation.generation, now=now)
            for space_id in await open_spaces(transaction):
                await transaction.enter(space_id)
                await transaction.execute(_CONTRACT["retry_parts"], contract_id=found.contract_id)
                await enqueue(transaction, EMBED_CONTRACT, space_id=space_id, contract_id=found.contract_id)
    return found


async def retire(pool: Pool, *, now: datetime) -> Contract:
    """Give up the contract that is kept beside the served one: writes no longer serve it, and its vectors go.

    Raises:
        Conflict: `stale_input`, none is kept beside it, or it served until a moment ago.
    """
    async with _alone(pool) as (connection, contracts):
        found = require_kept(contracts, "building", "standby")
        require_unread(found, contracts, now)
        await connection.execute(_SQL["retire"], {"contract_id": found.contract_id, "now": now})
    for team_id in await _teams(pool, retired=True):
        async with team_transaction(pool, team_id, timeout_ms=_TIMEOUT_MS) as transaction:
            for generation in await lock_generations(transaction):
                if generation.contract_id == found.contract_id and generation.state != "retired":
                    await let_go(transaction, generation, now=now)
            for space_id in await open_spaces(transaction):
                await transaction.enter(space_id)
                await transaction.execute(_CONTRACT["forget_backlog"], contract_id=found.contract_id)
                await transaction.execute(_CONTRACT["forget_filled"], contract_id=found.contract_id)
    with stating():
        async with pool.connection() as connection:
            await connection.execute(_SQL["drop_tables"], {"contract_id": found.contract_id})
    return next(contract for contract in await list_contracts(pool) if contract.contract_id == found.contract_id)


async def _teams(pool: Pool, *, retired: bool = False) -> list[UUID]:
    return [team.team_id for team in await tenancy.list_teams(pool) if retired or team.retired_at is None]


async def _row(connection: AsyncConnection[DictRow], name: str, **parameters: object) -> DictRow:
    row = await (await connection.execute(_SQL[name], parameters)).fetchone()
    assert row is not None
    return row


async def _tenant_row(transaction: TeamTransaction, statement: Any, **parameters: object) -> DictRow:
    row = await (await transaction.execute(statement, **parameters)).fetchone()
    assert row is not None
    return row
