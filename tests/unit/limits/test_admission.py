"""Seats: all until more comes than there are, then as many as are served without delay, and all again once it is calm."""

from __future__ import annotations

import pytest

from commonlore.domain.limits.admission import Admission, AdmissionPolicy, Entered

POLICY = AdmissionPolicy(seats=6, first_busy=4, fewest=2, look_after=4, calm_s=2.0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def admission(clock: Clock) -> Admission:
    return Admission(POLICY, clock)


def fill(admission: Admission) -> list[Entered]:
    """Calls until one is refused."""
    inside = []
    while admission.admits():
        inside.append(admission.enter())
    return inside


def serve(admission: Admission, clock: Clock, entered: Entered, seconds: float) -> None:
    clock.now = entered.at + seconds
    admission.leave(entered, "recall_memory", served=True)


def test_every_seat_is_given_while_there_is_one(admission: Admission) -> None:
    assert 6 == len(fill(admission)) and 1 == admission.refused


def test_a_refusal_leaves_fewer_seats_until_it_is_calm(admission: Admission, clock: Clock) -> None:
    for entered in fill(admission):
        admission.leave(entered, "recall_memory", served=True)

    assert 4 == len(fill(admission))
    clock.now += POLICY.calm_s
    assert 4 == admission.limit
    clock.now += 0.001
    assert 6 == admission.limit


def test_slow_calls_make_it_fewer_and_quick_ones_more(admission: Admission, clock: Clock) -> None:
    """Quiet calls took 10 ms. At 30 ms the limit falls to the fewest, at 15 ms it rises to all seats."""
    for _ in range(3):
        serve(admission, clock, admission.enter(), 0.010)

    limits = []
    for seconds in (0.030, 0.030, 0.030, 0.015, 0.015, 0.015, 0.015, 0.015):
        inside = fill(admission)
        limits.append(len(inside))
        for _ in range(POLICY.look_after):
            clock.now += 0.001
            serve(admission, clock, Entered(clock.now, quiet=False), seconds)
            admission.running += 1
        for _ in inside:
            admission.running -= 1
        assert not fill_and_leave(admission)

    assert [6, 3, 2, 2, 3, 4, 5, 6] == limits


def fill_and_leave(admission: Admission) -> bool:
    """A refusal, so that the process stays busy."""
    kept, admission.running = admission.running, 99
    refused = admission.admits()
    admission.running = kept
    return refused


def test_calls_that_fail_say_nothing_of_time(admission: Admission, clock: Clock) -> None:
    serve(admission, clock, admission.enter(), 0.010)
    fill_and_leave(admission)
    for _ in range(3 * POLICY.look_after):
        entered = Entered(clock.now, quiet=False)
        admission.running += 1
        clock.now += 0.5
        admission.leave(entered, "recall_memory", served=False)
        fill_and_leave(admission)

    assert POLICY.first_busy == admission.limit


def test_an_operation_is_compared_with_itself(admission: Admission, clock: Clock) -> None:
    """A slow operation that is as slow as ever makes nobody wait."""
    serve(admission, clock, admission.enter(), 0.010)
    slow = admission.enter()
    clock.now += 1.0
    admission.leave(slow, "remember", served=True)
    fill_and_leave(admission)
    for _ in range(POLICY.look_after):
        entered = Entered(clock.now, quiet=False)
        admission.running += 1
        clock.now += 1.0
        admission.leave(entered, "remember", served=True)
        fill_and_leave(admission)

    assert POLICY.first_busy + 1 == admission.limit
