"""Postings of the words that are asked often, kept in the process: the best texts by BM25, as the database would find them.

Blocks of postings are kept by word, under the stamp that a recall's own snapshot gave them: while the stamp is the same, so are the
postings. What no worker folded yet is read anew each time. Scores are sums of whole numbers, by the formula of `evidence_lexical`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from commonlore.db.resident import Frontier, Hit

Numbers = NDArray[np.int64]
_ID_BYTES = 16
# Before the elements of an array in the database's own form; one without elements has 12 bytes.
_HEAD_BYTES = 20
_ID_ENTRY = np.dtype([("length", ">i4"), ("id", "V16")])
_CODE_ENTRY = np.dtype([("length", ">i4"), ("code", ">i8")])
_PIECE = np.dtype([("id", "V16"), ("part_no", ">i4")])
_WEIGHT_UNIT = 10_000_000
# An id and its entries in dicts, lists and arrays; a posting.
_PIECE_BYTES, _POSTING_BYTES = 400, 24


class WordsName(NamedTuple):
    """Whose words are kept: of texts, generation 0, or of the documents of a generation."""

    team_id: UUID
    space_epoch: int
    frontier: Frontier
    generation: int = 0


class Posted(NamedTuple):
    """Postings: pieces by their number here, frequency and length of each, and whether they come (1) or are taken away (-1)."""

    pieces: Numbers
    frequencies: NDArray[np.float64]
    lengths: NDArray[np.float64]
    sign: int = 1


class Bm25(NamedTuple):
    """What the formula takes beside the postings; `weights` as `evidence_lexical` has them."""

    terms: Sequence[str]
    weights: Sequence[float]
    average_length: float
    k1: float
    b: float


class KeptWords:
    """The words of one space and frontier that were asked for, the longest unused forgotten first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._terms: OrderedDict[str, tuple[int, Posted]] = OrderedDict()
        self._numbers: dict[bytes, int] = {}
        self._owners: dict[bytes, int] = {}
        self._ids: list[bytes] = []
        self._owner_of: list[int] = []
        self._part_nos: list[int] = []
        self._arrays: _Columns | None = None
        self._postings = 0

    @property
    def size_bytes(self) -> int:
        return _PIECE_BYTES * len(self._numbers) + _POSTING_BYTES * self._postings

    def held(self, stamps: Mapping[str, int]) -> dict[str, Posted]:
        """The postings of those words that are kept under the stamps of a snapshot; the others are to be read in it."""
        found = {}
        for term, stamp in stamps.items():
            kept = self._terms.get(term)
            if kept is not None and kept[0] == stamp:
                self._terms.move_to_end(term)
                found[term] = kept[1]
        return found

    def take(self, stamps: Mapping[str, int], rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Posted]:
        """Keep the words that were read, each with all its blocks."""
        blocks: dict[str, list[tuple[bytes, Numbers]]] = {}
        for term, ids, codes in rows:
            blocks.setdefault(term, []).append((_ids(ids), _codes(codes)))
        found = {}
        for term, stamp in stamps.items():
            of_it = blocks.get(term, [])
            posted = self._posted(b"".join(ids for ids, _ in of_it), np.concatenate([_NONE, *(codes for _, codes in of_it)]))
            self._keep(term, stamp, posted)
            found[term] = posted
        while self.size_bytes > self._most_bytes and len(self._terms) > len(stamps):
            _, (_, gone) = self._terms.popitem(last=False)
            self._postings -= len(gone.pieces)
        return found

    def unfolded(self, rows: Iterable[tuple[str, int, bytes, bytes]]) -> list[tuple[str, Posted]]:
        """Postings that are read each time, by word."""
        return [(term, self._posted(ids, np.frombuffer(codes, ">i8").astype(np.int64), sign)) for term, sign, ids, codes in rows]

    def best(
        self,
        formula: Bm25,
        postings: Sequence[tuple[str, Posted]],
        wanted: int,
        refused: Collection[bytes] = (),
        *,
        with_ties: bool = False,
    ) -> list[Hit]:
        """The `wanted` best texts without those that are refused, each by its best part, the lowest of several. Ties: id.

        `with_ties`: and all that are as good as the last of them.
        """
        pieces, scores = self._scored(formula, postings)
        columns = self._columns()
        owner_of, high, low = columns.owner_of, columns.high, columns.low
        ranked = scores * (1 << 20) + ((1 << 20) - 1 - columns.part_nos[pieces])
        best = np.full(len(self._ids), -1, np.int64)
        if len(self._numbers) == len(self._ids):
            best[owner_of[pieces]] = ranked
        else:
            np.maximum.at(best, owner_of[pieces], ranked)
        if refused:
            best[[self._owners[key] for key in refused if key in self._owners]] = -1
        owners = np.flatnonzero(best >= 0)
        values = best[owners] >> 20
        if len(owners) > wanted:
            enough = values >= np.partition(values, len(values) - wanted)[len(values) - wanted]
            owners, values = owners[enough], values[enough]
        order = np.lexsort((low[owners], high[owners], -values))[: len(owners) if with_ties else wanted]
        lowest = (1 << 20) - 1 - (best[owners[order]] & ((1 << 20) - 1))
        return list(zip(columns.ids[owners[order]].tolist(), lowest.tolist(), values[order].astype(np.float64).tolist(), strict=True))

    def _scored(self, formula: Bm25, postings: Sequence[tuple[str, Posted]]) -> tuple[Numbers, Numbers]:
        """The pieces that hold a word, and the score of each. A piece whose postings were all taken away holds none."""
        weight_of = dict(zip(formula.terms, formula.weights, strict=True))
        hits = [(weight_of[term], found) for term, found in postings]
        count = len(self._numbers)
        if not hits:
            return _NONE, _NONE
        gained = []
        for weight, found in hits:
            frequency, length = found.frequencies, found.lengths
            of_length = formula.k1 * (1 - formula.b + formula.b * length / formula.average_length)
            gained.append(found.sign * np.rint(weight * _WEIGHT_UNIT * frequency / (frequency + of_length)))
        pieces = np.concatenate([found.pieces for _, found in hits])
        # Whole numbers far below 2^53: the sums are exact.
        sums = np.bincount(pieces, np.concatenate(gained), minlength=count)
        if all(found.sign == 1 for _, found in hits):
            holding = np.flatnonzero(np.bincount(pieces, minlength=count))
        else:
            signs = np.concatenate([np.full(len(found.pieces), float(found.sign)) for _, found in hits])
            holding = np.flatnonzero(np.bincount(pieces, signs, minlength=count) > 0)
        return holding, sums[holding].astype(np.int64)

    def _keep(self, term: str, stamp: int, posted: Posted) -> None:
        old = self._terms.pop(term, None)
        self._postings += len(posted.pieces) - (len(old[1].pieces) if old is not None else 0)
        self._terms[term] = stamp, posted

    def _posted(self, ids: bytes, codes: Numbers, sign: int = 1) -> Posted:
        part_nos = codes >> 32
        keys = np.empty(len(codes), _PIECE)
        keys["id"], keys["part_no"] = np.frombuffer(ids, "V16"), part_nos
        numbers = self._numbers
        pieces = [numbers.setdefault(key, len(numbers)) for key in keys.view(f"V{_PIECE.itemsize}").tolist()]
        if len(numbers) > len(self._part_nos):
            self._number_new()
        return Posted(np.array(pieces, np.int64), (codes >> 16 & 65535).astype(np.float64), (codes & 65535).astype(np.float64), sign)

    def _number_new(self) -> None:
        """Give the pieces that were met for the first time their owners."""
        self._arrays = None
        for key in list(self._numbers)[len(self._part_nos) :]:
            owner = self._owners.setdefault(key[:_ID_BYTES], len(self._owners))
            if owner == len(self._ids):
                self._ids.append(key[:_ID_BYTES])
            self._owner_of.append(owner)
            self._part_nos.append(int.from_bytes(key[_ID_BYTES:], "big"))

    def _columns(self) -> _Columns:
        if self._arrays is None:
            halves = np.frombuffer(b"".join(self._ids), ">u8").astype(np.uint64).reshape(-1, 2)
            ids = np.empty(len(self._ids), object)
            ids[:] = [UUID(bytes=key) for key in self._ids]
            self._arrays = _Columns(
                np.array(self._owner_of, np.int64), np.array(self._part_nos, np.int64), ids, halves[:, 0].copy(), halves[:, 1].copy()
            )
        return self._arrays


