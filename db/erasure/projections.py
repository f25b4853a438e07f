"""Words of what is erased, out of postings and counts: the one place of erasure that knows how words are stored."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from commonlore.db.postings import fold_all, remove_documents, remove_parts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.ids import new_id

Frontier = Literal["text", "relationship"]
_SQL = statements("erasure_projection")
_FOLDING = statements("folding")


async def lock_folding(transaction: TeamTransaction) -> bool:
    """Until the transaction ends no other worker folds the open epoch; False while one does."""
    row = await (await transaction.execute(_FOLDING["lock_folding"])).fetchone()
    return row is not None and bool(row["is_ours"])


async def forget_words(transaction: TeamTransaction, erasure_id: UUID, frontier: Frontier) -> int:
    """Postings deleted in the open epoch, with the counts of the space corrected. Once for an erasure, under `lock_folding`.

    A word that only the erased texts held leaves no block behind.
    """
    kind = "evidence" if frontier == "text" else "relationship"
    rows = await (await transaction.execute(_SQL["read_doomed"], erasure_id=erasure_id, item_kind=kind)).fetchall()
    ids = [row["item_id"] for row in rows]
    if not ids:
        return 0
    await fold_all(transaction)
    if frontier == "text":
        counted = await (await transaction.execute(_SQL["uncount_texts"], evidence_ids=ids, statistic_id=new_id())).fetchone()
        await remove_parts(transaction, ids)
    else:
        counted = await (await transaction.execute(_SQL["uncount_relationships"], relationship_ids=ids, statistic_id=new_id())).fetchone()
        await remove_documents(transaction, ids)
    return int(counted["row_count"]) if counted else 0
