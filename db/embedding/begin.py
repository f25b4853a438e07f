"""Tells who asked for an embedding that a thread has begun with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
# Where no thread is free, or the embedder is one that does not tell.
_PATIENCE_S = 0.005
_told: ContextVar[Callable[[], None] | None] = ContextVar("told", default=None)


async def begun(embedding: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task whose embedding has begun or is there; after some milliseconds one that waits.

    Whoever is cancelled meanwhile cancels it. A loop that goes on with other work instead keeps the thread waiting: for its turn to be
    handed the call, and for the processor on which it was woken.
    """
    told = asyncio.Event()
    token = _told.set(told.set)
    task = asyncio.ensure_future(embedding)
    _told.reset(token)
    try:
        await asyncio.sleep(0)  # enough for a vector that is kept
        if not task.done():
            task.add_done_callback(lambda _: told.set())
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), _PATIENCE_S)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task


def listener() -> Callable[[], None] | None:
    """Whom to tell, in the loop, that what was asked for in this context has begun."""
    return _told.get()
