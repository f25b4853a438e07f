"""Where a body is read."""

from __future__ import annotations

import threading

import pytest

from commonlore.api.exchange import off_loop


@pytest.mark.parametrize(("size", "elsewhere"), [(1, False), (256 * 1024, False), (256 * 1024 + 1, True)])
async def test_a_large_body_is_read_in_a_thread(size: int, elsewhere: bool) -> None:
    """A small one here, since a thread costs more than it."""

    assert elsewhere is (threading.get_ident() != await off_loop(size, threading.get_ident))
