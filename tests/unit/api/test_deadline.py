"""How long a request may take: the setting, and more for a long body, by its declared length."""

from __future__ import annotations

import asyncio

import pytest

from commonlore.api.exchange import open_exchange


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        ([], 0.0),
        ([b"0"], 0.0),
        ([b"1000000"], 10.0),
        ([b"10485760"], 104.8576),
        ([b"99999999999999999999"], 120.0),
        ([b"-5"], 0.0),
        ([b"many"], 0.0),
    ],
)
async def test_a_long_body_has_more_time(declared: list[bytes], more: float) -> None:
    """Ten seconds for each million bytes, at most two minutes; what is no length gives none."""
    began = asyncio.get_running_loop().time()
    exchange = open_exchange({"headers": [(b"content-length", value) for value in declared]}, 30_000)

    assert exchange.deadline - began == pytest.approx(30 + more, abs=0.5)
