"""Remember: from a request to rows, in one line.

    prepare -> foresee -> embed -> claim -> store evidence -> withdraw -> resolve -> decide -> write -> settle -> conclude

`foresee` reads, in a transaction of its own, what the names in the request mean, so that every document can be embedded
before the write begins: no model runs inside a transaction. Should another writer change a name in between, the document
gets its vector by a job, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import UNSET, json, structs

from commonlore.domain.degradation import SearchState, combine
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.echo import Echo, RecalledTexts
from commonlore.domain.ledger.evidence import source_group_key
from commonlore.domain.ledger.relationship import Statement
from commonlore.domain.ledger.settlement import Settled
from commonlore.domain.ports import Embedder, Vectors
from commonlore.domain.projection.embed import embed_inline
from commonlore.domain.remember.changes import Changes
from commonlore.domain.remember.contest import CaseWriter, contexts_of, recited, require_scope
from commonlore.domain.remember.decide import decide, wording_of
from commonlore.domain.remember.ground import CitedText
from commonlore.domain.remember.learn import learn_names
from commonlore.domain.remember.prepare import KIND, Prepared, PreparedEvidence
from commonlore.domain.remember.resolve import NameState, resolve_proposals
from commonlore.domain.remember.result import CONTRACT_VERSION, EvidenceResult, RelationshipResult, RememberResult, SplitResult
from commonlore.domain.remember.standing import Cited, Relationship
from commonlore.domain.remember.targets import refuse_targets, targeted_ids
from commonlore.domain.submission import Claim, Replay, Submissions, answer_once, first_answer
from commonlore.domain.tenancy.actor import Actor, Space
from commonlore.domain.time import Clock
from commonlore.domain.withdraw.standing import Standing
from commonlore.domain.withdraw.superseding import Withdrawals, Withdrawer, withdraw

QUARANTINED = {
    "reason": "evidence_quarantined",
    "message": "the text reads like an instruction to whoever reads it; it is stored and kept out of recalls",
    "remediation": "Ask an administrator to look at it and to release it; what it was to supersede stays as it was.",
}


@dataclass(frozen=True, slots=True)
class Submission:
    """Who submits what, and the claim that stands for it."""

    claim: Claim
    actor: Actor
    space: Space
    prepared: Prepared
    correlation_id: str

    @property
    def submission_id(self) -> UUID:
        return self.claim.submission_id

    @property
    def now(self) -> datetime:
        return self.claim.now


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """Where one text of the request lies now. `is_new` is false for a later sighting.

    `is_quarantined`: its scan called for it. `revised_source_id`: the source whose older revisions end with this write. `echo`: what a new
    text quotes of what was recalled shortly before.
    """

    evidence_id: UUID
    is_new: bool
    is_quarantined: bool = False
    revised_source_id: UUID | None = None
    echo: Echo | None = None


class LedgerReader(Protocol):
    """One short read before the write."""

    actor: Actor

    async def enter(self, space: Space) -> None: ...

    async def find_submission(self, idempotency_key: str) -> Replay | None: ...

    async def read_standing(self, evidence_ids: Collection[UUID]) -> dict[UUID, Standing]: ...

    async def read_names(self, prepared: Prepared) -> NameState: ...

    async def read_recalled(self) -> RecalledTexts:
        """What was recalled shortly before in the spaces that the actor reads."""
        ...

    async def read_contract_key(self) -> str | None:
        """The embedding contract whose vectors are stored and searched."""
        ...


class LedgerWriter(Withdrawer, CaseWriter, Submissions, Protocol):
    """One write transaction. The methods are called in the order in which they stand here, those of its bases around them."""

    actor: Actor

    async def enter(self, space: Space) -> None: ...

    async def store_evidence(self, submission: Submission, vectors: Mapping[str, Vectors], *, new_id: NewId) -> list[StoredEvidence]: ...

    async def keep_echoes(self, echoes: Mapping[UUID, Echo], now: datetime) -> None:
        """Keep of new texts, by their ids, what they are echoes of."""
        ...

    async def lock_ledger(self, now: datetime) -> datetime:
        """Until the transaction ends, no other writer resolves names in this space; the instant of what is decided from here on."""
        ...

    async def read_names(self, prepared: Prepared) -> NameState: ...

    async def read_cited(self, evidence_ids: Sequence[UUID]) -> dict[UUID, Cited]: ...

    async def read_relationships(self, statements: Sequence[Statement]) -> list[Relationship]: ...

    async def read_targets(self, relationship_ids: Sequence[UUID]) -> list[Relationship]:
        """The author's own canonical relationships of the ids, as they stand; others are as absent as what never was."""
        ...

    async def write(self, submission: Submission, changes: Changes, vectors: Mapping[str, Vectors]) -> bool:
        """Write the rows in their order; returns whether a document still waits for its vector."""
        ...

    async def enqueue_embedding(self) -> None: ...


