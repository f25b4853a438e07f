"""What is being done: each way in says it once for everything that it starts, and the transaction helper puts it in the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from commonlore.domain.audit.act import Act
from commonlore.domain.ids import new_id

# What a change is called that nobody named: a call from within the process, past every way in.
UNNAMED = Act("unnamed", "none")
_act: ContextVar[Act | None] = ContextVar("act", default=None)


@contextmanager
def acting(act: Act) -> Iterator[None]:
    """What this task and those that it starts do inside the block is `act`."""
    token = _act.set(act)
    try:
        yield
    finally:
        _act.reset(token)


def current_act() -> Act | None:
    """What is being done, if a way in said so."""
    return _act.get()


def operators_act(name: str) -> Act:
    """An act of whoever holds the database."""
    return Act(name, str(new_id()), "operator", is_administrative=True)
