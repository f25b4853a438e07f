"""Until when the request that is served must be answered, for whoever waits on its behalf: statements above all."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from math import ceil

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def set_deadline(at: float) -> None:
    """For this request's task and those that it starts. `at` is a time of the running loop."""
    _deadline.set(at)


def remaining_ms(timeout_ms: int) -> int:
    """Milliseconds until the deadline, at least one; `timeout_ms` where there is none, as in a job or a command."""
    at = _deadline.get()
    return timeout_ms if at is None else max(1, ceil((at - asyncio.get_running_loop().time()) * 1000))
