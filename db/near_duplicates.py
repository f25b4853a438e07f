"""Pairs of texts that say nearly the same, a page of texts at a time. It reads and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from commonlore.db.contracts import share_contracts
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.db.vectors import of_contract
from commonlore.domain.quality.near_duplicates import COMPARED_CHARS, MOST_NEAREST, SHOWN_CHARS, ListNearDuplicatesRequest, similarities

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
class NearTexts:
    """The pairs of a page as they were read, with whether they are the same text. `last_id` is the last text that was looked at where more follow."""

    pairs: dict[tuple[UUID, UUID], bool]
    texts: dict[UUID, str]
    looked_at: int
    last_id: UUID | None


async def read_near_texts(transaction: TeamTransaction, request: ListNearDuplicatesRequest, after: UUID | None) -> NearTexts:
    """The texts after an id of the open space with those nearest to each, each pair once, at its earlier text."""
    rows = await (await transaction.execute(_SQL["page_texts"], after=after or _FIRST, most=request.limit + 1)).fetchall()
    ids = [row["evidence_id"] for row in rows[: request.limit]]
    found = NearTexts({}, {}, len(ids), ids[-1] if len(rows) > request.limit else None)
    if ids:
        served = (await share_contracts(transaction))[0]
        cursor = await transaction.execute(of_contract(_SQL["nearest_texts"], served.contract_id), evidence_ids=ids, nearest=MOST_NEAREST)
        found.pairs.update({(row["evidence_id"], row["other_id"]): row["is_same_text"] for row in await cursor.fetchall()})
        wanted = {key for pair in found.pairs for key in pair}
        cursor = await transaction.execute(_SQL["read_texts"], evidence_ids=sorted(wanted), chars=COMPARED_CHARS)
        found.texts.update({row["evidence_id"]: row["content"] for row in await cursor.fetchall()})
    return found


def near_pairs(read: NearTexts, min_similarity_percent: int) -> list[NearPair]:
    """Those that are at least so similar, by their ids. It compares for a while: run it in a thread, when the transaction is over."""
    texts = read.texts
    shown: list[NearPair] = []
    for ((one, other), is_same), alike in zip(read.pairs.items(), similarities(list(read.pairs), texts), strict=True):
        percent = 100 if is_same else min(99, alike)
        if percent >= min_similarity_percent:
            shown.append(NearPair(one, other, percent, is_same, texts[one][:SHOWN_CHARS], texts[other][:SHOWN_CHARS]))
    return shown
