"""Which spaces a process keeps, and how much of them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from uuid import UUID

from commonlore.db.resident import Arrivals, BlockName, VectorBlock, block_bytes, made_block
from commonlore.db.resident_words import ResidentWords
from commonlore.domain.recall.grouping import RelationshipHit

_MOST_ASKED, _MOST_DIMENSIONS = 10_000, 4_000


class ResidentVectors:
    """Blocks by name, the longest unused forgotten first, never more than `most_bytes` together.

    A space is kept from its second search on, where it has at least `least_rows` vectors: below, searching it costs less than asking what is
    new. A block that turned out to be of no use is not read again within `patience_s`.
    """

    def __init__(
        self, most_bytes: int = 0, *, least_rows: int = 3_000, patience_s: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most_bytes, self._least_rows, self._patience_s, self._clock = most_bytes, least_rows, patience_s, clock
        self._blocks: dict[BlockName, VectorBlock] = {}
        self._asked: dict[BlockName, float] = {}
        self._dimensions: dict[int, int] = {}
        self._making: set[asyncio.Future[VectorBlock | None]] = set()
        self._made = False
        self.size_bytes = 0

    def names_of(self, team_id: UUID, space_epoch: int) -> list[BlockName]:
        """What is kept of a space."""
        return [name for name in self._blocks if name.team_id == team_id and name.space_epoch == space_epoch]

    def of(self, name: BlockName) -> VectorBlock | None:
        """The block of a name, which is now the last used."""
        block = self._blocks.pop(name, None)
        if block is not None:
            self._blocks[name] = block
        return block

    def replace(self, name: BlockName) -> None:
        """Forget what the space had under another contract or generation: it serves no more, and its table may go."""
        for other in self.names_of(name.team_id, name.space_epoch):
            if other.frontier == name.frontier and other != name:
                self.forget(other)

    def wants(self, name: BlockName, rows: int) -> bool:
        """Whether a space with so many vectors is to be read now. One takes half of the room at most."""
        if rows < self._least_rows:
            return False
        if name not in self._asked:
            self._note(name, -math.inf)
            return False
        if self._clock() < self._asked[name]:
            return False
        if 2 * block_bytes(rows, self._dimensions.get(name.contract_id, _MOST_DIMENSIONS)) > self._most_bytes:
            return False
        self._note(name, self._clock() + self._patience_s)  # one search reads it, not all that run
        return True

    def note_dimensions(self, contract_id: int, dimensions: int) -> None:
        """Of the vectors of a contract, as a query has them."""
        self._dimensions[contract_id] = dimensions

    def note_useless(self, name: BlockName, block: VectorBlock | None = None) -> None:
        """What is kept of a space is not what a snapshot sees: it is read anew, but not at once."""
        self.forget(name, block)
        self._note(name, self._clock() + self._patience_s)

    def keep_later(self, name: BlockName, found: Arrivals) -> None:
        """Make a block in a thread, and keep it once it is made."""
        self._note(name, math.inf)
        making = asyncio.ensure_future(asyncio.to_thread(made_block, found))
        self._making.add(making)

        def made(task: asyncio.Future[VectorBlock | None]) -> None:
            self._making.discard(task)
            self._made = True
            self.note_useless(name)
            # An error is for the loop's handler, which logs it.
            if not task.cancelled() and (block := task.result()) is not None:
                self._asked.pop(name, None)
                self.keep(name, block)

        making.add_done_callback(made)

    def take_made(self) -> bool:
        """Whether a large block was made since this was asked last: what was read for it can be given back."""
        made, self._made = self._made, False
        return made

    def keep(self, name: BlockName, block: VectorBlock) -> None:
        self.forget(name)
        self._blocks[name] = block
        self.size_bytes += block.size_bytes
        while self.size_bytes > self._most_bytes:
            self.forget(next(iter(self._blocks)))

    def forget(self, name: BlockName, block: VectorBlock | None = None) -> None:
        """The block of a name, or nothing where another than the given one has taken its place."""
        kept = self._blocks.get(name)
        if kept is not None and block in (None, kept):
            del self._blocks[name]
            self.size_bytes -= kept.size_bytes

    def _note(self, name: BlockName, until: float) -> None:
        self._asked[name] = until
        if len(self._asked) > _MOST_ASKED:
            del self._asked[next(iter(self._asked))]


class Residence:
    """What a process keeps: vectors up to `most_bytes`, words up to three quarters of that, of spaces that have at least `least_rows` texts.

    Of 3,000 texts a recall from what is kept takes as long as one from the database, with more of the process's own processor; of 10,000
    texts it takes a quarter less, and of 2,000 documents beside them a tenth less again (ADRs 0046 and 0049).
    """

    def __init__(
        self, most_bytes: int, *, least_rows: int = 5_000, least_vectors: int = 1_000, patience_s: float = 10.0, words_patience_s: float = 60.0
    ) -> None:
        self.least_rows = least_rows
        self.vectors = ResidentVectors(most_bytes, least_rows=least_vectors, patience_s=patience_s)
        self.words = ResidentWords(most_bytes * 3 // 4, patience_s=words_patience_s)
        self.hits: dict[int, RelationshipHit] = {}
