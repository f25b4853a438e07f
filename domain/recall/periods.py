"""The times that a query names: dates, months, years, ranges and words such as "last week", each as a half-open period.

English, ISO 8601 and the dates of Chinese and Japanese are read. A day or month without its year stands for that time of
any year. What is not certain to be a time is left alone: a wrong period costs more than a missed one.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

MonthDay = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a query names, with its words.

    Either `start` and `end`, of which one may be open, or `yearly`: first and last day, both included, of any year.
    """

    text: str
    start: datetime | None = None
    end: datetime | None = None
    yearly: tuple[MonthDay, MonthDay] | None = None

    def holds(self, instant: datetime) -> bool:
        """Whether an aware instant lies in it, by the calendar of UTC."""
        if self.yearly is not None:
            first, last = self.yearly
            moment = instant.astimezone(UTC)
            day = (moment.month, moment.day)
            return first <= day <= last if first <= last else day >= first or day <= last
        return (self.start is None or self.start <= instant) and (self.end is None or instant < self.end)


@dataclass(frozen=True, slots=True)
class _Place:
    """A period with its place in the query."""

    begin: int
    close: int
    period: Period
    is_relative: bool


_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
_M = r"(?P<month>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?)"
_Y = r"(?P<year>(?:1[5-9]|20)\d\d)(?![\d\w])"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?![\d\w])"
# A month alone is one only as a name and after such a word: "may" and "march" are verbs as well.
_MONTH_ALONE = (
    r"(?P<month>January|February|March|April|May|June|July|August|September|October|November|December"
    r"|january|february|april|june|july|august|september|october|november|december)"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}
_N = r"(?P<count>\d{1,3}|" + "|".join(_NUMBERS) + r")(?:\s+of)?"
_UNIT = r"(?P<unit>day|week|month|year)"
# A query without any of these names no time; one look spares the others.
_MAY_NAME_TIME = re.compile(
    r"\d|day|morning|night|week|month|year|summer|winter|spring|autumn|fall|" + "|".join(_MONTHS) + r"|[\u65e5\u5929\u5468\u6708\u5e74\u9031]",
    re.IGNORECASE,
)


def find_periods(query: str, reference: datetime | None) -> tuple[Period, ...]:
    """The periods that a query names, in its order.

    `reference`, an aware instant, is the day from which "yesterday" or "two weeks ago" count; without it they are left out,
    and so they are beside a date, from which they may count instead.
    "from A to B" and "between A and B" are one period; "before", "until", "since" and "after" open one at an end.
    """
    if _MAY_NAME_TIME.search(query) is None:
        return ()
    places: list[_Place] = []
    for pattern, make in _FORMS:
        for match in pattern.finditer(query):
            if any(match.start() < place.close and place.begin < match.end() for place in places):
                continue
            period = make(match, reference)
            if period is not None:
                places.append(_Place(match.start(), match.end(), replace(period, text=match.group().strip()), make in _FROM_REFERENCE))
    if not all(place.is_relative for place in places):
        places = [place for place in places if not place.is_relative]
    places.sort(key=lambda place: place.begin)
    return tuple(_joined(query, places))


_BETWEEN = re.compile(r"\s*(?:to|and|until|till|through|[-\u2013\u2014~\u81f3\u5230])\s*(?:the\s+)?", re.IGNORECASE)
_OPENS_RANGE = re.compile(r"(?:\bfrom|\bbetween|\u4ece|\u5f9e)\s*(?:the\s+)?$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|until|till|prior\s+to)\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|following)\s+(?:the\s+)?$", re.IGNORECASE)


def _joined(query: str, places: list[_Place]) -> Iterator[Period]:
    at = 0
    while at < len(places):
        place = places[at]
        before = query[: place.begin]
        if at + 1 < len(places) and _OPENS_RANGE.search(before) and _BETWEEN.fullmatch(query[place.close : places[at + 1].begin]):
            ranged = _range(query[place.begin : places[at + 1].close], place.period, places[at + 1].period)
            if ranged is not None:
                yield ranged
                at += 2
                continue
        yield _opened(before, place.period)
        at += 1


