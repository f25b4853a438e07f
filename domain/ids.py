"""Ids of Commonlore. All are UUIDs, made in Python, never chosen by a caller."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from uuid import UUID

NewId = Callable[[], UUID]


def new_id(*, now_ms: int | None = None) -> UUID:
    """A UUID of version 7: the time in milliseconds in front, 74 random bits behind it.

    Ids made later sort later to the millisecond, so that rows of one space lie together in every index.

    Source: RFC 9562, section 5.7.
    """
    milliseconds = (time.time_ns() // 1_000_000 if now_ms is None else now_ms) & ((1 << 48) - 1)
    random_a, random_b = secrets.randbits(12), secrets.randbits(62)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b)
