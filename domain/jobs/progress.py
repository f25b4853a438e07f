"""How far a job has come, and what may be said of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

# Rates are kept as whole numbers: things done in a thousand seconds.
RATE_SECONDS = 1000


@dataclass(frozen=True, slots=True)
class Progress:
    """What a job told last. `rate` is things in `RATE_SECONDS`, None before anything can be said of it."""

    stage: str
    done: int
    total: int | None
    rate: int | None
    reported_at: datetime

    def eta_s(self, now: datetime) -> int | None:
        """Seconds until everything is done at this rate; None where the total or the rate is unknown."""
        if self.total is None or not self.rate:
            return None
        left = max(0, self.total - self.done) * RATE_SECONDS / self.rate
        return max(0, round(left - (now - self.reported_at).total_seconds()))


def rate_of(done: int, seconds: float) -> int | None:
    """Things in `RATE_SECONDS`, from what was done in some seconds of work; None where that says nothing."""
    if done <= 0 or seconds <= 0:
        return None
    return max(1, round(done * RATE_SECONDS / seconds))
