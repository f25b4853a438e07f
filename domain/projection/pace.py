"""How fast a worker goes about a rebuild: as fast as it can while nobody calls, and by halves while somebody does.

A batch is one transaction and holds the ledger lock of its space: a write may have to wait for as long as it takes. Small batches
cost more for each text, since they touch the same blocks of postings again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# Documents of a batch at most while calls are served, and while none are.
SHARED, ALONE = 4_000, 16_000
# A call that was seen counts for so long: between two calls of one client nobody is there either.
REMEMBERED_S = 1.0
LONGEST_REST_S = 1.0


@dataclass(slots=True)
class Pace:
    """The pace of one turn. `batch`: how many documents the next batch may have at most."""

    batch: int = SHARED
    _seen_s: float = field(init=False, default=float("-inf"))

    def rest_s(self, took_s: float, *, now_s: float, is_served: bool) -> float:
        """How long to rest after a batch that took so long; `is_served`: a call was being served at its end.

        With nobody there for a second batches are large and nothing is waited for. With somebody there they are small, and a rest is
        as long as the work before it.
        """
        if is_served:
            self._seen_s = now_s
        if now_s - self._seen_s > REMEMBERED_S:
            self.batch = ALONE
            return 0.0
        self.batch = SHARED
        return min(LONGEST_REST_S, took_s)
