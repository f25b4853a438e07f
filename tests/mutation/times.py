"""Mutations of the times that a query names: what they count from, whose days they are, and what is no time."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

_PERIODS = "tests/unit/recall/test_periods.py::test_"
_ASKED = "tests/unit/recall/test_asked.py::test_"

TIMES: tuple[Mutation, ...] = (
    Mutation(
        "asked-at-unread",
        "times: words count from the view or from now, whenever it is asked",
        "domain/recall/asked.py",
        "AskedTime(moment or otherwise, zone",
        "AskedTime(otherwise, zone",
        (f"{_ASKED}words_count_from_when_it_is_asked_else_from_the_view_else_from_now",),
    ),
    Mutation(
        "offset-of-asked-at-unread",
        "times: days are those of UTC whatever the offset of the question",
        "domain/recall/asked.py",
        "zone = moment.tzinfo",
        "zone = UTC",
        (f"{_ASKED}words_count_from_when_it_is_asked_else_from_the_view_else_from_now",),
    ),
    Mutation(
        "days-of-utc",
        "times: a day begins at midnight of UTC",
        "domain/recall/period.py",
        "datetime.combine(day, time(), zone)",
        "datetime.combine(day, time(), UTC)",
        (f"{_PERIODS}days_are_those_of_the_zone", f"{_ASKED}a_stated_time_is_days_of_the_zone_or_instants"),
    ),
    Mutation(
        "stated-day-left-out",
        "times: a stated time ends before its last day",
        "domain/recall/asked.py",
        '"/time_cue/before", self.before, zone, 1)',
        '"/time_cue/before", self.before, zone, 0)',
        (f"{_ASKED}a_stated_time_is_days_of_the_zone_or_instants",),
    ),
    Mutation(
        "stated-time-unread",
        "times: what the caller states is lost",
        "domain/recall/hints.py",
        "periods=periods[:_MOST] if stated is None else (*periods[: _MOST - 1], stated),",
        "periods=periods[:_MOST],",
        (f"{_ASKED}a_stated_time_stands_beside_the_words",),
    ),
    Mutation(
        "impossible-days-read-on",
        "times: the 29th of February 2026 is all of February",
        "domain/recall/periods.py",
        "match.start() < place.close and place.begin < match.end()",
        "place.days and match.start() < place.close and place.begin < match.end()",
        (f"{_PERIODS}what_is_no_time_is_left_alone",),
    ),
    Mutation(
        "vague-is-exact",
        "times: over a year ago is a year ago",
        "domain/recall/period_forms.py",
        'return None if match["vague"] else _back(',
        "return _back(",
        (f"{_PERIODS}what_is_no_time_is_left_alone",),
    ),
    Mutation(
        "periods-with-their-end",
        "times: the first instant of the next day lies in the period",
        "domain/recall/period.py",
        "instant < self.end)",
        "instant <= self.end)",
        (
            f"{_PERIODS}a_border_belongs_to_the_day_that_begins",
            "tests/property/test_period_properties.py::test_today_holds_the_moment_and_touches_yesterday_and_tomorrow",
        ),
    ),
)
