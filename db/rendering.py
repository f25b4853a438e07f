"""Documents written anew after a name changed: at once for a few, by a job for many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from commonlore.db.backlog import enqueue_embedding
from commonlore.db.changes import kept_generations, write_documents
from commonlore.db.jobs import enqueue
from commonlore.db.session import Pool, TeamTransaction, team_transaction
from commonlore.db.sql import statements
from commonlore.domain.jobs.kind import RENDER_DOCUMENTS
from commonlore.domain.projection.document import RelationshipWording, render
from commonlore.domain.remember.changes import DocumentRow

BATCH = 200
_SQL = statements("identity")
_LEDGER = statements("ledger")
_WORKER = statements("worker")


async def rerender(transaction: TeamTransaction, space_id: UUID, entity_id: UUID) -> tuple[int, int]:
    """Write the first documents of an entity anew and leave the rest to a job; how many were written, and how many wait."""
    ids = await _ids(transaction, entity_id)
    written = await rewrite(transaction, space_id, ids[:BATCH])
    if len(ids) > BATCH:
        await enqueue(transaction, RENDER_DOCUMENTS, space_id=space_id, entity_id=entity_id)
    return written, max(0, len(ids) - BATCH)


async def rewrite(transaction: TeamTransaction, space_id: UUID, relationship_ids: Sequence[UUID]) -> int:
    """Write documents anew that do not say what their relationships do; how many were written. Their vectors are made by a job."""
    written = await _write(transaction, relationship_ids)
    if written:
        await enqueue_embedding(transaction, space_id)
    return written


async def render_documents(pool: Pool, *, team_id: UUID, space_id: UUID, entity_id: UUID) -> int:
    """Every document of an entity that does not say what it should, in transactions of a batch each; how many were written.

    May run twice: a document that says what it should is left alone.
    """
    total, after = 0, UUID(int=0)
    while True:
        async with team_transaction(pool, team_id, timeout_ms=60_000) as transaction:
            spaces = await (await transaction.execute(_WORKER["spaces_of_team"])).fetchall()
            transaction.epochs = {row["space_id"]: row["space_epoch"] for row in spaces}
            if space_id not in transaction.epochs:
                return total
            await transaction.enter(space_id)
            await transaction.execute(_LEDGER["lock_ledger"])
            ids = [key for key in await _ids(transaction, entity_id) if key > after][:BATCH]
            if not ids:
                return total
            written, after = await _write(transaction, ids), ids[-1]
            total += written
            if written:
                await enqueue_embedding(transaction, space_id)


async def _ids(transaction: TeamTransaction, entity_id: UUID) -> list[UUID]:
    return [row["relationship_id"] for row in await (await transaction.execute(_SQL["related_ids"], entity_id=entity_id)).fetchall()]


async def _write(transaction: TeamTransaction, ids: Sequence[UUID]) -> int:
    if not ids:
        return 0
    generations = await kept_generations(transaction)
    rows = await (
        await transaction.execute(_SQL["waiting_wordings"], relationship_ids=list(ids), generations=[kept.generation for kept in generations])
    ).fetchall()
    changed: dict[int, list[DocumentRow]] = defaultdict(list)
    for row in rows:
        text = wording(row)
        if text != row["document_text"]:
            changed[row["generation"]].append(
                DocumentRow(relationship_id=row["relationship_id"], source_version=row["version"], document_text=text, replaces=row["document_text"])
            )
    for kept in generations:
        await write_documents(transaction, kept, changed[kept.generation], {})
    return len({document.relationship_id for documents in changed.values() for document in documents})


def wording(row: dict[str, Any]) -> str:
    """The text of a relationship's document, from its row and the names of its ends."""
    shown = row["object_name"] or row["display"]
    if row["object_name"] is None and row["unit"] and row["unit"] not in row["display"]:
        shown = f"{row['display']} {row['unit']}"
    return render(
        RelationshipWording(
            subject=row["subject_name"],
            predicate=row["predicate_key"].replace("_", " "),
            object=shown,
            polarity=row["polarity"],
            scope=row["scope_key"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
        )
    )
