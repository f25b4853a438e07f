"""All words of a space at once, for a process that reads them one by one as they are asked."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import Iterable
from uuid import UUID

from commonlore.db.residence import Residence
from commonlore.db.resident_words import KeptWords, ResidentWords, WordsName, WordsPage
from commonlore.db.session import Pool, team_transaction
from commonlore.db.statements import RESIDENT

# Words of one page: some 200,000 postings, six megabytes.
_PAGE_WORDS = 5_000


async def load_words(pool: Pool, residence: Residence, *, timeout_ms: int) -> int:
    """Read the spaces whose words are asked for, one after the other, each in a transaction of its own; how many they were.

    What is kept says under which stamp, so a recall of another snapshot takes of it what is the same there.

    Raises:
        CommonloreError: any database error, stated; the spaces that were not read are asked for again by later recalls.
    """
    wanted = residence.words.take_wanted()
    for name, space_id in wanted.items():
        pages = await _pages(pool, name, space_id, timeout_ms)
        residence.words.keep(name, await asyncio.to_thread(_made, residence.words, pages))
    return len(wanted)


async def _pages(pool: Pool, name: WordsName, space_id: UUID, timeout_ms: int) -> list[WordsPage]:
    pages: list[WordsPage] = []
    async with team_transaction(pool, name.team_id, timeout_ms=timeout_ms, snapshot=True) as transaction:
        transaction.epochs = {space_id: name.space_epoch}
        await transaction.enter(space_id)
        statement, after = RESIDENT[f"load_{name.frontier}_words"], ""
        while True:
            rows = await transaction.execute_tuples(statement, after=after, most=_PAGE_WORDS, generation=name.generation)
            row = await rows.fetchone()
            assert row is not None
            pages.append(WordsPage(*row))
            if pages[-1].terms is None or len(pages[-1].terms) < _PAGE_WORDS:
                return pages
            after = pages[-1].terms[-1]


def _made(words: ResidentWords, pages: list[WordsPage]) -> KeptWords | None:
    made = words.made(_emptying(pages))
    if sys.platform == "linux":
        # Several times what is kept was needed for it; the C library would hold that.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
    return made


def _emptying(pages: list[WordsPage]) -> Iterable[WordsPage]:
    while pages:
        yield pages.pop(0)
