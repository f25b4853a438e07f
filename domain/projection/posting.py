"""Terms and counts of a searchable text, what a change of texts does to the statistics of its space, and the two forms of postings.

A write puts down a *difference*: the postings of some texts together, by term. A *block* holds postings of one term. Folding
turns differences into blocks; both say the same of every text, and a search adds up what it finds in either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from commonlore.domain.text.analyse import terms

# Postings in a block, and the texts and postings of one difference: a row of either fits on a page of the database.
POSTINGS_A_BLOCK = 64
_MOST_TEXTS, _MOST_POSTINGS = 64, 320
_SIXTEEN = 1 << 16


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Frequency of each term, and the length of the text in terms (at least 1)."""

    frequencies: dict[str, int]
    length: int


def count_terms(text: str) -> TermCounts:
    """Terms in the order of their first occurrence."""
    found = Counter(terms(text))
    return TermCounts(dict(found), max(1, found.total()))


@dataclass(frozen=True, slots=True)
class StatisticsDifference:
    """What to add to the counts of a space; numbers may be negative."""

    documents: int
    length: int


def document_statistics(counted: Sequence[tuple[TermCounts, TermCounts | None]]) -> StatisticsDifference:
    """The difference that new texts make, each with the text it replaces, if any."""
    replaced = [old for _, old in counted if old is not None]
    return StatisticsDifference(len(counted) - len(replaced), sum(new.length for new, _ in counted) - sum(old.length for old in replaced))


@dataclass(frozen=True, slots=True)
class PostedText:
    """The postings of one text: its key, its number among the parts of one evidence, and the frequency of each term."""

    key: str
    part_no: int
    length: int
    frequencies: Mapping[str, int]

    @property
    def base(self) -> int:
        """What the codes of its postings have in common.

        Raises:
            ValueError: the length has more than 16 bits.
        """
        if self.length >= _SIXTEEN:
            raise ValueError(f"a text of {self.length} terms cannot be posted")
        return self.part_no << 32 | self.length


@dataclass(slots=True)
class PostingDifference:
    """Postings of some texts, by term. A hit is `frequency << 6 | place`, the place being that of the text in `keys` and `bases`."""

    keys: list[str] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    hits: dict[str, list[int]] = field(default_factory=dict)

    def postings(self) -> Iterator[tuple[str, str, int]]:
        """Term, key and code of each posting. A code is `part_no << 32 | frequency << 16 | length`."""
        for term, hits in self.hits.items():
            for hit in hits:
                place = hit & 63
                yield term, self.keys[place], self.bases[place] + (hit >> 6 << 16)


def differences(texts: Iterable[PostedText]) -> Iterator[PostingDifference]:
    """The postings of the texts, in their order, in as few differences as hold them. A text without a term is in none."""
    made, postings = PostingDifference(), 0
    for text in texts:
        if not text.frequencies:
            continue
        if made.keys and (len(made.keys) == _MOST_TEXTS or postings + len(text.frequencies) > _MOST_POSTINGS):
            yield made
            made, postings = PostingDifference(), 0
        place = len(made.keys)
        made.keys.append(text.key)
        made.bases.append(text.base)
        for term, frequency in text.frequencies.items():
            made.hits.setdefault(term, []).append(frequency << 6 | place)
        postings += len(text.frequencies)
    if made.keys:
        yield made


def replaced_postings(key: str, new: TermCounts, old: TermCounts) -> tuple[PostedText, PostedText]:
    """What a text that takes the place of another adds, and what it takes away; what both have is in neither."""
    same = {term for term, frequency in new.frequencies.items() if old.frequencies.get(term) == frequency} if new.length == old.length else set()
    added, removed = (
        PostedText(key, 0, counted.length, {term: frequency for term, frequency in counted.frequencies.items() if term not in same})
        for counted in (new, old)
    )
    return added, removed


@dataclass(frozen=True, slots=True)
class PostingBlock:
    """Up to `POSTINGS_A_BLOCK` postings of one term: keys and codes, in step."""

    term: str
    keys: Sequence[str]
    codes: Sequence[int]


