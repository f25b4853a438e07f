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
import psycopg
from psycopg.conninfo import make_conninfo

from commonlore.api.administration import TeamAdministration
from commonlore.api.service import MemoryOperations
from commonlore.db import tenancy
from commonlore.db.assemble import Adapters
from commonlore.db.embedding.local import CONTRACT
from commonlore.db.residence import Residence
from commonlore.db.session import Pool, TeamTransaction, make_pool, team_transaction
from commonlore.domain.correct.request import CorrectRequest
from commonlore.domain.ids import new_id
from commonlore.domain.ingest.request import SessionRequest
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.policy import RankingPolicy
from commonlore.domain.ports import Embedder, EmbeddingContract
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import EvidenceRow, PartText, SupportPath
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.decide import decide
from commonlore.domain.remember.ground import CitedText
from commonlore.domain.remember.prepare import Prepared, prepare
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.remember.resolve import NameState, resolve_proposals
from commonlore.domain.remember.result import RelationshipResult
from commonlore.domain.remember.standing import Cited, Relationship
from commonlore.domain.tenancy.key import PresentedKey, parse
from commonlore.domain.trace.request import TraceRequest
from commonlore.domain.withdraw.quarantine import QuarantineRequest
from commonlore.domain.withdraw.retract import RetractRequest
from tests.support.databases import TestDatabase
from tests.support.embedders import HashEmbedder
from tests.support.jobs import embed as embed_parts

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


def kept_spaces(most_bytes: int = 8_000_000) -> Residence:
    """As a process keeps them, but of every space, however small, from its second recall on."""
    return Residence(most_bytes, least_rows=1, least_vectors=1, patience_s=0.0, words_patience_s=0.0)


@dataclass(frozen=True)
class Holder:
    """A member's key, with what a test may want to know of it."""

    key: PresentedKey
    text: str
    team_id: UUID
    profile_id: UUID
    credential_id: UUID


async def mint(transaction: TeamTransaction, profile_id: UUID, *, name: str, scopes: Sequence[str], binding: str, now: datetime) -> Holder:
    """A new key of a member."""
    issued = await tenancy.mint_key(
        transaction,
        profile_id,
        name=name,
        scopes=tuple(scopes),  # type: ignore[arg-type]
        memory_binding=binding,  # type: ignore[arg-type]
        expires_at=None,
        now=now,
    )
    presented = parse(issued.text)
    assert presented is not None
    return Holder(presented, issued.text, transaction.team_id, profile_id, issued.key.credential_id)


@dataclass
class Connections:
    """What a test's memory keeps open to its end: a new connection and its first statements cost more than most tests do."""

    database: TestDatabase
    _pools: dict[str, Pool] = field(default_factory=dict)
    _administrator: psycopg.Connection[Any] | None = None

    async def pool(self, name: str) -> Pool:
        """Of the owner or of the worker."""
        if name not in self._pools:
            made = (
                tenancy.owner_pool(self.database.owner_conninfo) if name == "owner" else make_pool(self.database.worker_conninfo, size=2, name=name)
            )
            self._pools[name] = made
            await made.open()
        return self._pools[name]

    def administrator(self) -> psycopg.Connection[Any]:
        if self._administrator is None or self._administrator.closed:
            self._administrator = psycopg.connect(self.database.admin_conninfo, autocommit=True)
        return self._administrator

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.close()
        if self._administrator is not None:
            self._administrator.close()


