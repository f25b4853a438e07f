"""What of a space counts no more, as the open snapshot has it: what the process keeps of the space is ranked without it.

Rows that an erasure hides are in no statement's sight, though their words and vectors are there until a worker comes: until it is done nobody
can name them, and the candidates are asked for. After it nothing that is kept outlives its row, since words and vectors go before the row:
a snapshot in which it is gone has other words and fewer vectors than those that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from psycopg.rows import TupleRow

from commonlore.db.pipeline import Asked
from commonlore.db.session import TeamTransaction
from commonlore.db.statements import RESIDENT

# Texts or relationships that count no more, beyond which the process does not hear of each.
MOST_REFUSED = 5_000
_ID = np.dtype("V16")


class Refused(NamedTuple):
    """Bytes of the ids of what counts no more; None where that is too much, or nobody can say it."""

    texts: frozenset[bytes] | None
    relationships: frozenset[bytes] | None


@dataclass(slots=True)
class SpaceGate:
    """What was asked of one space in one snapshot."""

    asked: Asked[TupleRow]
    _read: Refused | None = field(default=None, init=False)

    async def refused(self) -> Refused:
        """Read once, as early as it comes."""
        if self._read is None:
            ((texts, is_erasing, relationships),) = await self.asked.fetch_early()
            self._read = Refused(None, None) if is_erasing else Refused(_ids(texts), _ids(relationships))
        return self._read


def ask_gate(transaction: TeamTransaction) -> SpaceGate:
    """Of the open space."""
    return SpaceGate(transaction.ask_tuples(RESIDENT["read_gate"], most=MOST_REFUSED + 1))


def _ids(found: bytes | None) -> frozenset[bytes] | None:
    ids = np.frombuffer(found or b"", _ID)
    return frozenset(ids.tolist()) if len(ids) <= MOST_REFUSED else None
