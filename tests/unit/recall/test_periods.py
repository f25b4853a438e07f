"""The times that a query names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from commonlore.domain.recall.period import Period
from commonlore.domain.recall.periods import find_periods

ASKED = datetime(2023, 10, 18, 9, 30, tzinfo=UTC)  # a Wednesday


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What happened on 2023-05-08?", "2023-05-08", "2023-05-09"),
        ("What happened on 2023/05/08, in Paris?", "2023-05-08", "2023-05-09"),
        ("logs of 2023-05-08T10:00:00Z", "2023-05-08", "2023-05-09"),
        ("what did we do on May 8th, 2023", "2023-05-08", "2023-05-09"),
        ("a show on 9 April, 2023", "2023-04-09", "2023-04-10"),
        ("the 1st of September 2023", "2023-09-01", "2023-09-02"),
        ("2023年5月8日我们聊了什么", "2023-05-08", "2023-05-09"),
        ("2023年5月に何をした", "2023-05-01", "2023-06-01"),
        ("releases of 2023-05", "2023-05-01", "2023-06-01"),
        ("in February 2024", "2024-02-01", "2024-03-01"),
        ("from Jul 1998 to Feb 1999", "1998-07-01", "1999-03-01"),
        ("Where was John between August 11 and August 15 2023?", "2023-08-11", "2023-08-16"),
        ("the team from 2004 to 2005", "2004-01-01", "2006-01-01"),
        ("in 2010", "2010-01-01", "2011-01-01"),
        ("during summer 2022", "2022-06-01", "2022-09-01"),
        ("winter of 2021", "2021-12-01", "2022-03-01"),
        ("what did we say yesterday", "2023-10-17", "2023-10-18"),
        ("two days ago", "2023-10-16", "2023-10-17"),
        ("3 months ago", "2023-07-01", "2023-08-01"),
        ("4 years ago", "2019-01-01", "2020-01-01"),
        ("two weeks ago", "2023-10-01", "2023-10-08"),
        ("last week", "2023-10-09", "2023-10-16"),
        ("this month", "2023-10-01", "2023-11-01"),
        ("last Wednesday", "2023-10-11", "2023-10-12"),
        ("last Sunday", "2023-10-15", "2023-10-16"),
        ("over the last 3 days", "2023-10-15", "2023-10-19"),
        ("昨天说了什么", "2023-10-17", "2023-10-18"),
        ("3天前", "2023-10-15", "2023-10-16"),
        ("the day before yesterday", "2023-10-16", "2023-10-17"),
        ("what is planned for tomorrow", "2023-10-19", "2023-10-20"),
        ("the day after tomorrow", "2023-10-20", "2023-10-21"),
        ("明天", "2023-10-19", "2023-10-20"),
        ("next week", "2023-10-23", "2023-10-30"),
        ("next month", "2023-11-01", "2023-12-01"),
        ("next year", "2024-01-01", "2025-01-01"),
        ("last weekend", "2023-10-14", "2023-10-16"),
        ("this weekend", "2023-10-21", "2023-10-23"),
        ("in the past week", "2023-10-11", "2023-10-19"),
        ("between last Sunday and yesterday", "2023-10-15", "2023-10-18"),
        ("in the week before 27 June 2023", "2023-06-20", "2023-06-27"),
        ("the week after May 1, 2023", "2023-05-02", "2023-05-09"),
        ("two days after May 1, 2023", "2023-05-03", "2023-05-04"),
        ("three months before June 2023", "2023-03-01", "2023-04-01"),
        ("on the Sunday before October 25, 2022", "2022-10-23", "2022-10-24"),
        ("on the Friday after October 25, 2022", "2022-10-28", "2022-10-29"),
        ("what did she finish last week before 23 January, 2023?", "2023-01-16", "2023-01-23"),
        ("the week before June 27th", "2023-06-20", "2023-06-27"),
    ],
)
def test_a_period_is_half_open(query: str, start: str, end: str) -> None:
    assert [(at(start), at(end))] == [(period.start, period.end) for period in find_periods(query, ASKED)]


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("before May 2023", None, "2023-05-01"),
        ("until 2020", None, "2020-01-01"),
        ("since 2020", "2020-01-01", None),
        ("after May 8, 2023", "2023-05-09", None),
        ("since March", "2023-03-01", None),
        ("since November", "2022-11-01", None),
        ("after October", "2023-11-01", None),
        ("before May 8th, 2023", None, "2023-05-08"),
        ("until last week", None, "2023-10-09"),
        ("since yesterday", "2023-10-17", None),
    ],
)
def test_a_relation_opens_an_end(query: str, start: str | None, end: str | None) -> None:
    """Of a day or month without its year, the last that began."""
    [period] = find_periods(query, ASKED)

    assert (start and at(start), end and at(end)) == (period.start, period.end)


@pytest.mark.parametrize(
    ("query", "inside", "outside"),
    [
        ("What did we do on May 8th?", "2021-05-08T23:59:59", "2021-05-09T00:00:00"),
        ("the music festival in October", "1999-10-31T12:00:00", "1999-11-01T00:00:00"),
        ("between August 17th and August 25th", "2022-08-25T08:00:00", "2022-08-26T00:00:00"),
        ("between December 20th and January 5th", "2022-01-05T08:00:00", "2022-02-01T00:00:00"),
        ("5月8日", "2023-05-08T00:00:00", "2023-05-07T23:00:00"),
    ],
)
def test_a_day_without_its_year_is_one_of_any_year(query: str, inside: str, outside: str) -> None:
    [period] = find_periods(query, None)

    assert (True, False) == (period.holds(at(inside)), period.holds(at(outside)))


@pytest.mark.parametrize(
    "query",
    [
        "May I come in?",
        "the long march of the team",
        "room 2019b, build 1.2023.4, ISO-8601",
        "call 555-2023-11",
        "February 30th",
        "on February 30th",
        "on 29 February 2026",
        "2026-02-29",
        "2023-13-45",
        "5/8/2023",
        "half a year ago",
        "over a year ago",
        "more than two weeks ago",
        "two or three days ago",
        "1.5 years ago",
        "10-15 days ago",
        "next Friday",
        "on Monday",
        "until April 9",
        "before March",
        "a few days ago",
        "the week after the party",
        "step 12 of 40",
        "",
    ],
)
def test_what_is_no_time_is_left_alone(query: str) -> None:
    assert () == find_periods(query, ASKED)


def test_words_of_the_present_need_a_reference() -> None:
    assert () == find_periods("yesterday and two weeks ago", None)


def test_days_are_those_of_the_zone() -> None:
    """A day of 23 hours, one of 25, and a month with both its borders in the offset."""
    berlin = ZoneInfo("Europe/Berlin")
    spring, autumn = (find_periods(query, ASKED, berlin)[0] for query in ("on 2026-03-29", "on 25 October 2026"))
    [month] = find_periods("last month", datetime.fromisoformat("2024-03-31T12:00:00+02:00"), timezone(timedelta(hours=2)))

    assert (at("2026-03-28T23:00:00"), at("2026-03-29T22:00:00")) == (spring.start, spring.end)
    assert (at("2026-10-24T22:00:00"), at("2026-10-25T23:00:00")) == (autumn.start, autumn.end)
    assert (at("2024-01-31T22:00:00"), at("2024-02-29T22:00:00")) == (month.start, month.end)


def test_yesterday_is_that_of_the_zone() -> None:
    """One moment is two days: after midnight in Tokyo it is still the day before in Lisbon."""
    moment = at("2026-06-30T20:00:00")
    east, west = (find_periods("yesterday", moment, ZoneInfo(name))[0] for name in ("Asia/Tokyo", "Europe/Lisbon"))

    assert (at("2026-06-29T15:00:00"), at("2026-06-28T23:00:00")) == (east.start, west.start)


def test_a_day_of_any_year_is_one_of_the_zone() -> None:
    [period] = find_periods("on May 8th", None, ZoneInfo("Asia/Tokyo"))

    assert [True, False] == [period.holds(at("2023-05-07T15:00:00")), period.holds(at("2023-05-08T15:00:00"))]


def test_a_day_that_a_zone_left_out_is_none() -> None:
    """Samoa went from the 29th to the 31st of December 2011."""
    assert () == find_periods("on 2011-12-30", None, ZoneInfo("Pacific/Apia"))


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_at_the_ends_of_the_calendar_words_say_nothing_and_nothing_fails(moment: datetime) -> None:
    words = "yesterday tomorrow, two weeks ago, last year, next year, last month, next month, 999 years ago, since March"
    for zone in (UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))):
        for period in find_periods(words, moment, zone):
            period.holds(moment)


def test_a_date_beside_last_week_counts_alone() -> None:
    """ "Last week" in a query with a date counts from that date, which nobody can know here."""
    found = find_periods("the writing issue last week, as mentioned on November 6, 2023", ASKED)

    assert ["November 6, 2023"] == [period.text for period in found]


def test_a_border_belongs_to_the_day_that_begins() -> None:
    day = Period("", at("2023-05-08"), at("2023-05-09"))

    assert [True, False] == [day.holds(at("2023-05-08")), day.holds(at("2023-05-09"))]