@dataclass
class Memory:
    database: TestDatabase
    adapters: Adapters
    clock: SteppingClock
    operations: MemoryOperations
    connections: Connections
    _teams: dict[str, UUID] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)

    @classmethod
    @asynccontextmanager
    async def open(cls, database: TestDatabase, embedder: Embedder | None = None, *, pool_size: int = 4) -> AsyncIterator[Memory]:
        clock = SteppingClock()
        pool = make_pool(database.serving_conninfo, size=pool_size, name="test")
        # One at first: what one after the other asks is then prepared once. More come as soon as one has to wait.
        pool._min_size = pool._nconns = 1
        connections = Connections(database)
        await pool.open()
        try:
            adapters = Adapters(
                pool=pool,
                embedder=ServedHashEmbedder() if embedder is None else embedder,
                policy=RankingPolicy(),
                timeout_ms=20_000,
                clock=clock,
                residence=kept_spaces(),
            )
            yield cls(database, adapters, clock, MemoryOperations(adapters), connections)
        finally:
            await connections.close()
            await pool.close()

    def with_embedder(self, embedder: Embedder) -> Memory:
        """The same memory, seen by a process with another embedder."""
        adapters = replace(self.adapters, embedder=embedder)
        return replace(self, adapters=adapters, operations=MemoryOperations(adapters))

    def without_residence(self) -> Memory:
        """The same memory, seen by a process that keeps nothing of it."""
        adapters = replace(self.adapters, residence=None)
        return replace(self, adapters=adapters, operations=MemoryOperations(adapters))

    def with_timeout(self, timeout_ms: int) -> Memory:
        """The same memory, whose statements may take that long."""
        adapters = replace(self.adapters, timeout_ms=timeout_ms)
        return replace(self, adapters=adapters, operations=MemoryOperations(adapters))

    async def key(
        self, team: str = "atlas", member: str | None = None, *, scopes: Sequence[str] = ("read", "write"), binding: str = "credential_private"
    ) -> Holder:
        """A new key of a (new) member of a (new) team."""
        team_id = self._teams.get(team) or new_id()
        async with team_transaction(await self.connections.pool("owner"), team_id, timeout_ms=10_000) as transaction:
            now = self.clock()
            if team not in self._teams:
                await tenancy.create_team(transaction, name=team, now=now)
                self._teams[team] = team_id
            name = member or f"member-{next(self._numbers)}"
            profiles = {item.name: item.profile_id for item in await tenancy.list_members(transaction)}
            profile_id = profiles.get(name) or (await tenancy.add_member(transaction, name=name, profile_kind="agent", now=now)).profile_id
            return await mint(transaction, profile_id, name=f"key-{next(self._numbers)}", scopes=scopes, binding=binding, now=now)

    async def remember(self, holder: Holder, /, **request: Any) -> dict[str, Any]:
        """`content=` for one text, or the whole request by its fields."""
        if "content" in request:
            names = [name for name in request if name not in ("relationships", "target_space", "space", "idempotency_key")]
            request = {"evidence": [{name: request.pop(name) for name in names}], **request}
        decoded = msgspec.convert(request, RememberRequest)
        return await self.operations.remember(holder.key, decoded, correlation_id="test")

    async def ingest(self, holder: Holder, *texts: str, **request: Any) -> dict[str, Any]:
        """One call to ingest_session: texts become the events e1, e2 and so on, unless `events=` gives them."""
        names = {"framework": "test", "app_name": "app", "user_id": "ada", "session_id": "s1", "target_space": "team_shared"}
        events = [{"event_id": f"e{number}", "text": text} for number, text in enumerate(texts, start=1)]
        decoded = msgspec.convert({**names, "events": events, **request}, SessionRequest)
        return await self.operations.ingest_session(holder.key, decoded, correlation_id="test")

    async def recall(self, holder: Holder, query: str, **request: Any) -> dict[str, Any]:
        decoded = msgspec.convert({"query": query, **request}, RecallRequest)
        return await self.operations.recall_memory(holder.key, decoded, correlation_id="test")

    async def trace(self, holder: Holder, relationship_id: str, **request: Any) -> dict[str, Any]:
        decoded = msgspec.convert({"relationship_id": relationship_id, **request}, TraceRequest)
        return await self.operations.trace_memory(holder.key, decoded, correlation_id="test")

    async def retract(self, holder: Holder, *evidence_ids: str, **request: Any) -> dict[str, Any]:
        decoded = msgspec.convert({"evidence_ids": list(evidence_ids), "reason": "a test", **request}, RetractRequest)
        return await self.operations.retract_evidence(holder.key, decoded, correlation_id="test")

    async def quarantine(self, holder: Holder, *evidence_ids: str, held: bool = True) -> list[str]:
        """Hold or release by a key with the scope admin; the disposition of each."""
        decoded = msgspec.convert({"evidence_ids": list(evidence_ids), "reason": "a test"}, QuarantineRequest)
        administration = TeamAdministration(self.adapters, lambda _: None)
        decide = administration.quarantine_evidence if held else administration.release_evidence
        return [item["disposition"] for item in (await decide(holder.key, decoded, correlation_id="test"))["evidence"]]

    async def correct(self, holder: Holder, relationship_id: str, *, version: int | None = 1, **request: Any) -> dict[str, Any]:
        """`patch=` for a submission, or the fields of a confirmation with `version=None`."""
        fields = {"relationship_id": relationship_id, **({} if version is None else {"expected_version": version}), **request}
        decoded = msgspec.convert(fields, CorrectRequest)
        return await self.operations.correct_relationship(holder.key, decoded, correlation_id="test")

    async def remember_all(self, holder: Holder, texts: Sequence[str], **fields: Any) -> list[str]:
        """Texts without relationships, twenty a call; their evidence ids in order."""
        ids: list[str] = []
        for place in range(0, len(texts), 20):
            answer = await self.remember(holder, evidence=[{"content": text} for text in texts[place : place + 20]], **fields)
            ids += [item["evidence_id"] for item in answer["evidence"]]
        return ids

    async def relate(self, holder: Holder, text: str, subject: str, predicate: str, target: str, **fields: Any) -> str:
        """One text with one relationship that it carries; the relationship's id."""
        request = {name: fields.pop(name) for name in ("target_space", "space", "speaker") if name in fields}
        answer = await self.remember(holder, content=text, relationships=[a_relationship(subject, predicate, target, **fields)], **request)
        return str(answer["relationship_results"][0]["splits"][0]["relationship_id"])

    def sql(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """One statement as the superuser, committed; its rows, if it returns any."""
        cursor = self.connections.administrator().execute(statement.encode(), parameters)
        return cursor.fetchall() if cursor.description else []

    @asynccontextmanager
    async def under(self, options: str, *, size: int = 2) -> AsyncIterator[Memory]:
        """The same memory over connections with server options, such as `-c enable_seqscan=off`."""
        pool = make_pool(make_conninfo(self.database.serving_conninfo, options=options), size=size, name="test")
        await pool.open()
        try:
            adapters = replace(self.adapters, pool=pool)
            yield replace(self, adapters=adapters, operations=MemoryOperations(adapters))
        finally:
            await pool.close()

    async def run_embedding(self, holder: Holder) -> int:
        """Run the job of every space of the holder's team, as the worker role; returns the vectors made."""
        pool = await self.connections.pool("test-worker")
        adapters = replace(self.adapters, pool=pool)
        total = 0
        async with team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
            spaces = await (await transaction.connection.execute("select space_id from commonlore.space")).fetchall()
        for row in spaces:
            total += await embed_parts(adapters, team_id=holder.team_id, space_id=row["space_id"])
        return total


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


def prepared(content: str | Sequence[str], relationships: Sequence[Mapping[str, Any]], **evidence: Any) -> Prepared:
    """A request of one or more texts and the proposals read in them, prepared with words as tokens."""
    texts = [content] if isinstance(content, str) else content
    request = {"evidence": [{"content": text, **evidence} for text in texts], "relationships": list(relationships)}
    return prepare(msgspec.convert(request, RememberRequest), count_tokens=lambda text: len(text.split()))


@dataclass(frozen=True)
class Decided:
    results: list[RelationshipResult]
    changes: Changes
    evidence_ids: list[UUID]
    now: datetime


@dataclass
class Ledgered:
    """The ledger of one author and one space in memory: decides requests, and keeps what they made for the next."""

    names: NameState = field(default_factory=NameState)
    rows: dict[UUID, Relationship] = field(default_factory=dict)
    texts: dict[UUID, str] = field(default_factory=dict)
    clock: SteppingClock = field(default_factory=SteppingClock)

    def decide(
        self, content: str | Sequence[str], *proposals: Mapping[str, Any], evidence_id: UUID | None = None, is_held: bool = False, **evidence: Any
    ) -> Decided:
        """One request. `evidence_id` is that of the text, when it is a later sighting; `is_held`, its texts are in quarantine."""
        request = prepared(content, proposals, **evidence)
        ids = [evidence_id or new_id() for _ in request.evidence]
        changes, now = Changes(), self.clock()
        resolved = resolve_proposals(request.relationships, self.names, changes, new_id=new_id)
        existing = [replace(item, supports=set(item.supports), source_groups=set(item.source_groups)) for item in self.rows.values()]
        cited = {
            place: Cited(key, CitedText(item.proposal.content, item.proposal.speaker), str(key), "unknown", is_held)
            for place, (key, item) in enumerate(zip(ids, request.evidence, strict=True))
        }
        results = decide(resolved, existing=existing, cited=cited, known_cited={}, changes=changes, new_id=new_id, now=now)
        self.texts.update({key: item.proposal.content for key, item in zip(ids, request.evidence, strict=True)})
        self._keep(changes)
        return Decided(results, changes, ids, now)

    def _keep(self, changes: Changes) -> None:
        for row in changes.relationships:
            statement = Statement(
                row.subject_entity_id, row.predicate_key, row.object_entity_id, row.object_value_id, row.polarity, row.scope_key, row.valid_from
            )
            self.rows[row.relationship_id] = Relationship(
                row.relationship_id,
                statement,
                row.status,
                row.version,
                row.valid_to,
                None,
                known_to=row.known_to,
                current_cardinality=row.current_cardinality,
            )
        for change in changes.changed:
            item = self.rows[change.relationship_id]
            self.rows[change.relationship_id] = replace(
                item, status=change.status, version=change.version, valid_to=change.valid_to, known_to=change.known_to
            )
        for support in changes.supports:
            self.rows[support.relationship_id].supports.add((support.evidence_id, support.span_start, support.span_end))
            self.rows[support.relationship_id].source_groups.add(support.source_group_key)
        for document in changes.documents:
            self.rows[document.relationship_id].document_text = document.document_text


def shown(answer: Mapping[str, Any]) -> bytes:
    """An answer as bytes, without the id that every call has of its own."""
    return msgspec.json.encode({name: part for name, part in answer.items() if name != "recall_id"}, order="sorted")