class Ledger(Protocol):
    """Where ledgers are read and written."""

    def reading(self) -> AbstractAsyncContextManager[LedgerReader]: ...

    def writing(self) -> AbstractAsyncContextManager[LedgerWriter]: ...


async def remember(
    prepared: Prepared, *, ledger: Ledger, embedder: Embedder, clock: Clock, new_id: NewId, correlation_id: str
) -> RememberResult | str:
    """Store one request, or return the stored answer of the same request as its JSON text.

    Raises:
        Unauthenticated, Forbidden: the key is not valid or lacks the scope write.
        Conflict: `idempotency_conflict`, the key belongs to another request.
        Incorrect: the credential has no private space.
        Conflict, Forbidden, NotVisible: as `withdraw`.
    """
    async with ledger.reading() as reader:
        space = await _open(reader, prepared)
        key = prepared.request.idempotency_key
        if key is not None and (replay := await reader.find_submission(key)) is not None:
            return await _repeated(reader, first_answer(prepared.request_sha256, replay))
        names = await reader.read_names(prepared) if prepared.relationships else NameState()
        served = await reader.read_contract_key()
        recalled = await reader.read_recalled()
    echoes = await recalled.find_echoes([item.runs for item in prepared.evidence])
    vectors, warnings = await embed_inline(_foresee(prepared, names, new_id), embedder, served)
    async with ledger.writing() as writer:
        space = await _open(writer, prepared)
        claim = Claim(new_id(), KIND, key, prepared.request_sha256, clock())
        submission = Submission(claim, writer.actor, space, prepared, correlation_id)
        answer = await answer_once(writer, claim, lambda: _write(writer, submission, vectors, echoes, warnings, new_id))
        return await _repeated(writer, answer) if isinstance(answer, str) else answer


async def _repeated(ledger: LedgerReader | LedgerWriter, stored: str) -> str:
    """The stored answer, with a warning for each of its texts that no recall of the present returns any more."""
    answer = json.decode(stored)
    gone = gone_warnings(await ledger.read_standing([UUID(item["evidence_id"]) for item in answer["evidence"]]))
    if not gone:
        return stored
    answer["warnings"] += gone
    return json.encode(answer).decode()


def gone_warnings(standing: Mapping[UUID, Standing]) -> list[str]:
    """A warning for each text that no recall of the present returns any more, by id."""
    gone = sorted((key, found.end or "quarantined") for key, found in standing.items() if found.end or found.is_quarantined)
    return [f"evidence {key} is {state} now; this call stored nothing" for key, state in gone]


async def _write(
    writer: LedgerWriter,
    submission: Submission,
    vectors: Mapping[str, Vectors],
    echoes: Mapping[int, Echo],
    warnings: list[str],
    new_id: NewId,
) -> RememberResult:
    prepared = submission.prepared
    stored = await store_with_echoes(writer, submission, vectors, echoes, new_id)
    withdrawn = await withdraw(
        prepared.request,
        stored,
        writer,
        submission_id=submission.submission_id,
        actor=writer.actor,
        now=submission.now,
    )
    stored = [replace(place, is_quarantined=place.is_quarantined or index in withdrawn.quarantined) for index, place in enumerate(stored)]
    results, waiting, unseen = await _relate(writer, submission, stored, vectors, new_id) if prepared.relationships else ([], False, [])
    results = _settled(results, await withdrawn.settle(writer))
    result = _conclude(submission, stored, withdrawn, results, vectors, [*warnings, *unseen], waiting)
    if result.search_state == "pending":
        await writer.enqueue_embedding()
    return result


async def store_with_echoes(
    writer: LedgerWriter, submission: Submission, vectors: Mapping[str, Vectors], echoes: Mapping[int, Echo], new_id: NewId
) -> list[StoredEvidence]:
    """Store the texts, and keep of the new ones what they are echoes of. `echoes`: by the index of the text."""
    stored = await writer.store_evidence(submission, vectors, new_id=new_id)
    stored = [replace(place, echo=echoes.get(index)) if place.is_new else place for index, place in enumerate(stored)]
    if kept := {place.evidence_id: place.echo for place in stored if place.echo is not None}:
        await writer.keep_echoes(kept, submission.now)
    return stored


async def _open(ledger: LedgerReader | LedgerWriter, prepared: Prepared) -> Space:
    ledger.actor.require("write")
    space = ledger.actor.target(prepared.request.target_space, prepared.request.space)
    await ledger.enter(space)
    return space


def _foresee(prepared: Prepared, names: NameState, new_id: NewId) -> list[str]:
    """Every text that will be embedded, each once: parts first, in order, then documents."""
    texts = [part.search_text for item in prepared.evidence for part in item.parts if part.embeddable]
    for resolved in resolve_proposals(prepared.relationships, names, Changes(), new_id=new_id):
        if resolved.statement is not None:
            texts.append(wording_of(resolved, resolved.prepared.valid_to))
    return list(dict.fromkeys(texts))


