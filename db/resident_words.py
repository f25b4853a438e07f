"""Postings of the words that are asked often, kept in the process: the best texts by BM25, as the database would find them.

Blocks of postings are kept by word, under the stamp that a recall's own snapshot gave them: while the stamp is the same, so are the
postings. What no worker folded yet is read anew each time. Scores are sums of whole numbers, by the formula of `evidence_lexical`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from commonlore.db.resident import Frontier, Hit
from commonlore.db.resident_pieces import Distinct, Keys, Numbers, Pieces, distinct
from commonlore.db.resident_terms import Terms

# Before the elements of an array in the database's own form; one without elements has 12 bytes.
_HEAD_BYTES = 20
_ID_ENTRY = np.dtype([("length", ">i4"), ("id", "V16")])
_CODE_ENTRY = np.dtype([("length", ">i4"), ("code", ">i8")])
_CODE_BYTES = 8
# A hundred thousand texts take two seconds.
_COMING_S = 10.0
_WEIGHT_UNIT = 10_000_000
# A piece and its owner, in dicts or of a whole space; a posting.
_PIECE_BYTES, _WHOLE_PIECE_BYTES, _POSTING_BYTES = 400, 100, 8
# A word of a whole space; and as many words are read one by one before a space is read as a whole.
_WORD_BYTES, _LEAST_READ = 48, 8
# A piece of 140 characters with its postings and its share of the words.
_USUAL_BYTES = 400


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

    def between(self, start: int, end: int, *, sign: int = 1) -> Posted:
        """Some of them, in their order."""
        return Posted(self.pieces[start:end], self.frequencies[start:end], self.lengths[start:end], sign)


class Bm25(NamedTuple):
    """What the formula takes beside the postings; `weights` as `evidence_lexical` has them."""

    terms: Sequence[str]
    weights: Sequence[float]
    average_length: float
    k1: float
    b: float


class WordsPage(NamedTuple):
    """One row of `load_evidence_words` or `load_relationship_words`: the words after another, null where there are no more."""

    terms: Sequence[str] | None
    stamps: bytes
    counts: bytes
    ids: bytes
    codes: bytes


class KeptWords:
    """Words of one space and frontier: all that were folded when it was read as a whole, and those that were asked for since under another
    stamp, the longest unused forgotten first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        # Of the whole space: the place of each word, where its postings end, and its stamp.
        self._whole = Terms()
        self._ends: Numbers = np.zeros(1, np.int64)
        self._stamps: Numbers = _NONE
        self._all = Posted(np.empty(0, np.int32), np.empty(0, np.uint16), np.empty(0, np.uint16))
        self._terms: OrderedDict[str, tuple[int, Posted]] = OrderedDict()
        self._pieces = Pieces()
        self._postings = 0
        self._read_since = 0
        self.fits_whole = True
        # Whether no worker had folded all of the words that were asked for last.
        self.had_unfolded = False

    @property
    def size_bytes(self) -> int:
        pieces = _PIECE_BYTES * self._pieces.later + _WHOLE_PIECE_BYTES * (len(self._pieces) - self._pieces.later)
        return pieces + _POSTING_BYTES * (self._postings + len(self._all.pieces)) + _WORD_BYTES * len(self._whole)

    def take_whole(self, terms: Terms, pieces: Pieces, postings: Posted, ends: Numbers, stamps: Numbers) -> None:
        """All postings, and by the place of each word where its own end and its stamp. Before anything else is taken."""
        self._whole, self._pieces, self._all, self._ends, self._stamps = terms, pieces, postings, ends, stamps

    @property
    def wants_all(self) -> bool:
        """Whether so much was read word by word that the whole space is better read anew."""
        return self.fits_whole and self._read_since > _LEAST_READ + len(self._whole) // 8

    def held(self, stamps: Mapping[str, int]) -> dict[str, Posted]:
        """The postings of those words that are kept under the stamps of a snapshot; the others are to be read in it."""
        found = {}
        for term, stamp in stamps.items():
            kept = self._terms.get(term)
            if kept is not None and kept[0] == stamp:
                self._terms.move_to_end(term)
                found[term] = kept[1]
        for term, place in self._whole.places(stamps.keys() - found.keys()).items():
            if int(self._stamps[place]) == stamps[term]:
                found[term] = self._all.between(int(self._ends[place]), int(self._ends[place + 1]))
        return found

    def take(self, stamps: Mapping[str, int], rows: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Posted]:
        """Keep the words that were read, each with all its blocks."""
        blocks: dict[str, list[tuple[bytes, Numbers]]] = {}
        for term, ids, codes in rows:
            blocks.setdefault(term, []).append((_ids(ids), _codes(codes)))
        found = {}
        self._read_since += len(stamps)
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
        read = list(rows)
        posted = self._posted(b"".join(row[2] for row in read), np.frombuffer(b"".join(row[3] for row in read), ">i8").astype(np.int64))
        ends = np.cumsum([0, *(len(row[3]) // _CODE_BYTES for row in read)]).tolist()
        return [(row[0], posted.between(*ours, sign=row[1])) for row, ours in zip(read, pairwise(ends), strict=True)]

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
        owners, part_nos = self._pieces.owners_and_parts(pieces)
        ranked = scores * (1 << 20) + ((1 << 20) - 1 - part_nos)
        best = np.full(self._pieces.owners_count, -1, np.int64)
        if self._pieces.are_owners:
            best[owners] = ranked
        else:
            np.maximum.at(best, owners, ranked)
        if refused:
            best[self._pieces.known_owners(refused)] = -1
        found = np.flatnonzero(best >= 0)
        values = best[found] >> 20
        if len(found) > wanted:
            enough = values >= np.partition(values, len(values) - wanted)[len(values) - wanted]
            found, values = found[enough], values[enough]
        order = self._pieces.by_id(found, values)[: len(found) if with_ties else wanted]
        found = found[order]
        lowest = (1 << 20) - 1 - (best[found] & ((1 << 20) - 1))
        return list(zip(self._pieces.ids(found), lowest.tolist(), values[order].astype(np.float64).tolist(), strict=True))

    def _scored(self, formula: Bm25, postings: Sequence[tuple[str, Posted]]) -> tuple[Numbers, Numbers]:
        """The pieces that hold a word, and the score of each. A piece whose postings were all taken away holds none."""
        if not postings:
            return _NONE, _NONE
        weight_of, count = dict(zip(formula.terms, formula.weights, strict=True)), len(self._pieces)
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

    def _posted(self, ids: bytes, codes: Numbers) -> Posted:
        return Posted(self._pieces.numbers(ids, codes >> 32), *_frequencies_and_lengths(codes))


_NONE: Numbers = np.empty(0, np.int64)


class _Read(NamedTuple):
    """A page with each of its pieces once: which one every posting is of."""

    distinct: Distinct
    frequencies: NDArray[np.uint16]
    lengths: NDArray[np.uint16]


class WholeSpace:
    """All words of a space on their way to be kept, page by page. Each step takes as long as some recalls: call them in a thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._terms: list[str] = []
        self._read: list[_Read] = []
        self._counts, self._stamps = [np.zeros(1, np.int64)], [_NONE]
        self._postings = 0

    def add(self, page: WordsPage) -> bool:
        """False where it has pieces that cannot be told apart, or all take more room than there is: then nothing is kept."""
        if page.terms is None:
            return True
        self._terms += page.terms
        self._counts.append(np.frombuffer(page.counts, ">i4").astype(np.int64))
        self._stamps.append(np.frombuffer(page.stamps, ">i8").astype(np.int64))
        codes = _codes(page.codes, head=0)
        pieces = distinct(Keys.of(_ids(page.ids, head=0), codes >> 32))
        if pieces is None:
            return False
        self._read.append(_Read(pieces, *_frequencies_and_lengths(codes)))
        self._postings += len(codes)
        return _POSTING_BYTES * self._postings + _WORD_BYTES * len(self._terms) <= self._most_bytes

    def made(self) -> KeptWords | None:
        """What is kept from now on; None where it has pieces that cannot be told apart."""
        kept, read = KeptWords(self._most_bytes), self._read
        if not read:
            return kept
        whole = distinct(Keys(*map(np.concatenate, zip(*[page.distinct.pieces.keys for page in read], strict=True))))
        pieces = Pieces.of_space(whole.pieces) if whole is not None else None
        if whole is None or pieces is None:
            return None
        begins = np.cumsum([0, *(len(page.distinct.pieces.mixed) for page in read)]).tolist()
        postings = Posted(
            np.concatenate([whole.places[begin:][page.distinct.places] for begin, page in zip(begins, read, strict=False)]),
            np.concatenate([page.frequencies for page in read]),
            np.concatenate([page.lengths for page in read]),
        )
        kept.take_whole(Terms(self._terms), pieces, postings, np.cumsum(np.concatenate(self._counts)), np.concatenate(self._stamps))
        return kept


class ResidentWords:
    """Kept words by space and frontier, the longest unused forgotten first, never more than `most_bytes` together.

    A space is read as a whole once in `patience_s` at most: several that have no room beside each other would else be read in turns.
    """

    def __init__(self, most_bytes: int, *, patience_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes, self._patience_s, self._clock = most_bytes, patience_s, clock
        self._kept: OrderedDict[WordsName, KeptWords] = OrderedDict()
        # Spaces to be read as a whole, with the id by which each is opened; and until when each is waited for.
        self._wanted: dict[WordsName, UUID] = {}
        self._coming: dict[WordsName, float] = {}
        # When each was read as a whole, the longest ago first.
        self._read: OrderedDict[WordsName, float] = OrderedDict()

    def want(self, name: WordsName, space_id: UUID) -> None:
        """Let all words of a space be read by whoever calls `take_wanted`, where that is neither under way nor just done."""
        while self._read and self._clock() >= next(iter(self._read.values())) + self._patience_s:
            self._read.popitem(last=False)
        if name not in self._read and not self.is_coming(name):
            self._wanted[name] = space_id
            self._coming[name] = self._clock() + _COMING_S

    def is_coming(self, name: WordsName) -> bool:
        """Whether a space is about to be read as a whole, so that none of its words is worth reading alone: each would number its pieces in dicts."""
        until = self._coming.get(name)
        if until is not None and self._clock() >= until:
            del self._coming[name]
            return False
        return until is not None

    def take_wanted(self) -> dict[WordsName, UUID]:
        wanted, self._wanted = self._wanted, {}
        return wanted

    def begin(self) -> WholeSpace:
        """A space that is to be read as a whole."""
        return WholeSpace(self._most_bytes)

    def keep(self, name: WordsName, kept: KeptWords | None) -> None:
        """In the place of what was kept: searches that began go on with that. Where there is nothing, or more than there is room for, what is
        kept word by word stays, and the space is not wanted again for as long."""
        self._coming.pop(name, None)
        self._read[name] = self._clock()
        self._read.move_to_end(name)
        if kept is None or kept.size_bytes > self._most_bytes:
            self.of(name).fits_whole = False
            return
        self._kept[name] = kept
        self._kept.move_to_end(name)
        self.trim()

    def has_room(self, pieces: int) -> bool:
        """Whether the words of so many pieces could be kept; one space may take all the room."""
        return _USUAL_BYTES * pieces <= self._most_bytes

    def names_of(self, team_id: UUID, space_epoch: int) -> list[WordsName]:
        """What is kept of a space."""
        return [name for name in self._kept if name.team_id == team_id and name.space_epoch == space_epoch]

    def of(self, name: WordsName) -> KeptWords:
        kept = self._kept.get(name)
        if kept is None:
            kept = self._kept[name] = KeptWords(self._most_bytes)
        self._kept.move_to_end(name)
        return kept

    def trim(self) -> None:
        """Forget spaces until the rest fits. One that outgrew the room by pieces alone starts anew."""
        for name in [name for name, kept in self._kept.items() if kept.size_bytes > self._most_bytes]:
            del self._kept[name]
        total = sum(kept.size_bytes for kept in self._kept.values())
        while total > self._most_bytes and self._kept:
            _, gone = self._kept.popitem(last=False)
            total -= gone.size_bytes


def _ids(array: bytes, *, head: int = _HEAD_BYTES) -> bytes:
    """The ids of a uuid[] in the database's own form, one after the other."""
    return np.frombuffer(array, _ID_ENTRY, offset=head)["id"].tobytes() if len(array) > head else b""


def _codes(array: bytes, *, head: int = _HEAD_BYTES) -> Numbers:
    return np.frombuffer(array, _CODE_ENTRY, offset=head)["code"].astype(np.int64) if len(array) > head else _NONE


def _frequencies_and_lengths(codes: Numbers) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    return (codes >> 16 & 65535).astype(np.uint16), (codes & 65535).astype(np.uint16)
