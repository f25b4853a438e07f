"""The times that a query names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonlore.domain.recall.periods import Period, find_periods

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
    ],
)
def test_a_relation_opens_an_end(query: str, start: str | None, end: str | None) -> None:
    [period] = find_periods(query, None)

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
        "2023-13-45",
        "the week after the party",
        "step 12 of 40",
        "",
    ],
)
def test_what_is_no_time_is_left_alone(query: str) -> None:
    assert () == find_periods(query, ASKED)


def test_words_of_the_present_need_a_reference() -> None:
    assert () == find_periods("yesterday and two weeks ago", None)


def test_a_date_beside_last_week_counts_alone() -> None:
    """ "Last week" in a query with a date counts from that date, which nobody can know here."""
    found = find_periods("the writing issue last week, as mentioned on November 6, 2023", ASKED)

    assert ["November 6, 2023"] == [period.text for period in found]


def test_a_border_belongs_to_the_day_that_begins() -> None:
    day = Period("", at("2023-05-08"), at("2023-05-09"))

    assert [True, False] == [day.holds(at("2023-05-08")), day.holds(at("2023-05-09"))]