class _Columns(NamedTuple):
    """By piece its owner and part; by owner the id, and its halves, which sort as it does."""

    owner_of: Numbers
    part_nos: Numbers
    ids: NDArray[np.object_]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]


_NONE: Numbers = np.empty(0, np.int64)


class ResidentWords:
    """Kept words by space and frontier, the longest unused forgotten first, never more than `most_bytes` together."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[WordsName, KeptWords] = OrderedDict()

    def has_room(self, pieces: int) -> bool:
        """Whether the words of so many pieces could be kept; one space takes half of the room at most."""
        return 2 * _PIECE_BYTES * pieces <= self._most_bytes

    def of(self, name: WordsName) -> KeptWords:
        kept = self._kept.get(name)
        if kept is None:
            kept = self._kept[name] = KeptWords(self._most_bytes // 2)
        self._kept.move_to_end(name)
        return kept

    def trim(self) -> None:
        """Forget spaces until the rest fits. One that outgrew its half by pieces alone starts anew."""
        for name in [name for name, kept in self._kept.items() if kept.size_bytes > self._most_bytes // 2]:
            del self._kept[name]
        total = sum(kept.size_bytes for kept in self._kept.values())
        while total > self._most_bytes and self._kept:
            _, gone = self._kept.popitem(last=False)
            total -= gone.size_bytes


def _ids(array: bytes) -> bytes:
    """The ids of a uuid[] in the database's own form, one after the other."""
    return np.frombuffer(array, _ID_ENTRY, offset=_HEAD_BYTES)["id"].tobytes() if len(array) > _HEAD_BYTES else b""


def _codes(array: bytes) -> Numbers:
    return np.frombuffer(array, _CODE_ENTRY, offset=_HEAD_BYTES)["code"].astype(np.int64) if len(array) > _HEAD_BYTES else _NONE
