"""The ledger over PostgreSQL: the reads before a write, and the one transaction of a write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from commonlore.db.backlog import enqueue_embedding
from commonlore.db.changes import read_generation, write_changes
from commonlore.db.conflict_decisions import recite, require_case
from commonlore.db.conflicts import Write
from commonlore.db.echoes import ReadRecalls, RecentRecalls, keep_echoes, read_recalled
from commonlore.db.evidence_rows import store_evidence
from commonlore.db.session import Pool, TeamTransaction, actor_transaction
from commonlore.db.settlement import settle
from commonlore.db.sources import exclude_older_revisions
from commonlore.db.sql import statements
from commonlore.db.storage import KeptCounts, look_for_room
from commonlore.db.submissions import Session, lock_ledger
from commonlore.db.withdrawal import end_evidence, read_standing
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.echo import Echo
from commonlore.domain.ledger.entity import NamedEntity
from commonlore.domain.ledger.predicate import Predicate
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.settlement import Cause, Settled
from commonlore.domain.ledger.value import NORMALIZATION_VERSION, Value
from commonlore.domain.ports import Vectors
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.contest import JoinedCase
from commonlore.domain.remember.ground import CitedText
from commonlore.domain.remember.prepare import Prepared, PreparedRelationship
from commonlore.domain.remember.request import ConflictContext
from commonlore.domain.remember.resolve import KnownEntity, NameState
from commonlore.domain.remember.service import StoredEvidence, Submission
from commonlore.domain.remember.standing import Cited, Relationship
from commonlore.domain.tenancy.actor import Actor
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.standing import Standing

# What this process knows of how much teams keep.
KEPT = KeptCounts()
_SQL = statements("ledger")
_CORRECT = statements("correct")
_INSTALLATION = statements("installation")


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """`Ledger` for the holder of one key."""

    pool: Pool
    key: PresentedKey
    clock: Clock
    timeout_ms: int
    recent: RecentRecalls = field(default_factory=RecentRecalls)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms, snapshot=True) as (actor, transaction):
            yield LedgerSession(actor, transaction, self.recent)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[LedgerSession]:
        async with actor_transaction(self.pool, self.key, clock=self.clock, timeout_ms=self.timeout_ms) as (actor, transaction):
            yield LedgerSession(actor, transaction)


class LedgerSession(Session):
    """`LedgerReader` and `LedgerWriter` inside one transaction. `recent`: what this process recalled; without it nothing is compared."""

    def __init__(self, actor: Actor, transaction: TeamTransaction, recent: RecentRecalls | None = None) -> None:
        super().__init__(actor, transaction)
        self._recent = recent

    async def read_recalled(self) -> ReadRecalls:
        if self._recent is None:
            return ReadRecalls(RecentRecalls())
        assert self._space is not None and self._transaction.began is not None
        return await read_recalled(self._transaction, self.actor, self._space, self._recent, self._transaction.began)

    async def keep_echoes(self, echoes: Mapping[UUID, Echo], now: datetime) -> None:
        await keep_echoes(self._transaction, echoes, now)

    async def read_contract_key(self) -> str | None:
        row = await (await self._transaction.execute(_INSTALLATION["read_contract"])).fetchone()
        return row["contract_key"] if row else None

    async def store_evidence(self, submission: Submission, vectors: Mapping[str, Vectors], *, new_id: NewId) -> list[StoredEvidence]:
        """As `db/evidence_rows.py`, within what the team may keep.

        Raises:
            Limited: `storage_full`.
        """
        transaction, space_id = self._transaction, submission.space.space_id
        room = await look_for_room(transaction, KEPT, submission.actor.limits.storage, space_id)
        stored = await store_evidence(transaction, submission, vectors, new_id=new_id)
        if room is not None:
            new = [item for item, done in zip(submission.prepared.evidence, stored, strict=True) if done.is_new]
            size = sum(len(item.proposal.content.encode()) for item in new)
            room.require(len(new), size)
            KEPT.add(transaction.team_id, space_id, len(new), size)
        return stored

    async def lock_ledger(self, now: datetime) -> datetime:
        return await lock_ledger(self._transaction, now)

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[UUID, Standing]:
        return await read_standing(self._transaction, evidence_ids)

    async def supersede(self, submission_id: UUID, replacements: Mapping[UUID, UUID], now: datetime) -> None:
        await end_evidence(
            self._transaction,
            dict(replacements),
            action="supersede",
            reason="superseded",
            actor_profile_id=self.actor.profile_id,
            submission_id=submission_id,
            now=now,
        )

    async def exclude_older_revisions(self, source_ids: Collection[UUID], now: datetime) -> list[UUID]:
        return await exclude_older_revisions(self._transaction, source_ids, now=now)

    async def settle(self, evidence_ids: Collection[UUID], cause: Cause, now: datetime) -> list[Settled]:
        return await settle(self._transaction, evidence_ids=evidence_ids, cause=cause, actor_profile_id=self.actor.profile_id, now=now)

    async def read_names(self, prepared: Prepared) -> NameState:
        return await self.read_names_of(prepared.relationships)

    async def read_names_of(self, proposals: Sequence[PreparedRelationship]) -> NameState:
        """What the space knows of everything that the proposals name."""
        keys = {key for item in proposals for key in (item.subject_key, item.object_key) if key is not None}
        ids = {
            end.known_entity_id for item in proposals for end in (item.proposal.subject, item.proposal.object.entity) if end and end.known_entity_id
        }
        values = [item.value for item in proposals if item.value is not None]
        return await self.look_up(name_keys=keys, entity_ids=ids, predicate_keys={item.predicate_key for item in proposals}, values=values)

    async def look_up(
        self, *, name_keys: Collection[str], entity_ids: Collection[UUID], predicate_keys: Collection[str], values: Sequence[Value]
    ) -> NameState:
        """What the space knows of names, ids, predicates and values. The id of a merged entity means the one it lives on in."""
        async with self._transaction.connection.pipeline():
            names = await self._transaction.execute(_SQL["read_names"], name_keys=sorted(name_keys), entity_ids=sorted(entity_ids))
            predicates = await self._transaction.execute(_SQL["read_predicates"], keys=sorted(predicate_keys))
            found = await self._transaction.execute(
                _SQL["read_values"],
                types=[value.value_type for value in values],
                canonicals=[value.canonical for value in values],
                normalization_version=NORMALIZATION_VERSION,
            )
            state = _name_state(await names.fetchall(), await predicates.fetchall(), await found.fetchall())
        await self._follow_merged(state, [key for key in entity_ids if key not in state.by_id])
        return state

    async def _follow_merged(self, state: NameState, missing: Sequence[UUID]) -> None:
        if not missing:
            return
        rows = await (await self._transaction.execute(_CORRECT["follow_merged"], entity_ids=list(missing))).fetchall()
        if rows:
            kept = sorted({row["entity_id"] for row in rows} - state.by_id.keys())
            names = await (await self._transaction.execute(_SQL["read_names"], name_keys=[], entity_ids=kept)).fetchall()
            state.by_id.update(_name_state(names, (), ()).by_id)
            state.by_id.update({row["asked_id"]: state.by_id[row["entity_id"]] for row in rows})

    async def read_cited(self, evidence_ids: Sequence[UUID]) -> dict[UUID, Cited]:
        cursor = await self._transaction.execute(_SQL["read_cited"], evidence_ids=list(evidence_ids))
        return {
            row["evidence_id"]: Cited(row["evidence_id"], CitedText(row["content"], row["speaker"]), row["source_group_key"], row["authority"])
            for row in await cursor.fetchall()
        }

    async def read_relationships(self, wanted: Sequence[Statement]) -> list[Relationship]:
        if not wanted:
            return []
        cursor = await self._transaction.execute(
            _SQL["read_relationships"],
            profile_id=self.actor.profile_id,
            subjects=[item.subject_entity_id for item in wanted],
            predicates=[item.predicate_key for item in wanted],
            objects=[item.object_entity_id or item.object_value_id for item in wanted],
            generation=await read_generation(self._transaction),
        )
        return [_relationship(row) for row in await cursor.fetchall()]

    async def read_targets(self, relationship_ids: Sequence[UUID]) -> list[Relationship]:
        if not relationship_ids:
            return []
        generation = await read_generation(self._transaction)
        cursor = await self._transaction.execute(
            _CORRECT["read_targets"], profile_id=self.actor.profile_id, relationship_ids=list(relationship_ids), generation=generation
        )
        return [_relationship(row) for row in await cursor.fetchall()]

    async def write(self, submission: Submission, changes: Changes, vectors: Mapping[str, Vectors]) -> bool:
        profile_id = self.actor.profile_id
        return await write_changes(
            self._transaction, changes, vectors, now=submission.now, submission_id=submission.submission_id, profile_id=profile_id
        )

    async def require_cases(self, contexts: Sequence[ConflictContext]) -> dict[UUID, JoinedCase]:
        return {context.conflict_id: await require_case(self._transaction, context) for context in contexts}

    async def recite(self, conflict_id: UUID, evidence_ids: Sequence[UUID], now: datetime) -> None:
        await recite(Write(self._transaction, self.actor.profile_id, now), conflict_id, evidence_ids)

    async def enqueue_embedding(self) -> None:
        assert self._space is not None
        await enqueue_embedding(self._transaction, self._space.space_id)


def _name_state(names: Sequence[dict[str, Any]], predicates: Sequence[dict[str, Any]], values: Sequence[dict[str, Any]]) -> NameState:
    state = NameState()
    for row in names:
        entity = NamedEntity(row["entity_id"], row["entity_kind"], row["names"][0])
        state.by_id[entity.entity_id] = KnownEntity(entity, tuple(row["names"]))
        for key in row["matched"] or ():
            state.by_key.setdefault(key, []).append(entity)
    for row in predicates:
        state.predicates[row["predicate_key"]] = Predicate(
            key=row["predicate_key"],
            version=row["version"],
            aliases=tuple(row["aliases"]),
            subject_kinds=tuple(row["subject_kinds"]),
            object_kinds=tuple(row["object_kinds"]),
            relationship_kind=row["relationship_kind"],
            current_cardinality=row["current_cardinality"],
            lifecycle_state=row["lifecycle_state"],
        )
    for row in values:
        state.values[(row["value_type"], row["canonical_value"], row["unit"])] = row["value_id"]
    return state


def _relationship(row: dict[str, Any]) -> Relationship:
    known_to: datetime | None = row["known_to"]
    places = [((UUID(evidence_id), start, end), UUID(key), group, decision) for key, evidence_id, start, end, group, decision in row["supports"]]
    return Relationship(
        relationship_id=row["relationship_id"],
        statement=Statement(
            row["subject_entity_id"],
            row["predicate_key"],
            row["object_entity_id"],
            row["object_value_id"],
            row["polarity"],
            row["scope_key"],
            row["valid_from"],
        ),
        status=row["status"],
        version=row["version"],
        valid_to=row["valid_to"],
        document_text=row["document_text"],
        supports={place for place, _, _, decision in places if decision != "revoke"},
        source_groups={group for _, _, group, decision in places if decision != "revoke"},
        revoked={place: key for place, key, _, decision in places if decision == "revoke"},
        known_to=known_to,
        relationship_kind=row["relationship_kind"],
        current_cardinality=row["current_cardinality"],
        predicate_version=row["predicate_version"],
    )
