"""The wordings of times: each a pattern with the days that it means.

English, ISO 8601 and the dates of Chinese and Japanese.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from commonlore.domain.recall.period import Days

# A pattern with what it means: the days, or None for words that are surely no time or none that can be told. It raises
# ValueError or OverflowError where the calendar has no such day.
Make = Callable[[re.Match[str], date], Days | None]

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
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
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
MAY_NAME_TIME = re.compile(
    r"\d|day|morning|night|tomorrow|week|month|year|summer|winter|spring|autumn|fall|"
    + "|".join(_MONTHS)
    + r"|[\u65e5\u5929\u5468\u6708\u5e74\u9031]",
    re.IGNORECASE,
)


def _one(day: date) -> Days:
    return Days(day, day + timedelta(days=1))


def _month(year: int, month: int) -> Days:
    start = date(year, month, 1)
    return Days(start, start + timedelta(days=monthrange(year, month)[1]))


def _year(year: int) -> Days:
    return Days(date(year, 1, 1), date(year + 1, 1, 1))


def _number_of(month: str) -> int:
    return int(month) if month.isdecimal() else _MONTH_NUMBERS[month[:3].lower()]


def _dated(match: re.Match[str], _: date) -> Days | None:
    """A day with month, with or without its year."""
    found = match.groupdict()
    month, day = _number_of(found["month"]), int(found["day"])
    if found.get("year"):
        return _one(date(int(found["year"]), month, day))
    date(2024, month, day)  # a year that has every day
    return Days(yearly=((month, day), (month, day)))


def _monthly(match: re.Match[str], _: date) -> Days | None:
    found = match.groupdict()
    month = _number_of(found["month"])
    if found.get("year"):
        return _month(int(found["year"]), month)
    return Days(yearly=((month, 1), (month, 31)))


def _yearly(match: re.Match[str], _: date) -> Days | None:
    return _year(int(match["year"]))


_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def _season(match: re.Match[str], _: date) -> Days | None:
    year, month = int(match["year"]), _SEASONS[match["season"].lower()]
    return Days(date(year, month, 1), date(year, month + 3, 1) if month < 12 else date(year + 1, 3, 1))


def _count(word: str | None) -> int:
    """A number in digits or as a word; one where there is none."""
    if word is None:
        return 1
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _back(today: date, count: int, unit: str) -> Days:
    """The day, the seven days around the day, the month or the year that lies `count` units before."""
    if unit == "day":
        return _one(today - timedelta(days=count))
    if unit == "week":
        day = today - timedelta(weeks=count)
        return Days(day - timedelta(days=3), day + timedelta(days=4))
    if unit == "month":
        months = today.year * 12 + today.month - 1 - count
        return _month(months // 12, months % 12 + 1)
    return _year(today.year - count)


def _ago(match: re.Match[str], today: date) -> Days | None:
    """ "Over a year ago" and "two or three days ago" tell no time."""
    return None if match["vague"] else _back(today, _count(match["count"]), match["unit"].lower())


_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}


def _last_few(match: re.Match[str], today: date) -> Days | None:
    days = _LENGTHS[(match["unit"] or match["one"]).lower()] * _count(match["count"])
    return Days(today - timedelta(days=days), today + timedelta(days=1))


def _named_unit(match: re.Match[str], today: date) -> Days | None:
    """The last, this or next week, month or year of the calendar; its weekend; the last or latest such day of the week."""
    count = {"this": 0, "next": -1}.get((match["which"] or match["which_day"]).lower(), 1)
    unit = (match["unit"] or match["weekday"]).lower()
    if unit in WEEKDAYS:
        days = (today.weekday() - WEEKDAYS.index(unit)) % 7
        return _one(today - timedelta(days=(days or 7) if count else days))
    if unit not in ("week", "weekend"):
        return _back(today, count, unit)
    monday = today - timedelta(days=today.weekday() + 7 * count)
    return Days(monday + timedelta(days=5) if unit == "weekend" else monday, monday + timedelta(days=7))


_NEAR_DAYS = {
    "today": 0,
    "this morning": 0,
    "tonight": 0,
    "yesterday": 1,
    "last night": 1,
    "day before yesterday": 2,
    "tomorrow": -1,
    "day after tomorrow": -2,
    "\u4eca\u5929": 0,
    "\u4eca\u65e5": 0,
    "\u6628\u5929": 1,
    "\u6628\u65e5": 1,
    "\u524d\u5929": 2,
    "\u660e\u5929": -1,
}


def _near(match: re.Match[str], today: date) -> Days | None:
    return _back(today, _NEAR_DAYS[" ".join(match.group().lower().split())], "day")


_CHINESE_UNITS = {"\u5929": "day", "\u65e5": "day", "\u5468": "week", "\u661f": "week", "\u9031": "week", "\u6708": "month", "\u5e74": "year"}


def _ago_chinese(match: re.Match[str], today: date) -> Days | None:
    return _back(today, int(match["count"]), _CHINESE_UNITS[match["unit"][0]])


_BESIDE = re.compile(
    r"\b(?:the|a|an|last|" + _N + r")\s+(?P<unit>day|week|month|year|" + "|".join(WEEKDAYS) + r")s?\s+(?P<side>before|after)\s+(?:the\s+)?$",
    re.IGNORECASE,
)


def beside(before: str, found: Days) -> Days | None:
    """What "the week before" or "two days after" at the end of `before` makes of the days that follow; None without such words.

    One week, month or year is the 7, 30 or 365 days next to them.
    """
    match = _BESIDE.search(before)
    if match is None or found.first is None or found.end is None:
        return None
    is_before, unit, count = match["side"].lower() == "before", match["unit"].lower(), _count(match["count"])
    if unit in WEEKDAYS:
        last = found.first - timedelta(days=1) if is_before else found.end + timedelta(days=6)
        return _one(last - timedelta(days=(last.weekday() - WEEKDAYS.index(unit)) % 7))
    if unit == "day" or count > 1:
        return _back(found.first, count, unit) if is_before else _back(found.end - timedelta(days=1), -count, unit)
    length = timedelta(days=_LENGTHS[unit])
    return Days(found.first - length, found.first) if is_before else Days(found.end, found.end + length)


_EDGE, _LAST = r"(?<![\w.\-/:])", r"(?![\w\-/:]|\.\d)"
_PREPOSITION = (
    r"\b(?:in|of|during|since|until|till|by|before|after|from|to|and|between|through|last|this|early|late|mid)[\s-]+(?:the\s+month\s+of\s+)?"
)

# By precedence: what an earlier form takes no later one sees.
FORMS: tuple[tuple[re.Pattern[str], Make], ...] = (
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
    (
        re.compile(
            r"(?<![\w.\-])(?:(?P<vague>over|under|more\s+than|less\s+than|at\s+least|half|or|to)\s+)?" + _N + r"\s+" + _UNIT + r"s?\s+ago\b",
            re.IGNORECASE,
        ),
        _ago,
    ),
    (re.compile(r"\b(?:last|past)\s+" + _N + r"\s+" + _UNIT + r"s?\b|\bpast\s+(?P<one>week|month|year)\b", re.IGNORECASE), _last_few),
    (
        re.compile(
            r"\b(?:(?P<which>last|previous|this|next)\s+(?P<unit>weekend|week|month|year)|(?P<which_day>last|previous|this)\s+(?P<weekday>"
            + "|".join(WEEKDAYS)
            + r"))\b(?!\s+of\b)",
            re.IGNORECASE,
        ),
        _named_unit,
    ),
    (
        re.compile(
            r"\b(?:today|this\s+morning|tonight|(?:day\s+before\s+)?yesterday|last\s+night|(?:day\s+after\s+)?tomorrow)\b|"
            + "|".join(w for w in _NEAR_DAYS if not w.isascii()),
            re.IGNORECASE,
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

# Those that count from the day on which the question is asked.
FROM_TODAY = frozenset({_ago, _last_few, _named_unit, _near, _ago_chinese})
