"""The rows of new evidence: the text, its parts, postings, statistics and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import CONTRACT_ID, as_halfvec
from commonlore.domain.errors import Conflict, Unsupported
from commonlore.domain.ids import NewId
from commonlore.domain.ledger.evidence import duplicate_sha256
from commonlore.domain.ports import Vectors
from commonlore.domain.remember.prepare import Part, PreparedEvidence
from commonlore.domain.remember.service import StoredEvidence, Submission

_SQL = statements("ledger")
Row = TypeVar("Row")
# Rows of one INSERT: bounds the memory of a document of many thousand parts.
_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class _Source:
    source_id: UUID
    revision_id: UUID


async def store_evidence(
    transaction: TeamTransaction, submission: Submission, vectors: Mapping[str, Vectors], *, new_id: NewId
) -> list[StoredEvidence]:
    """Insert what is new and note later sightings; one entry a text of the request, in its order.

    Texts go in by the order of their duplicate hash, so that two writers of the same texts never wait for each other.

    Raises:
        Conflict: `stale_input`, another revision of the source is current.
    """
    items = submission.prepared.evidence
    sources = await _sources(transaction, submission, items, new_id)
    hashes = [duplicate_sha256(submission.actor.profile_id, item.proposal) for item in items]
    placed: dict[int, StoredEvidence] = {}
    order = sorted(range(len(items)), key=lambda index: (hashes[index] or b"", index))
    ids = {index: new_id() for index in order}
    async with transaction.connection.pipeline():
        cursors = {
            index: await _insert(transaction, submission, index, ids[index], hashes[index], sources.get(items[index].proposal.source_key or ""))
            for index in order
        }
        inserted = {index for index, cursor in cursors.items() if await cursor.fetchone() is not None}
    for index in order:
        if index in inserted:
            placed[index] = StoredEvidence(ids[index], True)
        else:
            placed[index] = StoredEvidence(await _repeat(transaction, submission, index, hashes[index], new_id), False)
    new = [(ids[index], items[index]) for index in inserted]
    new.sort(key=lambda pair: pair[0])
    await _search_rows(transaction, new, vectors, new_id)
    return [placed[index] for index in range(len(items))]


async def _insert(
    transaction: TeamTransaction, submission: Submission, index: int, evidence_id: UUID, duplicate: bytes | None, source: _Source | None
) -> AsyncCursor[DictRow]:
    item = submission.prepared.evidence[index]
    proposal = item.proposal
    return await transaction.execute(
        _SQL["insert_evidence"],
        evidence_id=evidence_id,
        submission_id=submission.submission_id,
        evidence_index=index,
        profile_id=submission.actor.profile_id,
        content=proposal.content,
        content_sha256=item.content_sha256,
        duplicate_sha256=duplicate,
        source_type=proposal.source_type,
        authority=proposal.authority,
        source=proposal.source,
        source_group=proposal.source_group,
        source_id=source.source_id if source else None,
        revision_id=source.revision_id if source else None,
        labels=list(proposal.labels),
        metadata=Jsonb(proposal.metadata) if proposal.metadata else None,
        occurred_at=item.occurred_at,
        speaker=proposal.speaker,
        session=proposal.session,
        sequence=proposal.sequence,
        part_count=len(item.parts),
        now=submission.now,
    )


async def _repeat(transaction: TeamTransaction, submission: Submission, index: int, duplicate: bytes | None, new_id: NewId) -> UUID:
    found = await (await transaction.execute(_SQL["find_duplicate"], duplicate_sha256=duplicate)).fetchone()
    if found is None:
        raise Conflict("commit_conflict", "another write of the same text came first; the request changed nothing", retry_after_s=1)
    proposal = submission.prepared.evidence[index].proposal
    await transaction.execute(
        _SQL["insert_occurrence"],
        occurrence_id=new_id(),
        evidence_id=found["evidence_id"],
        submission_id=submission.submission_id,
        evidence_index=index,
        authority=proposal.authority,
        source=proposal.source,
        source_group=proposal.source_group,
        labels=list(proposal.labels),
        metadata=Jsonb(proposal.metadata) if proposal.metadata else None,
        occurred_at=submission.prepared.evidence[index].occurred_at,
        session=proposal.session,
        sequence=proposal.sequence,
        now=submission.now,
    )
    evidence_id: UUID = found["evidence_id"]
    return evidence_id


async def _sources(transaction: TeamTransaction, submission: Submission, items: Sequence[PreparedEvidence], new_id: NewId) -> dict[str, _Source]:
    wanted = {item.proposal.source_key: item.proposal for item in items if item.proposal.source_key}
    if not wanted:
        return {}
    cursor = await transaction.execute(_SQL["find_sources"], profile_id=submission.actor.profile_id, source_keys=sorted(wanted))
    current = {row["source_key"]: row for row in await cursor.fetchall()}
    sources: dict[str, _Source] = {}
    for key, proposal in sorted(wanted.items()):
        row = current.get(key)
        if row is not None and row["revision_token"] != proposal.source_revision:
            if proposal.previous_source_revision != row["revision_token"]:
                raise Conflict("stale_input", "previous_source_revision is not the current revision of the source")
            raise Unsupported("not_supported", "a second revision of a source is not available in this version")
        if row is None and proposal.previous_source_revision is not None:
            raise Conflict("stale_input", "previous_source_revision names a source that has no revision")
        sources[key] = _Source(row["source_id"], row["revision_id"]) if row else _Source(new_id(), new_id())
        if row is None:
            await _insert_source(transaction, submission, key, proposal.source_revision, sources[key])
    return sources


async def _insert_source(transaction: TeamTransaction, submission: Submission, key: str, token: str | None, source: _Source) -> None:
    try:
        await transaction.execute(
            _SQL["insert_source"],
            source_id=source.source_id,
            revision_id=source.revision_id,
            profile_id=submission.actor.profile_id,
            source_key=key,
            revision_token=token,
            now=submission.now,
        )
    except UniqueViolation as error:
        # The author's other process was first; the same request finds the source when it is tried again.
        raise Conflict("commit_conflict", "another write of the same source came first; the request changed nothing", retry_after_s=1) from error


async def _search_rows(
    transaction: TeamTransaction, new: Sequence[tuple[UUID, PreparedEvidence]], vectors: Mapping[str, Vectors], new_id: NewId
) -> None:
    parts = [(evidence_id, item, part) for evidence_id, item in new for part in item.parts]
    if not parts:
        return
    async with transaction.connection.pipeline():
        for batch in _batches(iter(parts), 10_000):
            await transaction.execute(
                _SQL["insert_parts"],
                evidence_ids=[evidence_id for evidence_id, _, _ in batch],
                part_nos=[part.part_no for _, _, part in batch],
                starts=[part.start for _, _, part in batch],
                ends=[part.end for _, _, part in batch],
                texts=[item.proposal.content[part.start : part.end] if len(item.parts) > 1 else None for _, item, part in batch],
            )
        await _postings(transaction, parts)
        await _statistics(transaction, [part for _, _, part in parts], new_id())
        await _vectors(transaction, [(evidence_id, part) for evidence_id, _, part in parts], vectors)


async def _postings(transaction: TeamTransaction, parts: Sequence[tuple[UUID, PreparedEvidence, Part]]) -> None:
    rows = sorted(
        (term, evidence_id, part.part_no, frequency, part.length) for evidence_id, _, part in parts for term, frequency in part.frequencies.items()
    )
    for batch in _batches(iter(rows), _BATCH):
        terms, evidence_ids, part_nos, frequencies, lengths = (list(column) for column in zip(*batch, strict=True))
        await transaction.execute(
            _SQL["insert_postings"], terms=terms, evidence_ids=evidence_ids, part_nos=part_nos, frequencies=frequencies, lengths=lengths
        )


async def _statistics(transaction: TeamTransaction, parts: Sequence[Part], statistic_id: UUID) -> None:
    by_term = Counter(term for part in parts for term in part.frequencies)
    terms = sorted(by_term)
    await transaction.execute(
        _SQL["insert_statistics"],
        statistic_id=statistic_id,
        terms=terms,
        counts=[by_term[term] for term in terms],
        parts=len(parts),
        length=sum(part.length for part in parts),
        texts=sum(part.part_no == 0 for part in parts),
    )


async def _vectors(transaction: TeamTransaction, parts: Sequence[tuple[UUID, Part]], vectors: Mapping[str, Vectors]) -> None:
    made = [(evidence_id, part) for evidence_id, part in parts if part.search_text in vectors]
    waiting = [(evidence_id, part) for evidence_id, part in parts if part.embeddable and part.search_text not in vectors]
    if made:
        await transaction.execute(
            _SQL["insert_vectors"],
            evidence_ids=[evidence_id for evidence_id, _ in made],
            part_nos=[part.part_no for _, part in made],
            embeddings=[as_halfvec(vectors[part.search_text]) for _, part in made],
        )
    for batch in _batches(iter(waiting), 10_000):
        await transaction.execute(
            _SQL["insert_backlog"],
            evidence_ids=[evidence_id for evidence_id, _ in batch],
            part_nos=[part.part_no for _, part in batch],
            contract_id=CONTRACT_ID,
        )


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch
