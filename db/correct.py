"""Corrections over PostgreSQL: the read before the write, and the one transaction of the write."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from commonlore.db.changes import read_generation, write_changes
from commonlore.db.ledger import LedgerSession
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.sql import statements
from commonlore.domain.correct.amend import EffectiveSupport, PreparedPatch, Source
from commonlore.domain.correct.decide import SupportKey
from commonlore.domain.correct.request import CorrectRequest
from commonlore.domain.correct.result import CandidatesResult
from commonlore.domain.correct.service import CONFIRMATION_PERIOD, WaitingCorrection
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.value import Value
from commonlore.domain.ports import Vectors
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.resolve import NameState
from commonlore.domain.remember.standing import Relationship
from commonlore.domain.submission import Claim
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock

_SQL = statements("correct")


@dataclass(frozen=True, slots=True)
class PostgresCorrections:
    """`Corrections` for the holder of one key."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    note: Callable[[Actor], None] = lambda _: None

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[CorrectionSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms, snapshot=True) as (actor, transaction):
            self.note(actor)
            yield CorrectionSession(actor, transaction, self.key)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[CorrectionSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            self.note(actor)
            yield CorrectionSession(actor, transaction, self.key)


class CorrectionSession(LedgerSession):
    """`CorrectionReader` and `CorrectionWriter` inside one transaction."""

    def __init__(self, actor: Actor, transaction: TeamTransaction, key: PresentedKey) -> None:
        super().__init__(actor, transaction)
        self._key = key

    async def locate(self, relationship_id: UUID) -> Space | None:
        for space in self.actor.spaces:
            await self.enter(space)
            cursor = await self._transaction.execute(_SQL["has_relationship"], relationship_id=relationship_id)
            if await cursor.fetchone() is not None:
                return space
        return None

    def token_of(self, submission_id: UUID) -> str:
        return hmac.new(self._key.secret_sha256, f"correction {submission_id}".encode("ascii"), hashlib.sha256).hexdigest()

    async def read_source(self, relationship_id: UUID) -> Source:
        generation = await read_generation(self._transaction)
        row = await (await self._transaction.execute(_SQL["read_source"], relationship_id=relationship_id, generation=generation)).fetchone()
        assert row is not None
        return _source(row)

    async def read_patch_names(self, patch: PreparedPatch) -> NameState:
        fields = patch.request.patch
        assert fields is not None
        ends = [end for end in (fields.subject_entity, fields.object_entity) if end is not None]
        return await self.look_up(
            name_keys={key for key in (patch.subject_key, patch.object_key) if key is not None},
            entity_ids={end.entity_id for end in ends if end.entity_id is not None},
            predicate_keys={patch.predicate_key} if patch.predicate_key else set(),
            values=[patch.value] if patch.value else [],
        )

    async def read_revoked(self, relationship_id: UUID) -> dict[SupportKey, UUID]:
        rows = await (await self._transaction.execute(_SQL["read_revoked"], relationship_id=relationship_id)).fetchall()
        return {(row["evidence_id"], row["span_start"], row["span_end"]): row["support_id"] for row in rows}

    async def find_correction(self, submission_id: UUID) -> WaitingCorrection | None:
        cursor = await self._transaction.execute(_SQL["find_correction"], submission_id=submission_id, profile_id=self.actor.profile_id)
        row = await cursor.fetchone()
        if row is None:
            return None
        return WaitingCorrection(
            relationship_id=row["relationship_id"],
            expected_version=row["expected_version"],
            request=msgspec.convert(row["request"], CorrectRequest),
            support_set_sha256=bytes(row["support_set_sha256"]),
            is_waiting=row["state"] == "awaiting_confirmation",
            token_sha256=bytes(row["token_sha256"]),
            expires_at=row["expires_at"],
        )

    async def write_correction(self, claim: Claim, changes: Changes, vectors: Mapping[str, Vectors]) -> bool:
        profile_id = self.actor.profile_id
        return await write_changes(self._transaction, changes, vectors, now=claim.now, submission_id=claim.submission_id, profile_id=profile_id)

    async def keep_correction(
        self,
        claim: Claim,
        request: CorrectRequest,
        supports: bytes,
        *,
        candidates: CandidatesResult | None,
        successor_id: UUID | None,
    ) -> None:
        waits = candidates is not None
        token = self.token_of(claim.submission_id).encode("ascii")
        await self._transaction.execute(
            _SQL["keep_correction"],
            submission_id=claim.submission_id,
            profile_id=self.actor.profile_id,
            relationship_id=request.relationship_id,
            expected_version=request.expected_version,
            request=msgspec.json.encode(request).decode(),
            support_set_sha256=supports,
            state="awaiting_confirmation" if waits else "completed",
            candidates=msgspec.json.encode(candidates).decode() if waits else None,
            token_sha256=hashlib.sha256(token).digest() if waits else None,
            expires_at=claim.now + CONFIRMATION_PERIOD if waits else None,
            successor_id=successor_id,
            now=claim.now,
            concluded_at=None if waits else claim.now,
        )

    async def conclude_correction(self, submission_id: UUID, *, now: datetime, successor_id: UUID | None, reason_code: str | None) -> None:
        state = "completed" if reason_code is None else "rejected"
        await self._transaction.execute(
            _SQL["conclude_correction"], submission_id=submission_id, state=state, successor_id=successor_id, reason_code=reason_code, now=now
        )


def _source(row: dict[str, Any]) -> Source:
    granted = [
        (EffectiveSupport(UUID(support_id), UUID(evidence_id), group, start, end, quote, authority), withdrawn)
        for support_id, evidence_id, group, start, end, quote, authority, withdrawn in row["supports"]
    ]
    supports = tuple(support for support, withdrawn in granted if not withdrawn)
    statement = Statement(
        row["subject_entity_id"],
        row["predicate_key"],
        row["object_entity_id"],
        row["object_value_id"],
        row["polarity"],
        row["scope_key"],
        row["valid_from"],
    )
    value = None
    if row["object_value_id"] is not None:
        value = Value(row["value_type"], row["canonical_value"], row["unit"], row["display"])
    return Source(
        relationship=Relationship(
            relationship_id=row["relationship_id"],
            statement=statement,
            status=row["status"],
            version=row["version"],
            valid_to=row["valid_to"],
            document_text=row["document_text"],
            supports={support.key for support in supports},
            source_groups={support.source_group_key for support in supports},
            known_to=row["known_to"],
            relationship_kind=row["relationship_kind"],
            current_cardinality=row["current_cardinality"],
            predicate_version=row["predicate_version"],
        ),
        owner_profile_id=row["owner_profile_id"],
        subject=NamedEntity(row["subject_entity_id"], row["subject_kind"], row["subject_name"]),
        target=NamedEntity(row["object_entity_id"], row["object_kind"], row["object_name"]) if row["object_entity_id"] else None,
        value=value,
        value_id=row["object_value_id"],
        predicate=Predicate(
            key=row["predicate_key"],
            version=row["newest_version"],
            aliases=tuple(row["aliases"]),
            subject_kinds=tuple(row["subject_kinds"]),
            object_kinds=tuple(row["object_kinds"]),
            relationship_kind=row["newest_kind"],
            current_cardinality=row["newest_cardinality"],
            lifecycle_state=row["lifecycle_state"],
        ),
        supports=supports,
        withheld=tuple(support for support, withdrawn in granted if withdrawn),
    )
