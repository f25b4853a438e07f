"""Sessions over PostgreSQL: which events were taken in, and the one transaction that takes in more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.echoes import RecentRecalls
from commonlore.db.ledger import LedgerSession
from commonlore.db.session import Pool, actor_transaction
from commonlore.db.sql import statements
from commonlore.domain.ingest.events import USER, KnownEvent, Said
from commonlore.domain.ingest.service import SessionEvents
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.standing import final_state

_SQL = statements("ingest")


@dataclass(frozen=True, slots=True)
class PostgresSessions:
    """`SessionLedger` for the holder of one key. `note` is told who used it."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    note: Callable[[Actor], None]
    recent: RecentRecalls = field(default_factory=RecentRecalls)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[IngestSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            yield IngestSession(actor, transaction, self.recent)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[IngestSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            self.note(actor)
            yield IngestSession(actor, transaction)


class IngestSession(LedgerSession):
    """`SessionReader` and `SessionWriter` inside one transaction."""

    async def open_session(self, session_sha256: bytes, now: datetime) -> int:
        await self._transaction.execute(_SQL["open_session"], session_sha256=session_sha256, now=now)
        row = await (await self._transaction.execute(_SQL["lock_session"], session_sha256=session_sha256)).fetchone()
        assert row is not None
        last: int = row["last_sequence"]
        return last

    async def read_events(self, keys: Sequence[bytes]) -> dict[bytes, KnownEvent]:
        cursor = await self._transaction.execute(_SQL["read_events"], keys=list(keys))
        return {bytes(row["event_sha256"]): _known(row) for row in await cursor.fetchall()}

    async def keep_events(self, events: SessionEvents, now: datetime) -> None:
        rows: Mapping[bytes, UUID] = events.evidence_ids
        await self._transaction.execute(
            _SQL["keep_events"],
            session_sha256=events.session_sha256,
            last_sequence=events.last_sequence,
            keys=list(rows),
            evidence_ids=list(rows.values()),
            now=now,
        )


def _known(row: Mapping[str, Any]) -> KnownEvent:
    if row["evidence_id"] is None or row["content_sha256"] is None:
        return KnownEvent(None, None, "not_required", "erased")
    reasons = row["reasons"]
    said = Said(bytes(row["content_sha256"]), row["speaker"] or USER, row["occurred_at"])
    end = final_state(reasons) or ("quarantined" if "quarantined" in reasons else None)
    if end == "erased":
        # What was erased is not compared: the difference would tell of its words.
        return KnownEvent(None, None, "not_required", end)
    return KnownEvent(row["evidence_id"], said, "pending" if row["waits"] else "current", end)
