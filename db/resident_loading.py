"""All words of a space at once, for a process that reads them one by one as they are asked."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from uuid import UUID

from commonlore.db.residence import Residence
from commonlore.db.resident_words import KeptWords, ResidentWords, WordsName, WordsPage
from commonlore.db.session import Pool, team_transaction
from commonlore.db.statements import RESIDENT

# Words of one page: some 200,000 postings, six megabytes.
_PAGE_WORDS = 5_000


async def load_words(pool: Pool, residence: Residence, *, timeout_ms: int) -> int:
    """Read the spaces whose words are asked for, one after the other, each page in a transaction of its own; how many spaces they were.

    Each word says under which stamp it was read, so pages need not be of one snapshot, and a recall takes what is the same in its own.

    Raises:
        CommonloreError: any database error, stated; the spaces that were not read are asked for again by later recalls.
    """
    wanted = residence.words.take_wanted()
    if residence.vectors.take_made():
        _give_back()
    for name, space_id in wanted.items():
        residence.words.keep(name, await _read(pool, residence.words, name, space_id, timeout_ms))
        _give_back()
    return len(wanted)


async def _read(pool: Pool, words: ResidentWords, name: WordsName, space_id: UUID, timeout_ms: int) -> KeptWords | None:
    space, after = words.begin(), ""
    while True:
        async with team_transaction(pool, name.team_id, timeout_ms=timeout_ms, snapshot=True) as transaction:
            transaction.epochs = {space_id: name.space_epoch}
            await transaction.enter(space_id)
            statement = RESIDENT[f"load_{name.frontier}_words"]
            rows = await transaction.execute_tuples(statement, after=after, most=_PAGE_WORDS, generation=name.generation)
            row = await rows.fetchone()
        assert row is not None
        page = WordsPage(*row)
        if not await asyncio.to_thread(space.add, page):
            return None
        if page.terms is None or len(page.terms) < _PAGE_WORDS:
            return await asyncio.to_thread(space.made)
        after = page.terms[-1]


def _give_back() -> None:
    """Several times what is kept was needed to read it; the C library would hold that."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
