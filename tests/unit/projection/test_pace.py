"""A rebuild goes as fast as it can while nobody calls, and by halves while somebody does."""

from __future__ import annotations

import pytest

from commonlore.domain.projection.pace import ALONE, LONGEST_REST_S, REMEMBERED_S, SHARED, Pace


def test_alone_it_never_rests_and_its_batches_are_large_after_the_first() -> None:
    pace = Pace()
    seen = [(pace.batch, pace.rest_s(0.1, now_s=float(step), is_served=False)) for step in range(4)]

    assert [(SHARED, 0.0), (ALONE, 0.0), (ALONE, 0.0), (ALONE, 0.0)] == seen


@pytest.mark.parametrize("took_s", [0.01, 0.1, 0.7])
def test_beside_a_call_it_rests_as_long_as_it_works_and_its_batches_are_small(took_s: float) -> None:
    pace = Pace()
    for step in range(5):
        pace.rest_s(0.1, now_s=float(step), is_served=False)
    rest = pace.rest_s(took_s, now_s=10.0, is_served=True)

    assert (took_s, SHARED) == (rest, pace.batch)


def test_a_slow_batch_is_not_rested_from_for_ever() -> None:
    assert LONGEST_REST_S == Pace().rest_s(30.0, now_s=0.0, is_served=True)


def test_a_call_counts_until_nobody_was_seen_for_a_while() -> None:
    """One client is not there all the time: what is seen at the end of a batch is chance."""
    pace = Pace()
    pace.rest_s(0.1, now_s=0.0, is_served=True)
    still = [pace.rest_s(0.1, now_s=REMEMBERED_S * part, is_served=False) for part in (0.5, 1.0)]
    again = pace.rest_s(0.1, now_s=REMEMBERED_S * 1.5, is_served=False)

    assert ([0.1, 0.1], 0.0, ALONE) == (still, again, pace.batch)
