"""Taking in a session: from events to evidence, in one line.

    prepare -> foresee -> embed -> claim -> open session -> sort -> store evidence -> keep events -> conclude

All events of a call are stored, or none. A text is searchable by its words when the call returns, and by its meaning too
unless the answer says `pending`. What the texts say of people and things is asked by briefs; nothing reads them here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import UNSET, json, structs

from commonlore.domain.checks import read_instant
from commonlore.domain.degradation import SearchState, combine
from commonlore.domain.delegation.brief import BriefKey
from commonlore.domain.delegation.session import windows_of
from commonlore.domain.ids import NewId
from commonlore.domain.ingest.events import USER, KnownEvent, Said, Sorted, event_sha256, session_name, session_sha256, sort_events, user_name
from commonlore.domain.ingest.request import SessionRequest
from commonlore.domain.ingest.result import EventResult, SessionResult
from commonlore.domain.ledger.echo import Echo
from commonlore.domain.ports import Embedder, Vectors
from commonlore.domain.projection.embed import embed_inline
from commonlore.domain.remember.prepare import Prepared, PreparedEvidence, prepare_evidence
from commonlore.domain.remember.request import EvidenceProposal, RememberRequest
from commonlore.domain.remember.result import CONTRACT_VERSION
from commonlore.domain.remember.service import QUARANTINED, LedgerReader, LedgerWriter, StoredEvidence, Submission, gone_warnings, store_with_echoes
from commonlore.domain.submission import Claim, answer_once, first_answer, request_sha256
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import Clock

KIND = "ingest_session"
# About 100,000 characters; five seconds of the local model on two cores. The published client takes `pending` for a failure.
INLINE_VECTORS = 256


@dataclass(frozen=True, slots=True)
class PreparedSession:
    request: SessionRequest
    request_sha256: bytes
    evidence: tuple[PreparedEvidence, ...]

    @property
    def said(self) -> list[Said]:
        return [Said(item.content_sha256, item.proposal.speaker or USER, item.occurred_at) for item in self.evidence]

    def keys(self, owner_profile_id: UUID) -> list[bytes]:
        """The identity of each event, in order."""
        return [event_sha256(owner_profile_id, self.request, event.event_id) for event in self.request.events]


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """New events of a session: the evidence that holds the text of each, by its identity, and the number of the last."""

    session_sha256: bytes
    evidence_ids: Mapping[bytes, UUID]
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Taken:
    """One call on its way: what stands for it, and where it goes."""

    claim: Claim
    space: Space
    correlation_id: str


class SessionReader(LedgerReader, Protocol):
    """One short read before the write."""

    async def read_events(self, keys: Sequence[bytes]) -> dict[bytes, KnownEvent]:
        """Those of the keys that were taken in before, in the open space."""
        ...


class SessionWriter(LedgerWriter, SessionReader, Protocol):
    """One write transaction."""

    async def open_session(self, session_sha256: bytes, now: datetime) -> int:
        """Until the transaction ends nobody else adds to this session; the sequence of its last event, 0 for a new one."""
        ...

    async def keep_events(self, events: SessionEvents, now: datetime) -> None: ...


class SessionLedger(Protocol):
    """Where sessions are read and written."""

    def reading(self) -> AbstractAsyncContextManager[SessionReader]: ...

    def writing(self) -> AbstractAsyncContextManager[SessionWriter]: ...


def prepare_session(request: SessionRequest, *, count_tokens: Callable[[str], int]) -> PreparedSession:
    """Linear in the length of the texts; run it in a thread when they are long.

    Raises:
        Incorrect: with the JSON pointer of the first wrong field.
    """
    request.validate()
    return PreparedSession(
        request=request,
        request_sha256=request_sha256(KIND, request),
        evidence=tuple(
            replace(
                prepare_evidence(f"/events/{index}", _proposal(request, index), count_tokens),
                occurred_at=read_instant(f"/events/{index}/occurred_at", request.events[index].occurred_at),
            )
            for index in range(len(request.events))
        ),
    )


def _proposal(request: SessionRequest, index: int) -> EvidenceProposal:
    """The event as evidence of its own: two events with the same words are two turns of their session."""
    event = request.events[index]
    return EvidenceProposal(
        content=event.text,
        source_type="conversation",
        source=request.app_name,
        source_group=user_name(request),
        force_insert=True,
        occurred_at=event.occurred_at,
        speaker=event.speaker or USER,
        session=session_name(request),
        metadata={
            "framework": request.framework,
            "app_name": request.app_name,
            "user_id": request.user_id,
            "session_id": request.session_id,
            "event_id": event.event_id,
            "event_index": index,
        },
    )


async def ingest_session(
    prepared: PreparedSession, *, ledger: SessionLedger, embedder: Embedder, clock: Clock, new_id: NewId, correlation_id: str
) -> SessionResult | str:
    """Take in one call, or return the stored answer of the same request as its JSON text.

    Raises:
        Unauthenticated, Forbidden: the key is not valid or lacks the scope write.
        Conflict: `idempotency_conflict`, the key belongs to another request; `event_conflict`, an event was something else.
        Incorrect: the credential has no private space.
    """
    key = prepared.request.idempotency_key
    async with ledger.reading() as reader:
        await _open(reader, prepared)
        if key is not None and (replay := await reader.find_submission(key)) is not None:
            return await _repeated(reader, first_answer(prepared.request_sha256, replay))
        found = await _sort(reader, prepared)
        served = await reader.read_contract_key()
        recalled = await reader.read_recalled()
    echoes = await recalled.find_echoes([item.runs for item in prepared.evidence])
    texts = [part.search_text for index in found.new for part in prepared.evidence[index].parts if part.embeddable]
    vectors, warnings = await embed_inline(list(dict.fromkeys(texts)), embedder, served, most=INLINE_VECTORS)
    async with ledger.writing() as writer:
        space = await _open(writer, prepared)
        claim = Claim(new_id(), KIND, key, prepared.request_sha256, clock())

        async def write() -> SessionResult:
            return await _write(writer, prepared, Taken(claim, space, correlation_id), vectors, echoes, warnings, new_id)

        answer = await answer_once(writer, claim, write)
        return await _repeated(writer, answer) if isinstance(answer, str) else answer


async def _open(ledger: SessionReader | SessionWriter, prepared: PreparedSession) -> Space:
    ledger.actor.require("write")
    space = ledger.actor.target(prepared.request.target_space, prepared.request.space)
    await ledger.enter(space)
    return space


async def _sort(ledger: SessionReader, prepared: PreparedSession) -> Sorted:
    keys = prepared.keys(ledger.actor.profile_id)
    return sort_events(keys, prepared.said, await ledger.read_events(keys))


async def _repeated(ledger: SessionReader, stored: str) -> str:
    """The stored answer, with a warning for each of its texts that no recall of the present returns any more, unless it said so itself."""
    answer = json.decode(stored)
    said = {UUID(key): event.get("reason") for event in answer["events"] for key in event["evidence_ids"]}
    standing = await ledger.read_standing(list(said))
    gone = gone_warnings({key: found for key, found in standing.items() if said[key] != f"evidence_{found.end or 'quarantined'}"})
    if not gone:
        return stored
    answer["warnings"] += gone
    return json.encode(answer).decode()


async def _write(
    writer: SessionWriter,
    prepared: PreparedSession,
    call: Taken,
    vectors: Mapping[str, Vectors],
    echoes: Mapping[int, Echo],
    warnings: list[str],
    new_id: NewId,
) -> SessionResult:
    claim = call.claim
    session = session_sha256(prepared.request)
    last = await writer.open_session(session, claim.now)
    keys = prepared.keys(writer.actor.profile_id)
    known = await writer.read_events(keys)
    found = sort_events(keys, prepared.said, known)
    evidence = tuple(_numbered(prepared.evidence[index], last + place) for place, index in enumerate(found.new, start=1))
    stored: list[StoredEvidence] = []
    if evidence:
        request = RememberRequest(
            evidence=[item.proposal for item in evidence], target_space=prepared.request.target_space, space=prepared.request.space
        )
        submission = Submission(claim, writer.actor, call.space, Prepared(request, prepared.request_sha256, evidence, ()), call.correlation_id)
        own = {place: echoes[index] for place, index in enumerate(found.new) if index in echoes}
        stored = await store_with_echoes(writer, submission, vectors, own, new_id)
        ids = {keys[index]: place.evidence_id for index, place in zip(found.new, stored, strict=True)}
        await writer.keep_events(SessionEvents(session, ids, last + len(ids)), claim.now)
    new = {index: _accepted(prepared, index, place, vectors) for index, place in zip(found.new, stored, strict=True)}
    events = [new.get(index) or _duplicate(prepared, index, found, new, known.get(key)) for index, key in enumerate(keys)]
    if any(new[index].search_state == "pending" for index in found.new):
        await writer.enqueue_embedding()
    readable = [len(item.proposal.content) for item, place in zip(evidence, stored, strict=True) if not place.is_quarantined]
    briefs = [BriefKey("read_session", (claim.submission_id,), window).text for window in range(windows_of(readable))]
    return _conclude(call, events, briefs, [*warnings, *_gone(known)])


def _numbered(item: PreparedEvidence, sequence: int) -> PreparedEvidence:
    """Recalls look for neighbours one step apart, so that the numbers of a session have no gaps."""
    return replace(item, proposal=structs.replace(item.proposal, sequence=sequence))


def _accepted(prepared: PreparedSession, index: int, place: StoredEvidence, vectors: Mapping[str, Vectors]) -> EventResult:
    state: SearchState = "not_required"
    if not place.is_quarantined:
        embedded = all(part.search_text in vectors for part in prepared.evidence[index].parts if part.embeddable)
        state = "current" if embedded else "pending"
    result = _result(prepared, index, "accepted", [place.evidence_id], state, QUARANTINED if place.is_quarantined else {})
    return structs.replace(result, echo_of=list(place.echo.evidence_ids)) if place.echo else result


def _duplicate(prepared: PreparedSession, index: int, found: Sorted, new: Mapping[int, EventResult], before: KnownEvent | None) -> EventResult:
    earlier = found.repeated[index]
    if earlier is not None:
        first = new[earlier]
        return structs.replace(first, disposition="duplicate")
    assert before is not None
    ids = [] if before.evidence_id is None else [before.evidence_id]
    fields = {"reason": f"evidence_{before.end}"} if before.end else {}
    return _result(prepared, index, "duplicate", ids, "not_required" if before.end else before.search_state, fields)


def _result(prepared: PreparedSession, index: int, disposition: str, ids: list[UUID], state: SearchState, fields: Mapping[str, str]) -> EventResult:
    return EventResult(
        event_id=prepared.request.events[index].event_id,
        disposition="accepted" if disposition == "accepted" else "duplicate",
        processing_state="completed",
        evidence_ids=ids,
        search_state=state,
        reason=fields.get("reason", UNSET),
        message=fields.get("message", UNSET),
        remediation=fields.get("remediation", UNSET),
    )


def _gone(known: Mapping[bytes, KnownEvent]) -> list[str]:
    """A warning for each event of the call whose text was withdrawn: taking it in again does not bring it back."""
    gone = sorted((str(item.evidence_id), item.end) for item in known.values() if item.end and item.evidence_id is not None)
    return [f"evidence {key} is {end} now; an event that was taken in before is not stored again" for key, end in gone]


def _conclude(call: Taken, events: list[EventResult], briefs: list[str], warnings: list[str]) -> SessionResult:
    accepted = sum(event.disposition == "accepted" for event in events)
    return SessionResult(
        contract_version=CONTRACT_VERSION,
        submission_id=call.claim.submission_id,
        submission_kind=KIND,
        correlation_id=call.correlation_id,
        processing_state="completed",
        search_state=combine(tuple(event.search_state for event in events)),
        space_kind=call.space.public_kind,
        accepted_event_count=accepted,
        duplicate_event_count=len(events) - accepted,
        events=events,
        relationship_results=[],
        brief_ids=briefs,
        errors=[],
        warnings=warnings,
    )
