"""The branches of one space from what the process keeps of it, in the recall's own snapshot; None for each that the database is to search.

What is kept answers only where the snapshot says that it is all there is: nothing came that is not held, nothing is held that it does not
see, there are as many vectors as texts, and each word has the blocks that it had. Whether a relationship counts is asked each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from psycopg.rows import TupleRow

from commonlore.db.pipeline import Asked
from commonlore.db.residence import Residence, ResidentVectors
from commonlore.db.resident import SLACK, Arrivals, BlockName, Hit, Measured, Moments, VectorBlock, made_block
from commonlore.db.resident_gate import SpaceGate
from commonlore.db.resident_words import Bm25, KeptWords, Posted, ResidentWords, WordsName
from commonlore.db.session import TeamTransaction
from commonlore.db.statements import RESIDENT
from commonlore.db.vectors import of_contract
from commonlore.domain.ports import Vectors
from commonlore.domain.recall.grouping import RelationshipHit

# Bytes that are made a block of in a thread, while the database searches.
_LONG_BYTES = 1 << 20
_MOST_HITS = 100_000


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Of each word of the query that occurs: its stamp. `unfolded` are those of which no worker folded all yet."""

    stamps: dict[str, int]
    unfolded: frozenset[str]

    @classmethod
    def of(cls, found: dict[str, list[int]] | None) -> WordCounts:
        """From `read_statistics`."""
        words = found or {}
        return cls({term: stamp for term, (_, stamp, _) in words.items() if stamp}, frozenset(term for term, (_, _, count) in words.items() if count))


@dataclass(slots=True)
class HeldVectors:
    """What was asked about the vectors of one space and frontier. `block` is None while everything is read."""

    store: ResidentVectors
    name: BlockName
    block: VectorBlock | None
    asked: Asked[TupleRow]
    known: frozenset[int] = frozenset()
    measured: Measured | None = None

    def measure(self, query: Vectors) -> None:
        """Begin with a query of the block's length, before it is known whether the block is of use."""
        if self.block is not None and len(query) == self.block.dimensions:
            self.measured = self.block.measured(query)

    async def block_of(self, count: int) -> VectorBlock | None:
        """The block, where it is what the open snapshot sees of a space with so many vectors."""
        (row,) = await self.asked.fetch_early()
        found = Arrivals(*row[:2], *(column or b"" for column in row[2:]))
        if self.block is None:
            if len(found.vectors) > _LONG_BYTES:
                self.store.keep_later(self.name, found)
                return None
            self.block = made_block(found)
            if self.block is None:
                self.store.note_useless(self.name)
                return None
            self.store.keep(self.name, self.block)
            seen = self.block.held
        else:
            if not self.block.add(found):
                self.store.note_useless(self.name, self.block)
                return None
            seen = self.known | found.numbers()
        if not found.holds or self.block.mark > found.mark or not self.block.held <= seen:
            return None  # another recall saw more than this snapshot does
        if self.block.count != count:
            self.store.note_useless(self.name, self.block)
            return None
        return self.block


def ask_vectors(transaction: TeamTransaction, store: ResidentVectors, name: BlockName, rows: int) -> HeldVectors | None:
    """Ask what a kept block lacks, or for the whole of a space that is to be kept; None where it is not. The space of `name` must be open."""
    block = store.of(name)
    if block is None and not store.wants(name, rows):
        return None
    statement = of_contract(RESIDENT[f"{'load' if block is None else 'new'}_{name.frontier}"], name.contract_id)
    asked = {"mark": str(block.mark), "held": [str(number) for number in sorted(block.held)]} if block else {}
    known = block.held if block is not None else frozenset()
    return HeldVectors(store, name, block, transaction.ask_tuples(statement, generation=name.generation, **asked), known)


@dataclass(slots=True)
class HeldWords:
    """What was asked about the words of one space and frontier."""

    kept: KeptWords
    store: ResidentWords
    name: WordsName
    space_id: UUID
    formula: Bm25
    found: list[tuple[str, Posted]]
    lacking: dict[str, int]
    asked: Asked[TupleRow] | None
    loose: frozenset[str]
    unfolded: Asked[TupleRow] | None

    async def best(self, wanted: int, refused: frozenset[bytes] = frozenset(), *, with_ties: bool = False) -> list[Hit]:
        """As `KeptWords.best`, over the words of the formula as the open snapshot sees them."""
        if self.asked is not None:
            self.found += self.kept.take(self.lacking, await self.asked.fetchall()).items()
            self.store.trim()
            if self.kept.wants_all:
                self.store.want(self.name, self.space_id)
            self.asked = None
        if self.unfolded is not None:
            self.found += self.kept.unfolded(row for row in await self.unfolded.fetch_early() if row[0] in self.loose)
            self.unfolded = None
        return self.kept.best(self.formula, self.found, wanted, refused, with_ties=with_ties)


def ask_words(
    transaction: TeamTransaction,
    store: ResidentWords,
    name: WordsName,
    space_id: UUID,
    formula: Bm25,
    counts: WordCounts,
    ahead: Mapping[WordsName, Asked[TupleRow]],
) -> HeldWords:
    """Ask for the postings that are not kept, and for those that no worker folded yet, save where that was asked ahead.
    The space of `name` must be open."""
    kept = store.of(name)
    stamps = {term: counts.stamps[term] for term in formula.terms if term in counts.stamps}
    found = kept.held(stamps)
    lacking = {term: stamp for term, stamp in stamps.items() if term not in found}
    loose = frozenset(term for term in formula.terms if term in counts.unfolded)
    kept.had_unfolded = bool(counts.unfolded)
    asked = unfolded = None
    if lacking:
        asked = transaction.ask_tuples(RESIDENT[f"read_{name.frontier}_words"], terms=list(lacking), generation=name.generation)
    if loose:
        unfolded = ahead.get(name) or ask_unfolded(transaction, name, sorted(loose))
    return HeldWords(kept, store, name, space_id, formula, list(found.items()), lacking, asked, loose, unfolded)


