"""A memory to test against: the real database and the serving role, with an embedder of the test's choice.

memory = await Memory.open(database)
ann = await memory.key()
await memory.remember(ann, content="Mark works on Dense-Mem.")
answer = await memory.recall(ann, "Who works on Dense-Mem?")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import msgspec

from commonlore.api.service import MemoryOperations
from commonlore.db import tenancy
from commonlore.db.assemble import Adapters
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.session import make_pool, team_transaction
from commonlore.domain.ids import new_id
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.ports import Embedder, EmbeddingContract
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import EvidenceRow, PartText, SupportPath
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.tenancy.key import PresentedKey, parse
from commonlore.domain.trace.request import TraceRequest
from commonlore.workers.embed_parts import embed_parts
from tests.support.databases import TestDatabase
from tests.support.embedders import HashEmbedder

START = datetime(2026, 7, 1, tzinfo=UTC)


class ServedHashEmbedder(HashEmbedder):
    """Word hashing under the name of the served contract, so that its vectors are stored and searched."""

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


class SteppingClock:
    """One second later at each look, from `START`; `advance` jumps."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def advance(self, **step: float) -> datetime:
        self.now += timedelta(**step)
        return self.now


@dataclass(frozen=True)
class Holder:
    """A member's key, with what a test may want to know of it."""

    key: PresentedKey
    text: str
    team_id: UUID
    profile_id: UUID
    credential_id: UUID


@dataclass
class Memory:
    database: TestDatabase
    adapters: Adapters
    clock: SteppingClock
    operations: MemoryOperations
    _teams: dict[str, UUID] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)

    @classmethod
    @asynccontextmanager
    async def open(cls, database: TestDatabase, embedder: Embedder | None = None, *, pool_size: int = 4) -> AsyncIterator[Memory]:
        clock = SteppingClock()
        pool = make_pool(database.serving_conninfo, size=pool_size, name="test")
        await pool.open()
        try:
            adapters = Adapters(pool=pool, embedder=ServedHashEmbedder() if embedder is None else embedder, policy=RankingPolicy(), timeout_ms=20_000, clock=clock)
            yield cls(database, adapters, clock, MemoryOperations(adapters))
        finally:
            await pool.close()

    def with_embedder(self, embedder: Embedder) -> Memory:
        """The same memory, seen by a process with another embedder."""
        adapters = replace(self.adapters, embedder=embedder)
        return replace(self, adapters=adapters, operations=MemoryOperations(adapters))

    async def key(
        self, team: str = "atlas", member: str | None = None, *, scopes: Sequence[str] = ("read", "write"), binding: str = "credential_private"
    ) -> Holder:
        """A new key of a (new) member of a (new) team."""
        owner = tenancy.owner_pool(self.database.owner_conninfo)
        await owner.open()
        try:
            team_id = self._teams.get(team) or new_id()
            async with team_transaction(owner, team_id, timeout_ms=10_000) as transaction:
                now = self.clock()
                if team not in self._teams:
                    await tenancy.create_team(transaction, name=team, now=now)
                    self._teams[team] = team_id
                name = member or f"member-{next(self._numbers)}"
                profiles = {item.name: item.profile_id for item in await tenancy.list_members(transaction)}
                profile_id = profiles.get(name) or (await tenancy.add_member(transaction, name=name, profile_kind="agent", now=now)).profile_id
                issued = await tenancy.mint_key(
                    transaction,
                    profile_id,
                    name=f"key-{next(self._numbers)}",
                    scopes=tuple(scopes),  # type: ignore[arg-type]
                    memory_binding=binding,  # type: ignore[arg-type]
                    expires_at=None,
                    now=now,
                )
        finally:
            await owner.close()
        presented = parse(issued.text)
        assert presented is not None
        return Holder(presented, issued.text, team_id, profile_id, issued.key.credential_id)

    async def remember(self, holder: Holder, /, **request: Any) -> dict[str, Any]:
        """`content=` for one text, or the whole request by its fields."""
        if "content" in request:
            names = [name for name in request if name not in ("relationships", "target_space", "idempotency_key")]
            request = {"evidence": [{name: request.pop(name) for name in names}], **request}
        decoded = msgspec.convert(request, RememberRequest)
        return await self.operations.remember(holder.key, decoded, correlation_id="test")

    async def recall(self, holder: Holder, query: str, **request: Any) -> dict[str, Any]:
        decoded = msgspec.convert({"query": query, **request}, RecallRequest)
        return await self.operations.recall_memory(holder.key, decoded, correlation_id="test")

    async def trace(self, holder: Holder, relationship_id: str, **request: Any) -> dict[str, Any]:
        decoded = msgspec.convert({"relationship_id": relationship_id, **request}, TraceRequest)
        return await self.operations.trace_memory(holder.key, decoded, correlation_id="test")

    async def run_embedding(self, holder: Holder) -> int:
        """Run the job of every space of the holder's team, as the worker role; returns the vectors made."""
        pool = make_pool(self.database.worker_conninfo, size=2, name="test-worker")
        await pool.open()
        try:
            adapters = replace(self.adapters, pool=pool)
            total = 0
            async with team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
                spaces = await (await transaction.connection.execute("select space_id from commonlore.space")).fetchall()
            for row in spaces:
                total += await embed_parts(adapters, team_id=holder.team_id, space_id=row["space_id"])
            return total
        finally:
            await pool.close()


def a_relationship(subject: str, predicate: str, target: str, *, ref: str = "r1", evidence: Sequence[int] = (0,), **fields: Any) -> dict[str, Any]:
    """A proposal between two named entities; `kinds=(..., ...)` for other kinds than person and project."""
    kinds: tuple[str, str] = fields.pop("kinds", ("person", "project"))
    return {
        "ref": ref,
        "subject": {"name": subject, "entity_kind": kinds[0]},
        "predicate": {"proposed_key": predicate},
        "object": {"entity": {"name": target, "entity_kind": kinds[1]}},
        "evidence_indices": list(evidence),
        **fields,
    }


def contexts(answer: Mapping[str, Any]) -> list[str]:
    """The contexts of a recall, best first."""
    return [item["context"] for item in answer["results"]]


def a_path(*, active: bool, group: str = "sg:a") -> SupportPath:
    """A granted support path of a relationship of its own."""
    return SupportPath(new_id(), group, active)


def an_evidence_row(**fields: Any) -> EvidenceRow:
    """A candidate that nothing is wrong with, and that was never claimed."""
    plain: dict[str, Any] = {
        "evidence_id": new_id(),
        "content_sha256": b"\0" * 32,
        "parts": (PartText(0, "text"),),
        "part_count": 1,
        "source": None,
        "source_type": "manual",
        "authority": "unknown",
        "speaker": None,
        "session": None,
        "occurred_at": None,
        "known_from": START,
        "owner_active": True,
        "known_in_view": True,
        "withdrawn": None,
        "paths": (),
    }
    return EvidenceRow(**{**plain, **fields})
