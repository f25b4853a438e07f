"""Submissions over PostgreSQL, and the ledger lock with the instant that it gives: what every write of the ledger begins with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.submission import Claim, Replay
from commonlore.domain.tenancy.actor import Actor, Space

_SQL = statements("submission")
_LEDGER = statements("ledger")


async def lock_ledger(transaction: TeamTransaction, now: datetime) -> datetime:
    """Until the transaction ends nobody else writes relationships in the open space; the instant of all that it decides there.

    It is `now`, or just after the last instant that was given in the space: whoever gets the lock later decided later,
    also where its clock is behind or was read long before. Taken again in one transaction it gives the same instant.
    """
    async with transaction.connection.pipeline():
        await transaction.execute(_LEDGER["lock_ledger"])
        cursor = await transaction.execute(_SQL["next_instant"], now=now)
        row = await cursor.fetchone()
    assert row is not None
    instant: datetime = row["known_from"]
    return instant.astimezone(UTC)


async def lock_ledgers(transaction: TeamTransaction, space_ids: Sequence[UUID], now: datetime) -> datetime:
    """`lock_ledger` for several spaces, in the order of their epochs; one instant for all of them. The last one stays open."""
    instant = now
    given = []
    for space_id in sorted(space_ids, key=lambda key: transaction.epochs[key]):
        await transaction.enter(space_id)
        instant = await lock_ledger(transaction, instant)
        given.append((space_id, instant))
    for space_id, own in given:
        if own != instant:
            await transaction.enter(space_id)
            await lock_ledger(transaction, instant)
    return instant


class StoredSubmissions:
    """`Submissions` of one caller inside one transaction. Both ids are None for whoever holds the database."""

    def __init__(self, transaction: TeamTransaction, profile_id: UUID | None, credential_id: UUID | None) -> None:
        self._transaction = transaction
        self._profile_id = profile_id
        self._credential_id = credential_id

    async def find_submission(self, idempotency_key: str) -> Replay | None:
        """In the open space."""
        cursor = await self._transaction.execute(_SQL["find_submission"], credential_id=self._credential_id, idempotency_key=idempotency_key)
        row = await cursor.fetchone()
        return Replay(bytes(row["request_sha256"]), row["result"]) if row else None

    async def claim_submission(self, claim: Claim) -> Replay | None:
        cursor = await self._transaction.execute(
            _SQL["claim_submission"],
            submission_id=claim.submission_id,
            kind=claim.kind,
            profile_id=self._profile_id,
            credential_id=self._credential_id,
            idempotency_key=claim.idempotency_key,
            request_sha256=claim.request_sha256,
            now=claim.now,
        )
        if await cursor.fetchone() is not None:
            self._transaction.noted.add("submission", claim.submission_id)
            return None
        assert claim.idempotency_key is not None
        # A key that was used in another space, or before a fence, shows no row here: another request all the same.
        return await self.find_submission(claim.idempotency_key) or Replay(b"", None)

    async def conclude_submission(self, claim: Claim, result: msgspec.Struct | dict[str, Any]) -> None:
        encoded = msgspec.json.encode(result).decode()
        await self._transaction.execute(_SQL["conclude_submission"], submission_id=claim.submission_id, result=encoded)


class Session(StoredSubmissions):
    """What the write sessions of the holder of a key share: the actor, the open space, the submissions."""

    def __init__(self, actor: Actor, transaction: TeamTransaction) -> None:
        super().__init__(transaction, actor.profile_id, actor.credential_id)
        self.actor = actor
        self._space: Space | None = None

    async def enter(self, space: Space) -> None:
        self._space = space
        await self._transaction.enter(space.space_id)

    async def claim_submission(self, claim: Claim) -> Replay | None:
        replay = await super().claim_submission(claim)
        if replay is None and self._space is not None and not self._space.has_content:
            await self._transaction.execute(_SQL["mark_content"], space_id=self._space.space_id, now=claim.now)
        return replay

    async def conclude_submission(self, claim: Claim, result: msgspec.Struct | dict[str, Any]) -> None:
        # A write may have been in other spaces since.
        if self._space is not None:
            await self.enter(self._space)
        await super().conclude_submission(claim, result)