def ask_unfolded(transaction: TeamTransaction, name: WordsName, terms: Sequence[str]) -> Asked[TupleRow]:
    """Of some words, what no worker folded yet."""
    return transaction.ask_tuples(RESIDENT[f"read_unfolded_{name.frontier}"], terms=list(terms), generation=name.generation)


@dataclass(slots=True)
class HeldEvidence:
    """Both branches of the texts of a space. `known`: texts that the caller has already."""

    words: HeldWords
    vectors: HeldVectors | None
    gate: SpaceGate | None
    known: frozenset[bytes]

    async def lexical(self, depth: int) -> list[Hit] | None:
        """Rows as those of `evidence_lexical`."""
        refused = await self._refused()
        if refused is None:
            return None
        return await self.words.best(depth, refused)

    async def near(self, vector: Vectors, *, parts: int, part_depth: int, depth: int, sample: int) -> tuple[list[Hit], Moments] | None:
        """The first columns of the rows of `evidence_vector`, and the others, which are the same in each."""
        refused = await self._refused()
        if self.vectors is None or refused is None:
            return None
        block = await self.vectors.block_of(parts)
        if block is None or len(vector) != block.dimensions:
            return None
        measured = self.vectors.measured
        nearest = block.nearest(vector, part_depth, refused, measured=measured)
        return block.best_parts(nearest, depth), block.moments(vector, sample, measured=measured)

    async def _refused(self) -> frozenset[bytes] | None:
        gone = (await self.gate.refused()).texts if self.gate is not None else frozenset()
        return self.known | gone if gone is not None else None


@dataclass(slots=True)
class HeldRelationships:
    """Both branches of the relationships of a space: what may be among the best, then what of it counts."""

    transaction: TeamTransaction
    residence: Residence
    words: HeldWords
    vectors: HeldVectors | None
    gate: SpaceGate
    _lexical: list[Hit] = field(default_factory=list, init=False)
    _near: list[Hit] | None = field(default=None, init=False)
    _rest: bool = field(default=False, init=False)
    _refused: frozenset[bytes] | None = field(default=None, init=False)
    _doubtful: Asked[TupleRow] | None = field(default=None, init=False)
    _unknown: Asked[TupleRow] | None = field(default=None, init=False)
    _hits: dict[int, RelationshipHit] = field(default_factory=dict, init=False)

    @property
    def has_near(self) -> bool:
        """Whether the process keeps what the vector branch needs, once `find` has looked."""
        return self._near is not None

    async def find_words(self, depth: int) -> None:
        """Choose the candidates of the lexical branch."""
        self._lexical = await self.words.best(depth + SLACK, with_ties=True)

    async def find(self, vector: Vectors | None, *, documents: int, depth: int) -> None:
        """Choose the candidates of the vector branch, and ask which of all count where the gate does not say it."""
        if vector is not None and self.vectors is not None:
            block = await self.vectors.block_of(documents)
            if block is not None and len(vector) == block.dimensions:
                # No more than the database looks at: of those it may find too few, and then looks deeper.
                self._near = block.nearest(vector, depth + min(SLACK, depth), with_ties=True, measured=self.vectors.measured)
                self._rest = len(self._near) < block.count
        # Whole numbers as keys: a UUID's hash costs more than the rest.
        found = {hit[0].int: hit[0] for branch in (self._lexical, self._near or ()) for hit in branch}
        if not found:
            return
        if len(self.residence.hits) > _MOST_HITS:
            self.residence.hits = {}  # other searches go on with the old ones
        self._hits = self.residence.hits
        self._refused = (await self.gate.refused()).relationships
        if self._refused is None:
            self._doubtful = self.transaction.ask_tuples(RESIDENT["read_not_counting"], relationship_ids=list(found.values()))
        unknown = [key for number, key in found.items() if number not in self._hits]
        if unknown:
            self._unknown = self.transaction.ask_tuples(RESIDENT["read_hits"], relationship_ids=unknown)

    async def lexical(self, depth: int) -> list[RelationshipHit] | None:
        """Rows as those of `relationship_lexical`; None where too few of the candidates count."""
        return await self._ranked(self._lexical, depth, are_all=len(self._lexical) < depth + SLACK)

    async def near(self, depth: int) -> list[RelationshipHit] | None:
        """Rows as those of `relationship_vector`."""
        return await self._ranked(self._near, depth, are_all=not self._rest)

    async def _ranked(self, found: Sequence[Hit] | None, depth: int, *, are_all: bool) -> list[RelationshipHit] | None:
        if found is None:
            return None
        if not found:
            return []
        if self._doubtful is not None:
            self._refused = frozenset(key.bytes for (key,) in await self._doubtful.fetchall())
            self._doubtful = None
        assert self._refused is not None
        refused, hits = self._refused, self._hits
        if self._unknown is not None:
            hits |= {row[0].int: RelationshipHit(*row) for row in await self._unknown.fetchall()}
            self._unknown = None
        counting = [hit for hit in found if hit[0].bytes not in refused] if refused else found
        if len(counting) < depth and not are_all:
            return None
        scores = [hit[2] for hit in counting]
        ranked = [hits[hit[0].int] for hit in counting]
        if len(set(scores)) < len(scores):  # they come by score, and among equals by id
            places = sorted(range(len(ranked)), key=lambda place: (-scores[place], ranked[place][2], ranked[place][0].int))
            ranked = [ranked[place] for place in places]
        return ranked[:depth]
