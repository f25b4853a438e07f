"""What holds for the times that any query names, whenever and wherever it is asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from commonlore.domain.errors import Incorrect
from commonlore.domain.recall.asked import TimeCue
from commonlore.domain.recall.period import Period
from commonlore.domain.recall.periods import find_periods
from commonlore.domain.recall.plan import parse_intent
from commonlore.domain.recall.request import RecallRequest
from commonlore.domain.time import render_instant

fast = settings(max_examples=200, deadline=None)
ZONES = st.sampled_from([ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Pacific/Kiritimati")]) | st.builds(
    timezone, st.integers(-15 * 60, 15 * 60).map(lambda minutes: timedelta(minutes=minutes))
)
MOMENTS = st.datetimes().map(lambda moment: moment.replace(tzinfo=UTC))
_WORDS = (
    "the a last this next past previous since until before after between from to and in on ago 0 1 2 31 999 two 2023 2026-02-29 0001-01-01 9999-12-31 "
    "day days week weekend month year years yesterday tomorrow today Monday Sunday January February June 29 30 31st May 8th, 12月 31日 9999年 3天前"
)
TIME_WORDS = st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)


@fast
@given(TIME_WORDS | st.text(max_size=60), MOMENTS, ZONES)
def test_words_of_time_are_periods_that_go_forward_in_any_zone(query: str, moment: datetime, zone: tzinfo) -> None:
    """At any time from the first to the last year: no failure, the same again, aware instants in UTC, and any instant can be looked for."""
    found = find_periods(query, moment, zone)

    assert found == find_periods(query, moment, zone)
    assert all(end is None or end.tzinfo is UTC for period in found for end in (period.start, period.end))
    assert all((period.yearly is None) == (period.start is not None or period.end is not None) for period in found)
    assert all(period.start is None or period.end is None or period.start < period.end for period in found)
    assert all(period.holds(moment) in (True, False) for period in found)


@fast
@given(st.integers(0, 600 * 365).map(lambda days: datetime(1500, 1, 1, 11, 59, tzinfo=UTC) + timedelta(days=days, hours=days % 24)), ZONES)
def test_today_holds_the_moment_and_touches_yesterday_and_tomorrow(moment: datetime, zone: tzinfo) -> None:
    """Half-open: what ends yesterday begins today. A day that a zone left out is between none of them."""
    before, now, after = (next(iter(find_periods(word, moment, zone)), None) for word in ("yesterday", "today", "tomorrow"))

    assert now is not None
    assert now.holds(moment)
    assert before is None or (before.end == now.start and not before.holds(moment))
    assert after is None or (after.start == now.end and not after.holds(moment))
    assert [True, False] == [now.holds(end) for end in (now.start, now.end) if end is not None]


BOUNDS = st.none() | st.text(max_size=30) | st.dates().map(str) | MOMENTS.map(render_instant)


@fast
@given(BOUNDS, BOUNDS, st.sampled_from([None, "Europe/Berlin", "Pacific/Kiritimati", "UTC", "nowhere"]))
def test_a_stated_time_is_refused_or_goes_forward(after: str | None, before: str | None, zone: str | None) -> None:
    """Whatever is sent: a stated refusal, or one period of instants in UTC."""
    request = RecallRequest(query="x", time_zone=zone, time_cue=TimeCue(after=after, before=before))
    pointers: list[str] = []
    periods: tuple[Period, ...] = ()
    try:
        periods = parse_intent(request).hints.periods
    except Incorrect as refused:
        pointers = [problem.pointer for problem in refused.problems]

    assert 1 == len(pointers) + len(periods)
    assert {*pointers} <= {"/time_cue", "/time_cue/after", "/time_cue/before", "/time_zone"}
    for period in periods:
        _goes_forward(period)


def _goes_forward(period: Period) -> None:
    assert all(end.tzinfo is UTC for end in (period.start, period.end) if end is not None)
    assert period.start is None or period.end is None or period.start < period.end