def blocks(postings: Iterable[tuple[str, str, int]]) -> list[PostingBlock]:
    """Postings by term, terms sorted, in full blocks and at most one that is not full, which comes last of its term."""
    by_term: dict[str, tuple[list[str], list[int]]] = {}
    for term, key, code in postings:
        found = by_term.get(term)
        if found is None:
            by_term[term] = ([key], [code])
        else:
            found[0].append(key)
            found[1].append(code)
    made = []
    for term in sorted(by_term):
        keys, codes = by_term[term]
        if len(keys) <= POSTINGS_A_BLOCK:
            made.append(PostingBlock(term, keys, codes))
        else:
            made += [
                PostingBlock(term, keys[start : start + POSTINGS_A_BLOCK], codes[start : start + POSTINGS_A_BLOCK])
                for start in range(0, len(keys), POSTINGS_A_BLOCK)
            ]
    return made


@dataclass(frozen=True, slots=True)
class BlockColumns:
    """Blocks side by side: a term and a size each, then what is in them, block after block: a code and a place each, the
    place being that of the text among those that were given.
    """

    terms: list[str]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    codes: NDArray[np.int64]


@lru_cache(maxsize=1 << 15)
def _line_terms(line: str) -> tuple[str, ...]:
    return tuple(terms(line))


class _KnownLines(dict[str, tuple[int, ...]]):
    """The terms of each line as numbers, by their first occurrence."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}

    def __missing__(self, line: str) -> tuple[int, ...]:
        found = self[line] = tuple(self.numbers.setdefault(term, len(self.numbers)) for term in _line_terms(line))
        return found


def document_blocks(texts: Sequence[str]) -> tuple[BlockColumns, StatisticsDifference]:
    """`blocks` of the postings of many texts at once, the same in the same order, and what the texts add to the counts of their space.

    Made for documents, which have most of their lines in common: no term reaches over the end of a line.

    Raises:
        ValueError: the length of a text has more than 16 bits.
    """
    known, found, counts = _KnownLines(), list[int](), list[int]()
    for text in texts:
        before = len(found)
        found.extend(chain.from_iterable(map(known.__getitem__, text.split("\n"))))
        counts.append(len(found) - before)
    lengths = np.maximum(np.array(counts, np.int64), 1)
    if lengths.size and lengths.max() >= _SIXTEEN:
        raise ValueError(f"a text of {lengths.max()} terms cannot be posted")
    names = sorted(known.numbers)
    ranks = np.empty(len(names), np.int64)
    ranks[[known.numbers[name] for name in names]] = np.arange(len(names))
    # A posting is a number by which they sort, by term and then by text; as often as it is there, so often is the term in the text.
    every = np.sort(ranks[np.array(found, np.int64)] * len(texts) + np.repeat(np.arange(len(texts)), counts))
    firsts = np.flatnonzero(np.diff(every, prepend=-1))
    frequencies = np.diff(firsts, append=len(every))
    of_term, places = np.divmod(every[firsts], max(1, len(texts)))
    begins = np.flatnonzero(np.diff(of_term, prepend=-1))
    in_term = np.arange(len(of_term)) - np.repeat(begins, np.diff(begins, append=len(of_term)))
    begins = np.flatnonzero(in_term % POSTINGS_A_BLOCK == 0)
    made = BlockColumns(
        [names[rank] for rank in of_term[begins].tolist()], np.diff(begins, append=len(of_term)), places, frequencies << 16 | lengths[places]
    )
    return made, StatisticsDifference(len(texts), int(lengths.sum()))


def text_postings(texts: Iterable[PostedText]) -> Iterator[tuple[str, str, int]]:
    """Term, key and code of each posting of the texts."""
    for text in texts:
        base = text.base
        for term, frequency in text.frequencies.items():
            yield term, text.key, base + (frequency << 16)


def net(signed: Iterable[tuple[int, Iterable[tuple[str, str, int]]]]) -> tuple[list[tuple[str, str, int]], list[tuple[str, str, int]]]:
    """Postings with their sign, +1 or -1: those that are added in the end, and those that are taken away."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for sign, postings in signed:
        for posting in postings:
            counts[posting] += sign
    return [posting for posting, count in counts.items() if count > 0], [posting for posting, count in counts.items() if count < 0]
