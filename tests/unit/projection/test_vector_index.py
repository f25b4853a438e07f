"""When a space gets a vector index, how long it keeps it, and what a measurement decides."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commonlore.domain.projection.vector_index import IndexState, Overlap, Seen, Step, VectorIndexPolicy, size_bucket

NOW = datetime(2026, 7, 1, tzinfo=UTC)
POLICY = VectorIndexPolicy(build_from=20_000)
MEASURED = Seen("evidence", 1, 0, 25_000, True, "ready", 25_000, NOW - timedelta(hours=1))


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        (Seen("evidence", 1, 0, 19_999), None),
        (Seen("evidence", 1, 0, 20_000), "build"),
        (Seen("evidence", 1, 0, 20_000, False, "building"), "build"),  # the building was cut off
        (Seen("evidence", 1, 0, 20_000, None, "ready", 20_000, NOW), "build"),  # somebody dropped it
        (Seen("evidence", 1, 0, 20_000, True), "build"),  # a space whose index nobody noted
        (Seen("evidence", 1, 0, 20_000, True, "building"), "measure"),
        (MEASURED, None),
        (replace(MEASURED, rows=49_999), None),
        (replace(MEASURED, rows=50_000), "measure"),  # another size class
        (replace(MEASURED, measured_at=NOW - timedelta(hours=24)), "measure"),
        (replace(MEASURED, state="poor"), None),
        (replace(MEASURED, rows=10_000, measured_rows=10_000), None),  # kept while it shrinks
        (replace(MEASURED, rows=9_999), "drop"),
        (Seen("evidence", 1, 0, 9_999, False, "building"), "drop"),
        (Seen("relationship", 1, 1, 0, None, "building"), "forget"),
    ],
)
def test_the_next_step_follows_from_what_stands_and_what_was_measured(seen: Seen, step: Step | None) -> None:
    assert step == POLICY.step(seen, NOW)


@pytest.mark.parametrize(
    ("overlap", "rows", "state"),
    [(990, 20_000, "ready"), (989, 20_000, "poor"), (989, 200_000, "poor"), (970, 200_001, "ready"), (969, 200_001, "degraded")],
)
def test_an_index_that_finds_too_little_is_not_used_unless_exact_search_would_take_too_long(overlap: int, rows: int, state: IndexState) -> None:
    assert state == POLICY.state(overlap, rows)


def test_size_classes_are_one_two_and_five_of_each_power_of_ten() -> None:
    sizes = [0, 1, 4, 5, 9, 19_999, 20_000, 49_999, 50_000, 100_000, 199_999, 1_000_000]

    assert [0, 1, 2, 5, 5, 10_000, 20_000, 20_000, 50_000, 100_000, 100_000, 1_000_000] == [size_bucket(rows) for rows in sizes]


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ((995, 999, 1000, 1000, 1000), 200),
        ((980, 989, 990, 995, 1000), 400),
        ((900, 950, 970, 990, 991), 600),
        ((900, 950, 960, 970, 980), 800),
        ((985, 985, 985, 985, 985), 800),
    ],
)
def test_a_search_is_as_deep_as_it_must_be(found: tuple[int, ...], chosen: int) -> None:
    """The least depth that finds enough; where none does, the deepest, which the state then judges."""
    measured = [Overlap(share, 40, depth) for share, depth in zip(found, POLICY.depths, strict=True)]

    assert chosen == POLICY.least_that_finds_enough(measured, 100_000).ef_search
