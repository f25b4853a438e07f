"""The operations of agents over the assembled adapters: open a transaction, run the domain's line, encode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from commonlore.api import conflicts
from commonlore.api.briefs import Briefs
from commonlore.api.feedback import Feedback
from commonlore.api.hypotheses import Dreams
from commonlore.api.measure import current
from commonlore.api.preparing import prepared
from commonlore.api.promotions import Promotions
from commonlore.db.assemble import Adapters
from commonlore.db.contracts import kept_contracts
from commonlore.db.correct import PostgresCorrections
from commonlore.db.echoes import RecentRecalls
from commonlore.db.embedding.begin import begun
from commonlore.db.embedding.several import ContractEmbedders
from commonlore.db.ingest import PostgresSessions
from commonlore.db.last_read import SpacesLastRead
from commonlore.db.ledger import LedgerSession, PostgresLedger
from commonlore.db.recall import recall_snapshot
from commonlore.db.resident_loading import load_words
from commonlore.db.retraction import PostgresRetraction
from commonlore.db.session import actor_transaction, touch_credentials
from commonlore.db.trace import trace_snapshot
from commonlore.domain.conflict.request import ContestEvidenceRequest, ResolveConflictRequest
from commonlore.domain.correct.request import CorrectRequest
from commonlore.domain.correct.result import CorrectResult
from commonlore.domain.correct.service import correct
from commonlore.domain.delegation.request import (
    ClaimBriefRequest,
    DescribeBriefRequest,
    ListBriefsRequest,
    ReleaseBriefRequest,
    SubmitVerdictRequest,
)
from commonlore.domain.errors import CommonloreError, Conflict
from commonlore.domain.feedback.request import SubmitFeedbackRequest
from commonlore.domain.hypothesis.request import GetDreamRequest, ListDreamsRequest, ResolveDreamRequest
from commonlore.domain.ingest.request import SessionRequest
from commonlore.domain.ingest.result import SessionResult
from commonlore.domain.ingest.service import ingest_session, prepare_session
from commonlore.domain.ports import Embedder, EmbeddingMalformed, EmbeddingUnavailable, embedder_under
from commonlore.domain.promote.request import DecidePromotionRequest, ListPromotionsRequest, PromoteRequest, RevokePromotionRequest
from commonlore.domain.recall.plan import QueryVector, parse_intent
from commonlore.domain.recall.record import Recorder
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.recall.result import RecallResult
from commonlore.domain.recall.service import recall
from commonlore.domain.remember.prepare import Prepared, prepare
from commonlore.domain.remember.request import RememberRequest
from commonlore.domain.remember.service import remember
from commonlore.domain.tenancy.actor import Actor, Scope
from commonlore.domain.tenancy.key import PresentedKey
from commonlore.domain.trace.request import TraceRequest
from commonlore.domain.trace.service import trace
from commonlore.domain.withdraw.retract import RetractRequest, retract

_TRIES = 3
_TOUCH_PERIOD_S, _LOAD_PERIOD_S = 30.0, 1.0
_Result = TypeVar("_Result")


@dataclass(slots=True)
class MemoryOperations:
    """`Operations` for agents. `run_upkeep` notes the use of keys, away from any request."""

    adapters: Adapters
    _used: dict[UUID, set[UUID]] = field(default_factory=dict)
    _last_read: SpacesLastRead = field(default_factory=SpacesLastRead)
    _recent: RecentRecalls = field(default_factory=RecentRecalls)

    async def remember(self, key: PresentedKey, request: RememberRequest, *, correlation_id: str) -> dict[str, object]:
        chars = sum(len(item.content) for item in request.evidence)
        ready = await prepared(self.adapters.embedder, chars, lambda count: prepare(request, count_tokens=count))
        return await _tried(lambda: self._remember(key, ready, correlation_id))

    async def _remember(self, key: PresentedKey, ready: Prepared, correlation_id: str) -> dict[str, object]:
        adapters = self.adapters
        ledger = _NotedLedger(PostgresLedger(adapters.pool, key, adapters.clock, adapters.timeout_ms, self._recent), self.note)
        result = await remember(
            ready, ledger=ledger, embedder=adapters.embedder, clock=adapters.clock, new_id=adapters.new_id, correlation_id=correlation_id
        )
        answer: dict[str, object] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        return answer

    async def ingest_session(self, key: PresentedKey, request: SessionRequest, *, correlation_id: str) -> dict[str, object]:
        adapters = self.adapters
        sessions = PostgresSessions(adapters.pool, key, adapters.clock, adapters.timeout_ms, self.note, self._recent)
        chars = sum(len(event.text) for event in request.events)
        ready = await prepared(adapters.embedder, chars, lambda count: prepare_session(request, count_tokens=count))

        def work() -> Awaitable[SessionResult | str]:
            return ingest_session(
                ready,
                ledger=sessions,
                embedder=adapters.embedder,
                clock=adapters.clock,
                new_id=adapters.new_id,
                correlation_id=correlation_id,
            )

        result = await _tried(work)
        answer: dict[str, object] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        return answer

    async def retract_evidence(self, key: PresentedKey, request: RetractRequest, *, correlation_id: str) -> dict[str, object]:
        request.validate()
        adapters = self.adapters
        ledger = PostgresRetraction(adapters.pool, key, adapters.clock, adapters.timeout_ms, self.note)
        result = await _tried(lambda: retract(request, ledger=ledger, clock=adapters.clock, new_id=adapters.new_id, correlation_id=correlation_id))
        answer: dict[str, object] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        return answer

    async def resolve_conflict(self, key: PresentedKey, request: ResolveConflictRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: conflicts.decide(self.adapters, key, request, note=self.note, correlation_id=correlation_id))

    async def contest_evidence(self, key: PresentedKey, request: ContestEvidenceRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: conflicts.decide(self.adapters, key, request, note=self.note, correlation_id=correlation_id))

    async def correct_relationship(self, key: PresentedKey, request: CorrectRequest, *, correlation_id: str) -> dict[str, object]:
        request.validate()
        adapters = self.adapters
        corrections = PostgresCorrections(adapters.pool, key, adapters.clock, adapters.timeout_ms, self.note)

        def work() -> Awaitable[CorrectResult | str]:
            return correct(
                request,
                corrections=corrections,
                embedder=adapters.embedder,
                clock=adapters.clock,
                new_id=adapters.new_id,
                correlation_id=correlation_id,
            )

        result = await _tried(work)
        answer: dict[str, object] = msgspec.json.decode(result) if isinstance(result, str) else msgspec.to_builtins(result)
        return answer

    async def list_briefs(self, key: PresentedKey, request: ListBriefsRequest, *, correlation_id: str) -> dict[str, object]:
        return await Briefs(self.adapters, self.note).list_briefs(key, request)

    async def describe_brief(self, key: PresentedKey, request: DescribeBriefRequest, *, correlation_id: str) -> dict[str, object]:
        return await Briefs(self.adapters, self.note).describe_brief(key, request)

    async def claim_brief(self, key: PresentedKey, request: ClaimBriefRequest, *, correlation_id: str) -> dict[str, object]:
        return await Briefs(self.adapters, self.note).claim_brief(key, request)

    async def release_brief(self, key: PresentedKey, request: ReleaseBriefRequest, *, correlation_id: str) -> dict[str, object]:
        return await Briefs(self.adapters, self.note).release_brief(key, request)

    async def submit_verdict(self, key: PresentedKey, request: SubmitVerdictRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Briefs(self.adapters, self.note).submit_verdict(key, request, correlation_id=correlation_id))

    async def recall_memory(self, key: PresentedKey, request: RecallRequest, *, correlation_id: str) -> dict[str, object]:
        """One recall. One that met a switch of the embedding contract is done again under the new one: it never mixes two."""
        measure, made_under = current(), self.adapters.embedder.contract.key
        result, actor = await self._recall(key, request, measure.record)
        if any(item.code == "embedding_contract_mismatch" for item in result.degradations) and await self._serves_another(made_under):
            measure.record.fetches.clear()
            result, actor = await self._recall(key, request, measure.record)
        if actor.keeps_feedback:
            result = await Feedback(self.adapters, self.note).keep(actor, result)
        measure.note_degradations((item.frontier, item.code) for item in result.degradations)
        answer: dict[str, object] = msgspec.to_builtins(result)
        return answer

    async def _serves_another(self, contract_key: str) -> bool:
        """Whether queries are embedded under another contract from now on, because another serves."""
        embedder = self.adapters.embedder
        if isinstance(embedder, ContractEmbedders):
            embedder.serve((await kept_contracts(self.adapters.pool))[0].contract_key)
        return embedder.contract.key != contract_key

    async def _recall(self, key: PresentedKey, request: RecallRequest, record: Recorder) -> tuple[RecallResult, Actor]:
        adapters = self.adapters
        with record.step("parse_intent"):
            now = adapters.clock()
            intent = parse_intent(request, now=now)
        embedding: asyncio.Future[QueryVector] | None = None
        if isinstance(adapters.embedder, ContractEmbedders) and adapters.embedder.is_remote:
            # Another machine may take its time: no snapshot waits for it, and nobody without a key makes it work.
            await self.authenticate(key, scope="read")
            embedding = asyncio.ensure_future(_embed(adapters.embedder, request.query, record))
            await asyncio.wait((embedding,))
        elif self._last_read.of(key):
            # A key whose last recall was served: the model works while the database checks it.
            embedding = await begun(_embed(adapters.embedder, request.query, record))
        try:
            async with AsyncExitStack() as stack:
                with record.step("authenticate"):
                    opening = recall_snapshot(
                        adapters.pool,
                        key,
                        clock=adapters.clock,
                        timeout_ms=adapters.timeout_ms,
                        intent=intent,
                        last_read=self._last_read,
                        residence=adapters.residence,
                        vector=embedding,
                    )
                    snapshot = await stack.enter_async_context(opening)
                self.note(snapshot.actor)
                snapshot.actor.require("read")
                if request.spaces:
                    snapshot.narrow(request.spaces)
                embedding = embedding or asyncio.ensure_future(_embed(adapters.embedder, request.query, record))
                result = await recall(
                    request,
                    snapshot=snapshot,
                    vector=embedding,
                    policy=adapters.policy,
                    recall_id=f"rec_{adapters.new_id()}",
                    record=record,
                    intent=intent,
                )
                self._recent.note(snapshot.actor, (item.evidence_id for item in result.results), now)
                return result, snapshot.actor
        except CommonloreError:
            self._last_read.forget(key)  # nothing is begun for its next recall before it is checked
            raise
        finally:
            if embedding is not None:
                embedding.cancel()

    async def trace_memory(self, key: PresentedKey, request: TraceRequest, *, correlation_id: str) -> dict[str, object]:
        adapters = self.adapters
        async with trace_snapshot(adapters.pool, key, clock=adapters.clock, timeout_ms=adapters.timeout_ms) as snapshot:
            self.note(snapshot.actor)
            found: dict[str, Any] = await trace(request, snapshot=snapshot)
        answer: dict[str, object] = msgspec.to_builtins(found)
        return answer

    async def list_dreams(self, key: PresentedKey, request: ListDreamsRequest, *, correlation_id: str) -> dict[str, object]:
        return await Dreams(self.adapters, self.note).list_dreams(key, request)

    async def get_dream(self, key: PresentedKey, request: GetDreamRequest, *, correlation_id: str) -> dict[str, object]:
        return await Dreams(self.adapters, self.note).get_dream(key, request)

    async def promote_evidence(self, key: PresentedKey, request: PromoteRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Promotions(self.adapters, self.note).promote_evidence(key, request, correlation_id=correlation_id))

    async def list_promotions(self, key: PresentedKey, request: ListPromotionsRequest, *, correlation_id: str) -> dict[str, object]:
        return await Promotions(self.adapters, self.note).list_promotions(key, request)

    async def decide_promotion(self, key: PresentedKey, request: DecidePromotionRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Promotions(self.adapters, self.note).decide_promotion(key, request, correlation_id=correlation_id))

    async def revoke_promotion(self, key: PresentedKey, request: RevokePromotionRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Promotions(self.adapters, self.note).revoke_promotion(key, request))

    async def resolve_dream_feedback(self, key: PresentedKey, request: ResolveDreamRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Dreams(self.adapters, self.note).resolve_dream_feedback(key, request, correlation_id=correlation_id))

    async def submit_recall_session_feedback(self, key: PresentedKey, request: SubmitFeedbackRequest, *, correlation_id: str) -> dict[str, object]:
        return await _tried(lambda: Feedback(self.adapters, self.note).submit(key, request))

    async def authenticate(self, key: PresentedKey, *, scope: Scope | None = None) -> None:
        """For messages that touch no memory.

        Raises:
            Unauthenticated
            Forbidden: the key lacks the scope.
        """
        adapters = self.adapters
        async with actor_transaction(adapters.pool, key, clock=adapters.clock, timeout_ms=adapters.timeout_ms, snapshot=True) as (actor, _):
            self.note(actor)
            if scope is not None:
                actor.require(scope)

    def note(self, actor: Actor) -> None:
        """A key was found valid: remember that it was used, which `run_upkeep` writes, and count the call.

        Raises:
            Limited
        """
        current().charge.settle(actor)
        self._used.setdefault(actor.team_id, set()).add(actor.credential_id)

    async def run_upkeep(self, *, recalls_every_s: float) -> None:
        """Write the last use of keys, once every half minute, and what was recalled, and read ahead what recalls ask for, until cancelled.
        A failure is left for the next round."""
        await asyncio.gather(
            _repeated(_TOUCH_PERIOD_S, self.flush_uses), _repeated(recalls_every_s, self.flush_recalls), _repeated(_LOAD_PERIOD_S, self.load_words)
        )

    async def load_words(self) -> None:
        """Read all words of the spaces whose recalls read one after the other."""
        if self.adapters.residence is not None:
            with suppress(CommonloreError):
                await load_words(self.adapters.pool, self.adapters.residence, timeout_ms=self.adapters.timeout_ms)

    async def flush_uses(self) -> None:
        used, self._used = self._used, {}
        for team_id, credential_ids in used.items():
            try:
                await touch_credentials(self.adapters.pool, team_id, sorted(credential_ids), clock=self.adapters.clock)
            except CommonloreError:
                self._used.setdefault(team_id, set()).update(credential_ids)

    async def flush_recalls(self) -> None:
        """Tell other processes what this one recalled, so that they know an echo of it. What cannot be told now is told the next time."""
        with suppress(CommonloreError):
            await self._recent.flush(self.adapters.pool, self.adapters.clock())


async def _repeated(period_s: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(period_s)
        await work()


async def _tried(write: Callable[[], Awaitable[_Result]]) -> _Result:
    """A write that lost a race has left nothing; the same request usually finds its way at once."""
    for _ in range(_TRIES - 1):
        try:
            return await write()
        except Conflict as error:
            if error.code != "commit_conflict":
                raise
    return await write()


@dataclass(frozen=True, slots=True)
class _NotedLedger:
    """A ledger that says who used it."""

    ledger: PostgresLedger
    note: Callable[[Actor], None]

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[LedgerSession]:
        async with self.ledger.reading() as session:
            self.note(session.actor)
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[LedgerSession]:
        async with self.ledger.writing() as session:
            self.note(session.actor)
            yield session


async def _embed(embedder: Embedder, query: str, record: Recorder) -> QueryVector:
    with record.step("embed"):
        return await embed_query(embedder, query)


async def embed_query(embedder: Embedder, query: str) -> QueryVector:
    """The query's vector, or the reason why there is none; never raises for a failing embedder."""
    # The contract may be switched while the model runs: the vector is that of the one it began under.
    chosen = embedder_under(embedder, embedder.contract.key) or embedder
    try:
        return QueryVector(await chosen.embed_query(query), chosen.contract.key)
    except EmbeddingUnavailable:
        return QueryVector(None, failure="provider_unavailable")
    except (EmbeddingMalformed, ValueError):
        return QueryVector(None, failure="provider_malformed")
