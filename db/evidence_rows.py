"""The rows of new evidence: the text, its parts, postings, statistics and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from commonlore.db.contracts import KeptContract, share_contracts
from commonlore.db.jobs import enqueue
from commonlore.db.postings import is_folding_due, post_parts
from commonlore.db.session import TeamTransaction
from commonlore.db.sources import Source, open_sources
from commonlore.db.sql import statements
from commonlore.db.submissions import lock_ledger
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.db.withdrawal import note_signals
from commonlore.domain.errors import Conflict
from commonlore.domain.ids import NewId
from commonlore.domain.jobs.kind import FOLD_STATISTICS
from commonlore.domain.ledger.evidence import duplicate_sha256, renewed_sha256
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.posting import PostedText
from commonlore.domain.remember.prepare import Part, PreparedEvidence
from commonlore.domain.remember.service import StoredEvidence, Submission

_SQL = statements("ledger")
Row = TypeVar("Row")


async def store_evidence(
    transaction: TeamTransaction, submission: Submission, vectors: Mapping[str, Vectors], *, new_id: NewId
) -> list[StoredEvidence]:
    """Insert what is new and note later sightings; one entry a text of the request, in its order.

    Texts go in by the order of their duplicate hash, so that two writers of the same texts never wait for each other.

    Raises:
        Conflict: `stale_input`, another revision of the source is current; `commit_conflict`, another write came first.
    """
    items = submission.prepared.evidence
    sources = await open_sources(transaction, submission, new_id)
    hashes = [duplicate_sha256(submission.actor.profile_id, item.proposal) for item in items]
    order = sorted(range(len(items)), key=lambda index: (hashes[index] or b"", index))
    ids = {index: new_id() for index in order}
    placed = [sources.get(item.proposal.source_key or "") for item in items]
    async with transaction.connection.pipeline():
        cursors = {index: await _insert(transaction, submission, index, ids[index], hashes[index], placed[index]) for index in order}
        inserted = {index for index, cursor in cursors.items() if await cursor.fetchone() is not None}
    for index in order:
        if index not in inserted:
            ids[index], is_new = await _repeat(transaction, submission, index, ids[index], hashes[index], placed[index], new_id)
            inserted |= {index} if is_new else set()
    new = sorted(((ids[index], items[index]) for index in inserted), key=lambda pair: pair[0])
    await _search_rows(transaction, submission.space.space_id, new, vectors, new_id)
    found = {key: (item.proposal.content, item.signals) for key, item in new if item.signals}
    held = set()
    if found:
        # What a person decides of these texts later counts after what the scan says now.
        instant = await lock_ledger(transaction, submission.now)
        held = await note_signals(transaction, found, actor_profile_id=submission.actor.profile_id, now=instant)
    return [
        StoredEvidence(ids[index], index in inserted, ids[index] in held, source.source_id if source is not None and source.is_revised else None)
        for index, source in enumerate(placed)
    ]


async def _insert(
    transaction: TeamTransaction, submission: Submission, index: int, evidence_id: UUID, duplicate: bytes | None, source: Source | None
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


async def _repeat(
    transaction: TeamTransaction,
    submission: Submission,
    index: int,
    evidence_id: UUID,
    duplicate: bytes | None,
    source: Source | None,
    new_id: NewId,
) -> tuple[UUID, bool]:
    """Where a text lies that was said before, and whether it is new: evidence that ended for good takes in no later sighting."""
    while duplicate is not None:
        found = await (await transaction.execute(_SQL["find_duplicate"], duplicate_sha256=duplicate)).fetchone()
        if found is None:
            break
        if not found["is_ended"]:
            await _occur(transaction, submission, index, found["evidence_id"], new_id)
            return found["evidence_id"], False
        duplicate = renewed_sha256(duplicate, found["evidence_id"])
        cursor = await _insert(transaction, submission, index, evidence_id, duplicate, source)
        if await cursor.fetchone() is not None:
            return evidence_id, True
    raise Conflict("commit_conflict", "another write of the same text came first; the request changed nothing", retry_after_s=1)


async def _occur(transaction: TeamTransaction, submission: Submission, index: int, evidence_id: UUID, new_id: NewId) -> None:
    proposal = submission.prepared.evidence[index].proposal
    await transaction.execute(
        _SQL["insert_occurrence"],
        occurrence_id=new_id(),
        evidence_id=evidence_id,
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


async def _search_rows(
    transaction: TeamTransaction, space_id: UUID, new: Sequence[tuple[UUID, PreparedEvidence]], vectors: Mapping[str, Vectors], new_id: NewId
) -> None:
    parts = [(evidence_id, item, part) for evidence_id, item in new for part in item.parts]
    if not parts:
        return
    # Before the pipeline: a second one opened inside it would wait for ever behind more bytes than a socket holds.
    contracts = await share_contracts(transaction)
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
        posted = await post_parts(transaction, [PostedText(str(key), part.part_no, part.length, part.frequencies) for key, _, part in parts])
        await _statistics(transaction, [part for _, _, part in parts], new_id())
        await _vectors(transaction, contracts, [(evidence_id, part) for evidence_id, _, part in parts], vectors)
        # A write of a few asks; where writes that ran together missed it, the sweep does.
        if posted is not None and await is_folding_due(posted):
            await enqueue(transaction, FOLD_STATISTICS, space_id=space_id)


async def _statistics(transaction: TeamTransaction, parts: Sequence[Part], statistic_id: UUID) -> None:
    await transaction.execute(
        _SQL["insert_statistics"],
        statistic_id=statistic_id,
        parts=len(parts),
        length=sum(part.length for part in parts),
        texts=sum(part.part_no == 0 for part in parts),
    )


async def _vectors(
    transaction: TeamTransaction, contracts: Sequence[KeptContract], parts: Sequence[tuple[UUID, Part]], vectors: Mapping[str, Vectors]
) -> None:
    """Of every contract that is kept, the vectors that are there; for the others the parts wait."""
    for contract in contracts:
        there = vectors if contract.made(vectors) else {}
        made = [(evidence_id, part) for evidence_id, part in parts if part.search_text in there]
        waiting = [(evidence_id, part) for evidence_id, part in parts if part.embeddable and part.search_text not in there]
        if made:
            await transaction.execute(
                of_contract(_SQL["insert_vectors"], contract.contract_id),
                evidence_ids=[evidence_id for evidence_id, _ in made],
                part_nos=[part.part_no for _, part in made],
                embeddings=[as_halfvec(vectors[part.search_text]) for _, part in made],
            )
        for batch in _batches(iter(waiting), 10_000):
            await transaction.execute(
                _SQL["insert_backlog"],
                evidence_ids=[evidence_id for evidence_id, _ in batch],
                part_nos=[part.part_no for _, part in batch],
                contract_id=contract.contract_id,
            )


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch
