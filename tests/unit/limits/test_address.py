"""Whose address a call counts by."""

from __future__ import annotations

import ipaddress

import pytest

from commonlore.api.admin import ADMIN
from commonlore.api.classes import HEAVY, body_limit, class_of
from commonlore.api.limits import client_address
from commonlore.api.operations import TOOLS
from commonlore.domain.limits.meter import Buckets
from commonlore.domain.limits.rate import Rate

PROXIES = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("198.51.100.7", [], "198.51.100.7"),
        ("198.51.100.7", [b"203.0.113.9"], "198.51.100.7"),  # no proxy of ours: what it says is its own matter
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", [b"203.0.113.9"], "203.0.113.9"),
        ("10.1.2.3", [b"192.0.2.1, 203.0.113.9, 10.9.9.9"], "203.0.113.9"),
        ("10.1.2.3", [b"192.0.2.1", b"203.0.113.9"], "203.0.113.9"),
        ("10.1.2.3", [b"nonsense"], "10.1.2.3"),
        ("::ffff:198.51.100.7", [], "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("", [], ""),
    ],
)
def test_the_last_address_that_no_proxy_of_ours_has(peer: str, forwarded: list[bytes], expected: str) -> None:
    assert expected == client_address(peer, forwarded, PROXIES)


def test_every_operation_has_a_class_and_a_bound_of_its_body() -> None:
    """Names that are listed exist; whole texts may be large, anything else is small."""
    every = {**TOOLS, **ADMIN}

    assert set(every) >= HEAVY
    assert {"read", "write", "admin", "heavy"} == {class_of(spec) for spec in every.values()}
    assert ("read", "write", "admin", "admin", "heavy", "heavy") == tuple(
        class_of(every[name]) for name in ("recall_memory", "remember", "list_keys", "decide_promotion", "merge_entities", "list_near_duplicates")
    )
    assert (16_000_000, 4_194_304, 1_000) == (
        body_limit(TOOLS["remember"], 16_000_000), body_limit(TOOLS["recall_memory"], 16_000_000), body_limit(TOOLS["remember"], 1_000)
    )  # fmt: skip


def test_buckets_of_strangers_are_bounded() -> None:
    buckets = Buckets(Rate(per_minute=60, burst=1), lambda: 100.0, most=3)
    for name in "abcd":
        buckets.take(name)

    assert [0, 1_000_000, 1_000_000, 1_000_000] == [buckets.wait_us(name) for name in "abcd"]
