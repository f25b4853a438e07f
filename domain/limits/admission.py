"""How many calls one process takes at once, and how few once more come than it can serve.

Up to `seats` calls run at once and nothing is measured against anything. The call for which there is no seat means that more
comes than is served: from then on the process is busy, and takes only as many at once as it serves about as fast as on a quiet
day. Every further call is refused at once, before its body is read. Busy ends after `calm_s` without a refusal.

How many that is, is found by trying. A call's slowness is its time divided by the time of the same operation with at most one
other beside it. Where calls are on average slower than `most_slower`, one fewer is taken; where they are not, one more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# A quiet time follows the machine: each new one counts a tenth.
_SHARE = 0.1
_QUIET_CALLS = 2


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """`seats`: calls at once; `first_busy` and `fewest`: where the limit of a busy process begins and ends; the others as above."""

    seats: int = 32
    first_busy: int = 4
    fewest: int = 2
    most_slower: float = 2.0
    calm_s: float = 2.0
    # Calls after which the limit moves by one.
    look_after: int = 8


@dataclass(frozen=True, slots=True)
class Entered:
    """A call that runs: since when, and whether at most one other ran then."""

    at: float
    quiet: bool


class Admission:
    """The seats of one process. `clock`: seconds that never go back. Not for several threads."""

    def __init__(self, policy: AdmissionPolicy, clock: Callable[[], float]) -> None:
        self.policy = policy
        self._clock = clock
        self.running = 0
        self.refused = 0
        self._busy_limit: int | None = None
        self._refused_at = float("-inf")
        self._quiet: dict[str, float] = {}
        self._slowness: list[float] = []

    @property
    def limit(self) -> int:
        """Calls that are taken at once now."""
        if self._busy_limit is not None and self._clock() - self._refused_at > self.policy.calm_s:
            self._busy_limit = None
        return self.policy.seats if self._busy_limit is None else self._busy_limit

    def admits(self) -> bool:
        """Whether a call may come in. One that may not is counted, and keeps the process busy."""
        if self.running < self.limit:
            return True
        if self._busy_limit is None:
            self._busy_limit = min(self.policy.first_busy, self.policy.seats)
            self._slowness.clear()
        self._refused_at = self._clock()
        self.refused += 1
        return False

    def enter(self) -> Entered:
        """Take a seat. The caller asked `admits` before; between the two others may have come, so this never refuses."""
        self.running += 1
        return Entered(self._clock(), self.running <= _QUIET_CALLS)

    def leave(self, entered: Entered, operation: str, *, served: bool) -> None:
        """Give the seat back. `served`: the operation ran to its end, so that its time says something."""
        quiet = entered.quiet and self.running <= _QUIET_CALLS
        self.running -= 1
        if not served:
            return
        seconds = self._clock() - entered.at
        usual = self._quiet.get(operation)
        if quiet:
            self._quiet[operation] = seconds if usual is None else usual + _SHARE * (seconds - usual)
        elif usual and self._busy_limit is not None:
            self._adapt(seconds / usual)

    def _adapt(self, slowness: float) -> None:
        assert self._busy_limit is not None
        self._slowness.append(slowness)
        if len(self._slowness) < self.policy.look_after:
            return
        mean = sum(self._slowness) / len(self._slowness)
        self._slowness.clear()
        step = -1 if mean > self.policy.most_slower else 1
        lowest = min(self.policy.fewest, self.policy.seats)
        self._busy_limit = max(lowest, min(self.policy.seats, self._busy_limit + step))
