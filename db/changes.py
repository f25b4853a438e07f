"""The rows that a write adds or changes in the ledger, and the documents that are searched, in one open transaction.

Whoever writes holds the ledger lock of the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from commonlore.db.conflicts import review_conflicts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import as_halfvec
from commonlore.domain.ids import new_id
from commonlore.domain.ports import Vectors
from commonlore.domain.projection.posting import count_terms, document_statistics
from commonlore.domain.remember.changes import Changes, DocumentRow

_SQL = statements("ledger")
_ROWS = statements("ledger_rows")


async def served_generations(transaction: TeamTransaction) -> list[int]:
    """The generations of relationship documents that new ones are written for, the one that recalls read first."""
    return [row["generation"] for row in await (await transaction.execute(_SQL["served_generation"])).fetchall()]


async def write_changes(
    transaction: TeamTransaction, changes: Changes, vectors: Mapping[str, Vectors], *, now: datetime, submission_id: UUID, profile_id: UUID
) -> bool:
    """Write the rows in their order; returns whether a document still waits for its vector."""
    common = {"now": now, "submission_id": submission_id, "profile_id": profile_id}
    generations = await served_generations(transaction)
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
        for generation in generations:
            await write_documents(transaction, generation, changes.documents, vectors)
    await review_conflicts(transaction, settled, profile_id=profile_id, now=now)
    return any(row.document_text not in vectors for row in changes.documents)


async def _rows(transaction: TeamTransaction, name: str, rows: Sequence[msgspec.Struct], common: Mapping[str, object]) -> None:
    if rows:
        await transaction.execute(_ROWS[name], rows=msgspec.json.encode(rows).decode(), **common)


async def write_documents(transaction: TeamTransaction, generation: int, documents: Sequence[DocumentRow], vectors: Mapping[str, Vectors]) -> None:
    """Documents with their postings and statistics, and the vectors that are there; the others wait."""
    if not documents:
        return
    replaced = [row.relationship_id for row in documents if row.replaces is not None]
    if replaced:
        await transaction.execute(_ROWS["forget_postings"], generation=generation, relationship_ids=replaced)
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
    counted = [(row.relationship_id, count_terms(row.document_text)) for row in documents]
    postings = [(term, key, frequency, found.length) for key, found in counted for term, frequency in found.frequencies.items()]
    terms, keys, frequencies, lengths = zip(*sorted(postings), strict=True)
    await transaction.execute(
        _ROWS["document_postings"],
        generation=generation,
        terms=list(terms),
        relationship_ids=list(keys),
        frequencies=list(frequencies),
        lengths=list(lengths),
    )
    await _statistics(transaction, generation, documents)
    embedded = [row for row in documents if row.document_text in vectors]
    if embedded:
        await transaction.execute(
            _ROWS["document_vectors"],
            generation=generation,
            relationship_ids=[row.relationship_id for row in embedded],
            embeddings=[as_halfvec(vectors[row.document_text]) for row in embedded],
        )


async def _statistics(transaction: TeamTransaction, generation: int, documents: Sequence[DocumentRow]) -> None:
    difference = document_statistics([(row.document_text, row.replaces) for row in documents])
    await transaction.execute(
        _ROWS["document_statistics"],
        generation=generation,
        statistic_id=new_id(),
        terms=list(difference.documents_by_term),
        counts=list(difference.documents_by_term.values()),
        documents=difference.documents,
        length=difference.length,
    )
