"""What one HTTP exchange is measured by: its operation, how it ended and how long its steps took.

The edge opens one for each request; whoever works for the request finds it with `current`, whatever lies between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter

from commonlore.api.limits import Charge
from commonlore.domain.recall.record import Recorder


@dataclass(slots=True)
class Measure:
    """`operation` stays `other` where no operation was reached. `status` is set where it is not that of the HTTP answer.

    `charge` is what the call counts against the limits; one that was never opened counts nothing.
    """

    began: float = field(default_factory=perf_counter)
    operation: str = "other"
    status: int | None = None
    degradations: list[tuple[str, str]] = field(default_factory=list)
    charge: Charge = field(default_factory=Charge)
    record: Recorder = field(default_factory=lambda: Recorder(perf_counter))

    @property
    def seconds(self) -> float:
        """Since the request came."""
        return perf_counter() - self.began

    def note_degradations(self, found: Iterable[tuple[str, str]]) -> None:
        self.degradations.extend(found)

    def server_timing(self) -> bytes:
        """The value of the header: the whole first, then each step that ran, in milliseconds to a hundredth."""
        parts = [f"total;dur={self.seconds * 1000:.2f}", *(f"{name};dur={spent:.2f}" for name, spent in self.record.milliseconds().items())]
        return ", ".join(parts).encode("ascii")


_current: ContextVar[Measure] = ContextVar("measure")


def open_measure() -> Measure:
    """A new one, current from now on in this request's task and those that it starts."""
    measure = Measure()
    _current.set(measure)
    return measure


def current() -> Measure:
    """That of the request being served, or a new one that nobody reads."""
    return _current.get(None) or Measure()
