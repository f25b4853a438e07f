"""Postings in the database: the differences that writes put down, the blocks that they are folded into, and how postings are taken out.

Writers only insert, so no two of them meet, and none meets a folding. Blocks are changed by whoever holds the folding lock of the
space alone. What is folded changes its form in one transaction: a reader finds a posting in a difference or in a block, never in
both and never in none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from commonlore.db.arrays import BigintArray, UuidArray, ids_of
from commonlore.db.session import TeamTransaction
from commonlore.db.sql import statements
from commonlore.domain.projection.posting import BlockColumns, PostedText, PostingBlock, PostingDifference, blocks, differences, net, text_postings

_SQL = statements("postings")
_FOLDING = statements("folding")
# Texts of one write beyond which postings go into blocks at once.
_DIRECT_FROM = 65
# Differences that wait before a write asks for their folding: a search looks into each of them.
FOLD_FROM = 32
_ASKED_BY, _COUNTED_TO = 8, 512
# Differences of one transaction of a folding, and blocks of one statement: both bound memory.
_FOLDED_AT_ONCE, _BLOCKS_AT_ONCE = 256, 4_000
Item = TypeVar("Item")


async def post_parts(transaction: TeamTransaction, texts: Sequence[PostedText]) -> AsyncCursor[DictRow] | None:
    """Make parts searchable by their words. A cursor whose row says how many differences waited before (`waiting`); None for many parts at once."""
    if len(texts) < _DIRECT_FROM:
        rows = [_row(difference) for difference in differences(texts)]
        return await transaction.execute(_SQL["insert_part_differences"], rows=msgspec.json.encode(rows).decode(), most=_COUNTED_TO)
    made = await asyncio.to_thread(lambda: blocks(text_postings(texts)))
    for batch in _batches(made, _BLOCKS_AT_ONCE):
        await transaction.execute(_SQL["insert_part_blocks"], **_columns(batch))
    return None


async def is_folding_due(posted: AsyncCursor[DictRow]) -> bool:
    """Whether so many differences wait that this write is to ask for their folding. One of several asks; the sweep does where none did."""
    row = await posted.fetchone()
    return row is not None and row["waiting"] >= FOLD_FROM and row["waiting"] % _ASKED_BY == 0


async def post_documents(transaction: TeamTransaction, generation: int, added: Iterable[PostedText], removed: Iterable[PostedText]) -> None:
    """Make documents searchable by their words, and take out what they said before. The caller holds the ledger lock of the space."""
    # In this order: a folding may come between two differences, and takes out only what is there.
    rows = [{"sign": sign, **_row(difference)} for sign, texts in ((1, added), (-1, removed)) for difference in differences(texts)]
    if rows:
        await transaction.execute(_SQL["insert_document_differences"], generation=generation, rows=msgspec.json.encode(rows).decode())


async def append_documents(transaction: TeamTransaction, generation: int, made: BlockColumns, ids: NDArray[np.void]) -> None:
    """The postings of documents that had none in this generation, into blocks at once; `ids` are those of the documents (`ids_of`).

    The caller holds the folding lock of the space.
    """
    for batch in _slices(made, ids):
        await transaction.execute(_FOLDING["append_documents"], generation=generation, **batch)


async def fold_postings(transaction: TeamTransaction) -> bool:
    """Fold the next differences of the open space; whether so many did that more may wait. The caller holds the folding lock of the space."""
    parts = await (await transaction.execute(_FOLDING["take_parts"], most=_FOLDED_AT_ONCE)).fetchall()
    await _append(transaction, "append_parts", await asyncio.to_thread(_part_blocks, parts))
    documents = await (await transaction.execute(_FOLDING["take_documents"], most=_FOLDED_AT_ONCE)).fetchall()
    for generation in sorted({row["generation"] for row in documents}):
        added, removed = await asyncio.to_thread(_document_blocks, [row for row in documents if row["generation"] == generation])
        if removed:
            terms, keys, codes = zip(*removed, strict=True)
            numbers = {"generation": generation, "terms": list(terms)}
            await transaction.execute(_FOLDING["remove_postings"], **numbers, relationship_ids=[UUID(key) for key in keys], codes=list(codes))
            await transaction.execute(_FOLDING["clear_emptied_documents"], **numbers)
        await _append(transaction, "append_documents", added, generation=generation)
    return max(len(parts), len(documents)) >= FOLD_FROM


async def fold_all(transaction: TeamTransaction) -> None:
    """Fold every difference of the open space. The caller holds the folding lock of the space."""
    while await fold_postings(transaction):
        pass


async def remove_parts(transaction: TeamTransaction, evidence_ids: Sequence[UUID]) -> None:
    """Take every posting of some evidence out of differences and blocks, for its erasure. The caller holds the folding lock of the space.

    Counts of the space (`evidence_statistic`) are the caller's to correct.
    """
    await fold_all(transaction)
    await transaction.execute(_FOLDING["remove_parts"], evidence_ids=list(evidence_ids))
    await transaction.execute(_FOLDING["clear_emptied_parts"])


async def remove_documents(transaction: TeamTransaction, relationship_ids: Sequence[UUID]) -> None:
    """As `remove_parts`, for the documents of some relationships in every generation (`relationship_statistic`)."""
    await fold_all(transaction)
    await transaction.execute(_FOLDING["remove_documents"], relationship_ids=list(relationship_ids))
    await transaction.execute(_FOLDING["clear_all_emptied_documents"])


async def _append(transaction: TeamTransaction, name: str, made: Sequence[PostingBlock], **numbers: int) -> None:
    for batch in _batches(made, _BLOCKS_AT_ONCE):
        await transaction.execute(_FOLDING[name], **numbers, **_columns(batch))


# Loops over many words; they run in threads, so that other requests and jobs go on.
def _part_blocks(rows: Sequence[DictRow]) -> list[PostingBlock]:
    return blocks(posting for row in rows for posting in _difference(row).postings())


def _document_blocks(rows: Sequence[DictRow]) -> tuple[list[PostingBlock], list[tuple[str, str, int]]]:
    """What is added, and the postings that are taken away."""
    added, removed = net((row["sign"], _difference(row).postings()) for row in rows)
    return blocks(added), removed


def _columns(batch: Sequence[PostingBlock]) -> dict[str, Any]:
    """Side by side, the postings of a block after those of the block before: psycopg would look at each of a million entries."""
    known = {key: place for place, key in enumerate(set(chain.from_iterable(block.keys for block in batch)))}
    places = np.fromiter(map(known.__getitem__, chain.from_iterable(block.keys for block in batch)), np.int64)
    codes = np.fromiter(chain.from_iterable(block.codes for block in batch), np.int64)
    return _parameters([block.term for block in batch], [len(block.keys) for block in batch], ids_of(list(map(UUID, known)))[places], codes)


def _slices(made: BlockColumns, ids: NDArray[np.void]) -> Iterator[dict[str, Any]]:
    """The same of blocks that stand side by side already, a batch at a time; `ids` has the id of each text."""
    ends = np.cumsum(made.sizes)
    for start in range(0, len(made.terms), _BLOCKS_AT_ONCE):
        stop = min(start + _BLOCKS_AT_ONCE, len(made.terms))
        ours = slice(ends[start] - made.sizes[start], ends[stop - 1])
        yield _parameters(made.terms[start:stop], made.sizes[start:stop].tolist(), ids[made.places[ours]], made.codes[ours])


def _parameters(terms: Sequence[str], sizes: Sequence[int], ids: NDArray[np.void], codes: NDArray[np.int64]) -> dict[str, Any]:
    """No term has white space in it."""
    return {"terms": "\n".join(terms), "sizes": sizes, "keys": UuidArray.of(ids), "codes": BigintArray.of(codes)}


def _row(difference: PostingDifference) -> dict[str, Any]:
    words = {term: "{" + ",".join(map(str, hits)) + "}" for term, hits in difference.hits.items()}
    return {"keys": difference.keys, "bases": difference.bases, "words": words}


def _difference(row: DictRow) -> PostingDifference:
    hits = {term: [int(hit) for hit in text[1:-1].split(",")] for term, text in row["words"].items()}
    return PostingDifference(row["keys"], row["bases"], hits)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
