"""Terms and counts of a searchable text, what a change of texts does to the statistics of its space, and the two forms of postings.

A write puts down a *difference*: the postings of some texts together, by term. A *block* holds postings of one term. Folding
turns differences into blocks; both say the same of every text, and a search adds up what it finds in either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
