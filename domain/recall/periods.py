"""The times that a query names: dates, months, years, ranges and words such as "last week", each as a half-open period.

English, ISO 8601 and the dates of Chinese and Japanese are read. A day or month without its year stands for that time of
any year, unless words such as "since" need one. What is not certain to be a time is left alone: a wrong period costs more
than a missed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from commonlore.domain.recall.period import Days, Period
from commonlore.domain.recall.period_forms import FORMS, FROM_TODAY, MAY_NAME_TIME, Make, beside


@dataclass(frozen=True, slots=True)
class _Place:
    """Days with their place in the query; None where the words are no day of the calendar, and none of them is read again."""

    begin: int
    close: int
    days: Days | None
    is_relative: bool


def find_periods(query: str, reference: datetime | None, zone: tzinfo = UTC) -> tuple[Period, ...]:
    """The periods that a query names, in its order, as days of `zone`.

    `reference`, an aware instant: "yesterday" or "two weeks ago" count from its day in `zone`; without it they are left out,
    and so they are beside a date, from which they may count instead.
    "from A to B" and "between A and B" are one period; "before", "until", "since" and "after" open one at an end, and
    "the week before" and the like stand beside one.
    """
    if MAY_NAME_TIME.search(query) is None:
        return ()
    today = _day_of(reference, zone)
    places: list[_Place] = []
    for pattern, make in FORMS:
        if make in FROM_TODAY and today is None:
            continue
        for match in pattern.finditer(query):
            if not any(match.start() < place.close and place.begin < match.end() for place in places):
                places.append(_Place(match.start(), match.end(), _days(make, match, today or date.min), make in FROM_TODAY))
    found = [place for place in places if place.days is not None]
    if not all(place.is_relative for place in found):
        found = [place for place in found if not place.is_relative]
    found.sort(key=lambda place: place.begin)
    return tuple(_in_zone(_joined(query, found, today), zone))


def _day_of(reference: datetime | None, zone: tzinfo) -> date | None:
    try:
        return None if reference is None else reference.astimezone(zone).date()
    except OverflowError:  # the first or last day of the calendar, in a zone where it is another year
        return None


def _days(make: Make, match: re.Match[str], today: date) -> Days | None:
    try:
        return make(match, today)
    except (ValueError, OverflowError):  # no such day
        return None


def _in_zone(found: Iterator[tuple[str, Days]], zone: tzinfo) -> Iterator[Period]:
    for text, days in found:
        try:
            period = days.period(text, zone)
        except OverflowError:
            continue
        if period.start is None or period.end is None or period.start < period.end:
            yield period


_BETWEEN = re.compile(r"\s*(?:to|and|until|till|through|[-\u2013\u2014~\u81f3\u5230])\s*(?:the\s+)?", re.IGNORECASE)
_OPENS_RANGE = re.compile(r"(?:\bfrom|\bbetween|\u4ece|\u5f9e)\s*(?:the\s+)?$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|until|till|prior\s+to)\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|following)\s+(?:the\s+)?$", re.IGNORECASE)


def _joined(query: str, places: list[_Place], today: date | None) -> Iterator[tuple[str, Days]]:
    at = 0
    while at < len(places):
        place = places[at]
        before, text, days = query[: place.begin], query[place.begin : place.close].strip(), place.days or Days()
        if at + 1 < len(places) and _OPENS_RANGE.search(before) and _BETWEEN.fullmatch(query[place.close : places[at + 1].begin]):
            ranged = _range(days, places[at + 1].days or Days())
            if ranged is not None:
                yield query[place.begin : places[at + 1].close], ranged
                at += 2
                continue
        if (related := _related(before, days, today)) is not None:
            yield text, related
        at += 1


def _range(first: Days, last: Days) -> Days | None:
    if first.yearly is not None and last.yearly is not None:
        return Days(yearly=(first.yearly[0], last.yearly[1]))
    try:
        if first.yearly is not None and last.end is not None:
            found = Days(date((last.end - timedelta(days=1)).year, *first.yearly[0]), last.end)
        elif last.yearly is not None and first.first is not None:
            found = Days(first.first, _end_of(first.first.year, last))
        else:
            found = Days(first.first, last.end)
    except (ValueError, OverflowError):  # no such day
        return None
    return found if found.first is not None and found.end is not None and found.first < found.end else None


def _related(before: str, days: Days, today: date | None) -> Days | None:
    """The days that words in front make of the days that follow, such as "since" or "the week before".

    Of days without a year, the last that began by `today`; how far back "until March" reaches nobody says, so it is none.
    """
    if not any(pattern.search(before) for pattern in (_BEFORE, _SINCE, _AFTER)):
        return days
    try:
        found = _latest(days, today)
        if found is None:
            return days
        if (near := beside(before, found)) is not None:
            return near
    except (ValueError, OverflowError):  # no such day
        return None
    if _BEFORE.search(before):
        return None if days.yearly else Days(None, found.first)
    return Days(found.first if _SINCE.search(before) else found.end, None)


def _latest(days: Days, today: date | None) -> Days | None:
    """Days with their year; None where it is not known.

    Raises:
        ValueError: the day is in no such year.
    """
    if days.yearly is None or today is None:
        return None if days.yearly else days
    year = today.year if days.yearly[0] <= (today.month, today.day) else today.year - 1
    return Days(date(year, *days.yearly[0]), _end_of(year, days))


def _end_of(year: int, days: Days) -> date:
    """The day after the last of days without a year, which a month has as its 31st.

    Raises:
        ValueError: there is none in that year.
    """
    month, day = days.yearly[1] if days.yearly else (12, 31)
    if day == 31:
        return date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, day) + timedelta(days=1)