def _range(text: str, first: Period, last: Period) -> Period | None:
    if first.yearly is not None and last.yearly is not None:
        return Period(text, yearly=(first.yearly[0], last.yearly[1]))
    if first.yearly is not None and last.end is not None:
        month, day = first.yearly[0]
        year = (last.end - timedelta(days=1)).year
        return _if_forward(Period(text, _day(year, month, day), last.end))
    if last.yearly is not None and first.start is not None:
        month, day = last.yearly[1]
        return _if_forward(Period(text, first.start, _after(_day(first.start.year, month, day))))
    return _if_forward(Period(text, first.start, last.end))


def _if_forward(period: Period) -> Period | None:
    return period if period.start is not None and period.end is not None and period.start < period.end else None


def _opened(before: str, period: Period) -> Period:
    if period.yearly is not None:
        return period
    if _BEFORE.search(before):
        return replace(period, start=None, end=period.start)
    if _SINCE.search(before):
        return replace(period, end=None)
    if _AFTER.search(before):
        return replace(period, start=period.end, end=None)
    return period


def _day(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _after(day: datetime | None) -> datetime | None:
    return day + timedelta(days=1) if day is not None else None


def _one_day(day: datetime | None) -> Period | None:
    return Period("", day, _after(day)) if day is not None and day.year < 9999 else None


def _month(year: int, month: int) -> Period | None:
    start = _day(year, month, 1) if year < 9999 else None
    return Period("", start, start + timedelta(days=monthrange(year, month)[1])) if start is not None else None


def _number_of(month: str) -> int:
    return _MONTH_NUMBERS[month[:3].lower()]


def _dated(match: re.Match[str], _: datetime | None) -> Period | None:
    """A day with month, with or without its year."""
    found = match.groupdict()
    name, day = found["month"], int(found["day"])
    month = int(name) if name.isdecimal() else _number_of(name)
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(2024, month)[1]:
        return None
    if found.get("year"):
        return _one_day(_day(int(found["year"]), month, day))
    return Period("", yearly=((month, day), (month, day)))


def _monthly(match: re.Match[str], _: datetime | None) -> Period | None:
    found = match.groupdict()
    month = int(found["month"]) if found["month"].isdecimal() else _number_of(found["month"])
    if not 1 <= month <= 12:
        return None
    if found.get("year"):
        return _month(int(found["year"]), month)
    return Period("", yearly=((month, 1), (month, 31)))


def _yearly(match: re.Match[str], _: datetime | None) -> Period | None:
    year = int(match["year"])
    return Period("", _day(year, 1, 1), _day(year + 1, 1, 1))


_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def _season(match: re.Match[str], _: datetime | None) -> Period | None:
    year, month = int(match["year"]), _SEASONS[match["season"].lower()]
    end = _day(year, month + 3, 1) if month < 12 else _day(year + 1, 3, 1)
    return Period("", _day(year, month, 1), end)


def _count(match: re.Match[str]) -> int:
    word = match["count"].lower()
    return int(word) if word.isdecimal() else _NUMBERS[word]


def _back(reference: datetime, count: int, unit: str) -> Period | None:
    """The day, the seven days around the day, the month or the year that lies `count` units before."""
    today = reference.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return _one_day(today - timedelta(days=count))
    if unit == "week":
        day = today - timedelta(weeks=count)
        return Period("", day - timedelta(days=3), day + timedelta(days=4))
    if unit == "month":
        months = today.year * 12 + today.month - 1 - count
        return _month(months // 12, months % 12 + 1)
    year = today.year - count
    return Period("", _day(year, 1, 1), _day(year + 1, 1, 1)) if year > 0 else None


def _ago(match: re.Match[str], reference: datetime | None) -> Period | None:
    return _back(reference, _count(match), match["unit"].lower()) if reference is not None else None


def _last_few(match: re.Match[str], reference: datetime | None) -> Period | None:
    if reference is None:
        return None
    today = reference.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[match["unit"].lower()] * _count(match)
    return Period("", today - timedelta(days=days), _after(today))


def _last_or_this(match: re.Match[str], reference: datetime | None) -> Period | None:
    if reference is None:
        return None
    which, unit = match["which"].lower(), match["unit"].lower()
    count = 0 if which == "this" else 1
    today = reference.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * count)
        return Period("", monday, monday + timedelta(days=7))
    if unit in _WEEKDAYS:
        days = (today.weekday() - _WEEKDAYS.index(unit)) % 7
        return _one_day(today - timedelta(days=(days or 7) if count else days))
    return _back(reference, count, unit)


_NEAR_DAYS = {
    "today": 0,
    "this morning": 0,
    "tonight": 0,
    "yesterday": 1,
    "last night": 1,
    "\u4eca\u5929": 0,
    "\u4eca\u65e5": 0,
    "\u6628\u5929": 1,
    "\u6628\u65e5": 1,
    "\u524d\u5929": 2,
}


def _near(match: re.Match[str], reference: datetime | None) -> Period | None:
    return _back(reference, _NEAR_DAYS[" ".join(match.group().lower().split())], "day") if reference is not None else None


_CHINESE_UNITS = {"\u5929": "day", "\u65e5": "day", "\u5468": "week", "\u661f": "week", "\u9031": "week", "\u6708": "month", "\u5e74": "year"}


def _ago_chinese(match: re.Match[str], reference: datetime | None) -> Period | None:
    return _back(reference, int(match["count"]), _CHINESE_UNITS[match["unit"][0]]) if reference is not None else None


_Make = Callable[[re.Match[str], datetime | None], Period | None]
# Those that count from the reference.
_FROM_REFERENCE = frozenset({_ago, _last_few, _last_or_this, _near, _ago_chinese})
_EDGE, _LAST = r"(?<![\w.\-/:])", r"(?![\w\-/:]|\.\d)"
_PREPOSITION = (
    r"\b(?:in|of|during|since|until|till|by|before|after|from|to|and|between|through|last|this|early|late|mid)[\s-]+(?:the\s+month\s+of\s+)?"
)

# By precedence: what an earlier form takes no later one sees.
_FORMS: tuple[tuple[re.Pattern[str], _Make], ...] = (
    (re.compile(_EDGE + r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?=[T\s,;.?!)\]]|$)(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?"), _dated),
    (re.compile(r"(?:(?P<year>\d{4})\s*\u5e74\s*)?(?P<month>\d{1,2})\s*\u6708\s*(?P<day>\d{1,2})\s*[\u65e5\u53f7\u865f]"), _dated),
    (re.compile(r"(?P<year>\d{4})\s*\u5e74\s*(?P<month>\d{1,2})\s*\u6708"), _monthly),
    (re.compile(r"(?P<year>\d{4})\s*\u5e74"), _yearly),
    (re.compile(_EDGE + _D + r"\s+(?:of\s+)?" + _M + r"(?:,?\s+" + _Y + r")?"), _dated),
    (re.compile(r"\b" + _M + r"\s*(?:the\s+)?" + _D + r"(?:,?\s+" + _Y + r")?"), _dated),
    (re.compile(r"\b" + _M + r",?\s+(?:of\s+)?" + _Y), _monthly),
    (re.compile(_EDGE + r"(?P<year>(?:1[5-9]|20)\d\d)-(?P<month>0[1-9]|1[0-2])" + _LAST), _monthly),
    (re.compile(r"\b(?P<season>spring|summer|autumn|fall|winter)\s+(?:of\s+)?" + _Y, re.IGNORECASE), _season),
    (re.compile(r"(?<=\w\s)" + _MONTH_ALONE + r"\b(?<!\d)"), _monthly),
    (re.compile(_EDGE + r"(?P<year>(?:1[5-9]|20)\d\d)" + _LAST), _yearly),
    (re.compile(r"\b" + _N + r"\s+" + _UNIT + r"s?\s+ago\b", re.IGNORECASE), _ago),
    (re.compile(r"\b(?:last|past)\s+" + _N + r"\s+" + _UNIT + r"s?\b", re.IGNORECASE), _last_few),
    (
        re.compile(r"\b(?P<which>last|previous|this)\s+(?P<unit>week|month|year|" + "|".join(_WEEKDAYS) + r")\b(?!\s+of\b)", re.IGNORECASE),
        _last_or_this,
    ),
    (
        re.compile(
            r"\b(?:today|this\s+morning|tonight|yesterday|last\s+night)\b|" + "|".join(w for w in _NEAR_DAYS if not w.isascii()), re.IGNORECASE
        ),
        _near,
    ),
    (
        re.compile(
            r"(?P<count>\d{1,3})\s*(?P<unit>\u5929|\u65e5|\u5468|\u661f\u671f|\u9031\u9593|\u4e2a\u6708|\u500b\u6708|\u5e74)\u4ee5?\u524d".replace(
                "\u4e2a\u6708|\u500b\u6708", "(?:\u4e2a|\u500b)?\u6708"
            )
        ),
        _ago_chinese,
    ),
)
