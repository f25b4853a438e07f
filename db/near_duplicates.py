"""Pairs of texts that say nearly the same, a page of texts at a time. It reads and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from commonlore.db.contracts import share_contracts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.quality.near_duplicates import COMPARED_CHARS, MOST_NEAREST, SHOWN_CHARS, ListNearDuplicatesRequest, similarity_percent

_SQL = statements("near_duplicate")
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two texts of one space, the earlier id first, and how each begins."""

    evidence_id: UUID
    other_id: UUID
    similarity_percent: int
    is_same_text: bool
    begins: str
    other_begins: str


@dataclass(frozen=True, slots=True)
class NearPage:
    """Pairs by their ids. `last_id` is the last text that was looked at where more follow."""

    pairs: list[NearPair]
    looked_at: int
    last_id: UUID | None


async def page_near_duplicates(transaction: TeamTransaction, request: ListNearDuplicatesRequest, after: UUID | None) -> NearPage:
    """The pairs of the texts after an id of the open space, each pair once, at its earlier text."""
    rows = await (await transaction.execute(_SQL["page_texts"], after=after or _FIRST, most=request.limit + 1)).fetchall()
    ids = [row["evidence_id"] for row in rows[: request.limit]]
    pairs: list[NearPair] = []
    if ids:
        served = (await share_contracts(transaction))[0]
        cursor = await transaction.execute(
            of_contract(_SQL["nearest_texts"], served.contract_id), evidence_ids=ids, nearest=MOST_NEAREST, chars=COMPARED_CHARS
        )
        for row in await cursor.fetchall():
            percent = 100 if row["is_same_text"] else min(99, similarity_percent(row["content"], row["other_content"]))
            if percent >= request.min_similarity_percent:
                begins, other_begins = row["content"][:SHOWN_CHARS], row["other_content"][:SHOWN_CHARS]
                pairs.append(NearPair(row["evidence_id"], row["other_id"], percent, row["is_same_text"], begins, other_begins))
    return NearPage(pairs, len(ids), ids[-1] if len(rows) > request.limit else None)
