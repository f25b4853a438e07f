"""Postings of the words that are asked often, kept in the process: the best texts by BM25, as the database would find them.

Blocks of postings are kept by word, under the stamp that a recall's own snapshot gave them: while the stamp is the same, so are the
postings. What no worker folded yet is read anew each time. Scores are sums of whole numbers, by the formula of `evidence_lexical`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
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
_PIECE_BYTES, _POSTING_BYTES = 400, 8


class WordsName(NamedTuple):
    """Whose words are kept: of texts, generation 0, or of the documents of a generation."""

    team_id: UUID
    space_epoch: int
    frontier: Frontier
    generation: int = 0


class Posted(NamedTuple):
    """Postings: pieces by their number here, frequency and length of each, and whether they come (1) or are taken away (-1)."""

    pieces: NDArray[np.int32]
    frequencies: NDArray[np.uint16]
    lengths: NDArray[np.uint16]
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
        # By piece its owner and part; by owner the id, and its halves, which sort as it does.
        self._pieces = _Column(np.dtype([("owner", np.int64), ("part_no", np.int64)]))
        self._ids = _Column(np.dtype([("id", object), ("high", np.uint64), ("low", np.uint64)]))
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
        of_pieces, ids = self._pieces.rows[pieces], self._ids.rows
        ranked = scores * (1 << 20) + ((1 << 20) - 1 - of_pieces["part_no"])
        best = np.full(self._ids.count, -1, np.int64)
        if self._pieces.count == self._ids.count:
            best[of_pieces["owner"]] = ranked
        else:
            np.maximum.at(best, of_pieces["owner"], ranked)
        if refused:
            best[[self._owners[key] for key in refused if key in self._owners]] = -1
        owners = np.flatnonzero(best >= 0)
        values = best[owners] >> 20
        if len(owners) > wanted:
            enough = values >= np.partition(values, len(values) - wanted)[len(values) - wanted]
            owners, values = owners[enough], values[enough]
        order = np.lexsort((ids["low"][owners], ids["high"][owners], -values))[: len(owners) if with_ties else wanted]
        owners = owners[order]
        lowest = (1 << 20) - 1 - (best[owners] & ((1 << 20) - 1))
        return list(zip(ids["id"][owners].tolist(), lowest.tolist(), values[order].astype(np.float64).tolist(), strict=True))

    def _scored(self, formula: Bm25, postings: Sequence[tuple[str, Posted]]) -> tuple[Numbers, Numbers]:
        """The pieces that hold a word, and the score of each. A piece whose postings were all taken away holds none."""
        if not postings:
            return _NONE, _NONE
        weight_of, count = dict(zip(formula.terms, formula.weights, strict=True)), self._pieces.count
        pieces = np.concatenate([found.pieces for _, found in postings])
        frequency = np.concatenate([found.frequencies for _, found in postings]).astype(np.float64)
        length = np.concatenate([found.lengths for _, found in postings]).astype(np.float64)
        sizes = [len(found.pieces) for _, found in postings]
        weight = np.repeat([weight_of[term] * _WEIGHT_UNIT for term, _ in postings], sizes)
        of_length = formula.k1 * (1 - formula.b + formula.b * length / formula.average_length)
        gained = np.rint(weight * frequency / (frequency + of_length))
        if all(found.sign == 1 for _, found in postings):
            holding = np.flatnonzero(np.bincount(pieces, minlength=count))
        else:
            signs = np.repeat([float(found.sign) for _, found in postings], sizes)
            gained *= signs
            holding = np.flatnonzero(np.bincount(pieces, signs, minlength=count) > 0)
        # Whole numbers far below 2^53: the sums are exact.
        return holding, np.bincount(pieces, gained, minlength=count)[holding].astype(np.int64)

    def _keep(self, term: str, stamp: int, posted: Posted) -> None:
        old = self._terms.pop(term, None)
        self._postings += len(posted.pieces) - (len(old[1].pieces) if old is not None else 0)
        self._terms[term] = stamp, posted

    def _posted(self, ids: bytes, codes: Numbers, sign: int = 1) -> Posted:
        keys = np.empty(len(codes), _PIECE)
        keys["id"], keys["part_no"] = np.frombuffer(ids, "V16"), codes >> 32
        numbers, first = self._numbers, len(self._numbers)
        pieces = [numbers.setdefault(key, len(numbers)) for key in keys.view(f"V{_PIECE.itemsize}").tolist()]
        if len(numbers) > first:
            self._number(list(islice(numbers, first, None)))
        return Posted(np.array(pieces, np.int32), (codes >> 16 & 65535).astype(np.uint16), (codes & 65535).astype(np.uint16), sign)

    def _number(self, keys: Sequence[bytes]) -> None:
        """Give pieces that were met for the first time their owners."""
        pieces: list[tuple[int, int]] = []
        owners: list[tuple[UUID, int, int]] = []
        for key in keys:
            owner = self._owners.setdefault(key[:_ID_BYTES], len(self._owners))
            if owner == self._ids.count + len(owners):
                owners.append((UUID(bytes=key[:_ID_BYTES]), int.from_bytes(key[:8], "big"), int.from_bytes(key[8:_ID_BYTES], "big")))
            pieces.append((owner, int.from_bytes(key[_ID_BYTES:], "big")))
        self._pieces.append(pieces)
        self._ids.append(owners)


class _Column:
    """Rows that grow at the end."""

    def __init__(self, kind: np.dtype[np.void]) -> None:
        self._room: NDArray[np.void] = np.empty(256, kind)
        self.count = 0

    @property
    def rows(self) -> NDArray[np.void]:
        return self._room[: self.count]

    def append(self, rows: Sequence[tuple[object, ...]]) -> None:
        while self.count + len(rows) > len(self._room):
            self._room = np.concatenate([self._room, np.empty_like(self._room)])
        self._room[self.count : self.count + len(rows)] = np.array(rows, self._room.dtype)
        self.count += len(rows)


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