async def _relate(
    writer: LedgerWriter, submission: Submission, stored: Sequence[StoredEvidence], vectors: Mapping[str, Vectors], new_id: NewId
) -> tuple[list[RelationshipResult], bool, list[str]]:
    """The results, whether a document waits for its vector, and the warnings."""
    prepared = submission.prepared
    submission = replace(submission, claim=submission.claim.at(await writer.lock_ledger(submission.now)))
    contexts = contexts_of(prepared.relationships)
    cases = await writer.require_cases(contexts) if contexts else {}
    names = await writer.read_names(prepared)
    known = list(dict.fromkeys(key for item in prepared.relationships for key in item.proposal.known_evidence_ids))
    known_cited = await writer.read_cited(known) if known else {}
    changes = Changes()
    targets = {item.relationship_id: item for item in await writer.read_targets(targeted_ids(prepared.relationships))}
    refused = refuse_targets(prepared.relationships, targets)
    resolved = resolve_proposals(prepared.relationships, names, changes, new_id=new_id, refused=refused)
    require_scope(resolved, cases)
    existing = await writer.read_relationships([item.statement for item in resolved if item.statement is not None])
    known_ids = {item.relationship_id for item in existing}
    existing += [item for item in targets.values() if item.relationship_id not in known_ids]
    cited = {index: _cited(item, place) for index, (item, place) in enumerate(zip(prepared.evidence, stored, strict=True))}
    results = decide(resolved, existing=existing, cited=cited, known_cited=known_cited, changes=changes, new_id=new_id, now=submission.now)
    changes.names.extend(learn_names(resolved, names, cited, known_cited, new_id=new_id))
    waiting = await writer.write(submission, changes, vectors)
    brought = recited(prepared.relationships, cases, [place.evidence_id for place in stored], known_cited)
    for conflict_id, evidence_ids in brought.items():
        await writer.recite(conflict_id, evidence_ids, submission.now)
    return results, waiting, _unseen(prepared, known_cited)


def _unseen(prepared: Prepared, known_cited: Mapping[UUID, Cited]) -> list[str]:
    """Which cited ids nothing rests on. Absent, foreign and withdrawn texts are alike."""
    return [
        f"/relationships/{index}/known_evidence_ids/{place}: no text of this space that counts now has this id; nothing rests on it"
        for index, item in enumerate(prepared.relationships)
        for place, key in enumerate(item.proposal.known_evidence_ids)
        if key not in known_cited
    ]


def _cited(item: PreparedEvidence, place: StoredEvidence) -> Cited:
    proposal = item.proposal
    text = CitedText(proposal.content, proposal.speaker)
    group = place.echo.source_group_key if place.echo else source_group_key(proposal, place.evidence_id)
    return Cited(place.evidence_id, text, group, proposal.authority, place.is_quarantined)


def _settled(results: list[RelationshipResult], changes: Mapping[UUID, Settled]) -> list[RelationshipResult]:
    """The results with the status and version that the withdrawals of the same request left."""

    def split(item: SplitResult) -> SplitResult:
        change = changes.get(item.relationship_id)
        return item if change is None else structs.replace(item, status=change.status, relationship_version=change.version)

    return [structs.replace(result, splits=[split(item) for item in result.splits]) for result in results] if changes else results


def _conclude(
    submission: Submission,
    stored: Sequence[StoredEvidence],
    withdrawn: Withdrawals,
    results: list[RelationshipResult],
    vectors: Mapping[str, Vectors],
    warnings: list[str],
    waiting: bool,
) -> RememberResult:
    evidence = [
        _evidence_result(index, item, place, withdrawn.superseded.get(index, []), vectors)
        for index, (item, place) in enumerate(zip(submission.prepared.evidence, stored, strict=True))
    ]
    states: tuple[SearchState, ...] = (*(item.search_state for item in evidence), *(("pending",) if waiting else ()))
    return RememberResult(
        contract_version=CONTRACT_VERSION,
        submission_id=submission.submission_id,
        submission_kind="remember",
        correlation_id=submission.correlation_id,
        processing_state="completed",
        search_state=combine(states),
        space_kind=submission.space.public_kind,
        space=UNSET if submission.space.name is None else submission.space.name,
        evidence=evidence,
        relationship_results=results,
        errors=[],
        warnings=warnings,
    )


def _evidence_result(
    index: int, item: PreparedEvidence, place: StoredEvidence, superseded: list[UUID], vectors: Mapping[str, Vectors]
) -> EvidenceResult:
    embedded = all(part.search_text in vectors for part in item.parts if part.embeddable)
    fields: dict[str, str] = {} if place.is_new else {"reason": "duplicate_occurrence"}
    if place.is_quarantined:
        fields = QUARANTINED
    return EvidenceResult(
        evidence_index=index,
        disposition="stored",
        superseded_evidence_ids=superseded,
        search_state="not_required" if place.is_quarantined else "current" if embedded else "pending",
        evidence_id=place.evidence_id,
        content_hash="sha256:" + item.content_sha256.hex(),
        parts=len(item.parts),
        echo_of=list(place.echo.evidence_ids) if place.echo else UNSET,
        **fields,
    )
