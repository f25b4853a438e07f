"""The analysis of the texts of a request, which holds up nobody where they are long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from commonlore.domain.ports import Embedder

# Above this many characters it would hold up other requests, so it runs in a thread.
_LONG_CHARS = 20_000
_Result = TypeVar("_Result")


async def prepared(embedder: Embedder, chars: int, work: Callable[[Callable[[str], int]], _Result]) -> _Result:
    """What `work` makes of so many characters with the model's counter of tokens."""
    return work(embedder.count_tokens) if chars <= _LONG_CHARS else await asyncio.to_thread(work, embedder.count_tokens)
