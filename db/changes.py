"""The rows that a write adds or changes in the ledger, and the documents that are searched, in one open transaction.

Whoever writes holds the ledger lock of the space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

import msgspec
from msgspec import structs

from commonlore.db.conflicts import review_conflicts
from commonlore.db.postings import post_documents
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import as_halfvec, of_contract
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.embed import InlineVectors
from commonlore.domain.projection.posting import PostedText, StatisticsDifference, TermCounts, count_terms, document_statistics, replaced_postings
from commonlore.domain.remember.changes import Changes, DocumentRow

_SQL = statements("ledger")
_ROWS = statements("ledger_rows")


@dataclass(frozen=True, slots=True)
class KeptGeneration:
    """A generation that every write goes into. `is_read`: the one that recalls read; others may lack documents, and then get them by a job."""

    generation: int
    contract_id: int
    contract_key: str
    is_read: bool


async def kept_generations(transaction: TeamTransaction) -> list[KeptGeneration]:
    """The generations of relationship documents that new ones are written for, the one that recalls read first."""
    rows = await (await transaction.execute(_SQL["kept_generations"])).fetchall()
    return [KeptGeneration(**row, is_read=place == 0) for place, row in enumerate(rows)]


async def read_generation(transaction: TeamTransaction) -> int:
    """The generation that recalls read."""
    return (await kept_generations(transaction))[0].generation


async def write_changes(
    transaction: TeamTransaction, changes: Changes, vectors: Mapping[str, Vectors], *, now: datetime, submission_id: UUID, profile_id: UUID
) -> bool:
    """Write the rows in their order; returns whether a document still waits for its vector."""
    common = {"now": now, "submission_id": submission_id, "profile_id": profile_id}
    generations = await kept_generations(transaction)
    touched = [item.relationship_id for item in changes.changed]
    # A new row may give way in the same call, or speak for a text that had lost its claims.
    # A held text may support a row that stays as it is.
    settled = sorted({*touched, *(item.relationship_id for item in changes.relationships), *(item.relationship_id for item in changes.supports)})
    async with transaction.connection.pipeline():
        for name in ("entities", "names", "resolutions", "values", "predicates"):
            await _rows(transaction, name, getattr(changes, name), common)
        await _rows(transaction, "changed", [item for item in changes.changed if item.status != "active"], common)
        await _rows(transaction, "changed", [item for item in changes.changed if item.status == "active"], common)
        for name in ("relationships", "observations", "verifications", "supports", "decisions", "transitions", "references"):
            await _rows(transaction, name, getattr(changes, name), common)
        if changes.references:
            await _rows(transaction, "corrected", [row for row in changes.references if row.kind == "corrects"], {})
        if touched:
            await transaction.execute(_ROWS["recount"], relationship_ids=touched)
        if settled:
            await transaction.execute(_ROWS["settle_eligibility"], relationship_ids=settled, now=now)
        count = cache(count_terms)
        for generation in generations:
            await write_documents(transaction, generation, changes.documents, vectors, count)
    await review_conflicts(transaction, settled, profile_id=profile_id, now=now)
    return any(row.document_text not in vectors for row in changes.documents)


async def _rows(transaction: TeamTransaction, name: str, rows: Sequence[msgspec.Struct], common: Mapping[str, object]) -> None:
    if rows:
        await transaction.execute(_ROWS[name], rows=msgspec.json.encode(rows).decode(), **common)


async def write_documents(
    transaction: TeamTransaction,
    kept: KeptGeneration,
    documents: Sequence[DocumentRow],
    vectors: Mapping[str, Vectors],
    count: Callable[[str], TermCounts] = count_terms,
) -> None:
    """Documents with their postings and statistics, and the vectors that are there; the others wait.

    Vectors count for the contract that they were made under. What a document replaces is, in a generation that recalls do
    not read, its text there. `count`: what counts the terms of a text, where several generations take the same documents.
    """
    if not documents:
        return
    generation = kept.generation
    if contract_of(vectors, kept) != kept.contract_key:
        vectors = {}
    if not kept.is_read:
        documents = await _as_they_stand(transaction, generation, documents)
    await write_rows(transaction, generation, documents, vectors)
    # After the documents: whoever gives one its vector meanwhile has committed it by now, or finds another version.
    replaced = [row.relationship_id for row in documents if row.replaces is not None]
    if replaced:
        await transaction.execute(of_contract(_ROWS["forget_vectors"], kept.contract_id), generation=generation, relationship_ids=replaced)
    await _postings(transaction, generation, documents, count)
    embedded = [row for row in documents if row.document_text in vectors]
    if embedded:
        await transaction.execute(
            of_contract(_ROWS["document_vectors"], kept.contract_id),
            generation=generation,
            relationship_ids=[row.relationship_id for row in embedded],
            embeddings=[as_halfvec(vectors[row.document_text]) for row in embedded],
        )


async def write_rows(transaction: TeamTransaction, generation: int, documents: Sequence[DocumentRow], vectors: Mapping[str, Vectors]) -> None:
    """The rows of documents alone; those without a vector wait for it."""
    rows = [
        {
            "relationship_id": row.relationship_id,
            "source_version": row.source_version,
            "document_text": row.document_text,
            "search_state": "current" if row.document_text in vectors else "pending",
        }
        for row in documents
    ]
    await transaction.execute(_ROWS["documents"], generation=generation, rows=msgspec.json.encode(rows).decode())


def contract_of(vectors: Mapping[str, Vectors], kept: KeptGeneration) -> str | None:
    """The contract that vectors were made under; for plain ones, that of what is read."""
    if isinstance(vectors, InlineVectors):
        return vectors.contract_key
    return kept.contract_key if kept.is_read else None


async def _as_they_stand(transaction: TeamTransaction, generation: int, documents: Sequence[DocumentRow]) -> list[DocumentRow]:
    ids = [row.relationship_id for row in documents]
    rows = await (await transaction.execute(_ROWS["document_texts"], generation=generation, relationship_ids=ids)).fetchall()
    found = {row["relationship_id"]: row["document_text"] for row in rows}
    return [structs.replace(row, replaces=found.get(row.relationship_id)) for row in documents]


async def _postings(transaction: TeamTransaction, generation: int, documents: Sequence[DocumentRow], count: Callable[[str], TermCounts]) -> None:
    counted = [(str(row.relationship_id), count(row.document_text), None if row.replaces is None else count(row.replaces)) for row in documents]
    added = [PostedText(key, 0, new.length, new.frequencies) for key, new, old in counted if old is None]
    exchanged = [replaced_postings(key, new, old) for key, new, old in counted if old is not None]
    await post_documents(transaction, generation, [*added, *(new for new, _ in exchanged)], [old for _, old in exchanged])
    await note_statistics(transaction, generation, document_statistics([(new, old) for _, new, old in counted]))


async def note_statistics(transaction: TeamTransaction, generation: int, difference: StatisticsDifference) -> None:
    """Add to the counts of a generation in the open space."""
    numbers = {"documents": difference.documents, "length": difference.length}
    await transaction.execute(_ROWS["document_statistics"], generation=generation, statistic_id=new_id(), **numbers)
