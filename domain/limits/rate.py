"""GCRA, the arithmetic of a rate with a burst, in whole microseconds.

A bucket is one instant: when it will be full again. Each call moves it on by one interval, from now at least; a call is let in
while that stays within `burst` intervals from now. So never more than `burst` calls come at once, and never more than
`burst + W / interval` in any W.
"""

from __future__ import annotations

from dataclasses import dataclass

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_minute` calls over time, `burst` of them at once."""

    per_minute: int
    burst: int

    @property
    def interval_us(self) -> int:
        """Between two calls at the full rate, rounded up, so that never more come than `per_minute`."""
        return -(-MINUTE_US // self.per_minute)

    def wait_us(self, full_at_us: int, now_us: int) -> int:
        """How long until one more call may come; 0 where it may come now."""
        return max(0, max(full_at_us, now_us) + self.interval_us - now_us - self.burst * self.interval_us)

    def taken(self, full_at_us: int, now_us: int, calls: int = 1) -> int:
        """When the bucket is full again after these calls, whether they were let in or not."""
        return max(full_at_us, now_us) + calls * self.interval_us

    def remaining(self, full_at_us: int, now_us: int) -> int:
        """Calls that may come at once now."""
        return max(0, (self.burst * self.interval_us - max(0, full_at_us - now_us)) // self.interval_us)
