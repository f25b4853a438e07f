"""A time as a query names it: whole days of a calendar in a zone, or certain days of any year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

MonthDay = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a query names, with its words; `text` is empty where the caller stated it.

    Either `start` and `end`, instants in UTC, the end not included, of which one may be open; or `yearly`: first and last
    day, both included, of any year, by the calendar of `zone`.
    """

    text: str
    start: datetime | None = None
    end: datetime | None = None
    yearly: tuple[MonthDay, MonthDay] | None = None
    zone: tzinfo = UTC

    def holds(self, instant: datetime) -> bool:
        """Whether an aware instant lies in it."""
        if self.yearly is None:
            return (self.start is None or self.start <= instant) and (self.end is None or instant < self.end)
        first, last = self.yearly
        try:
            moment = instant.astimezone(self.zone)
        except OverflowError:  # the first or last day of the calendar, in a zone where it is another year
            return False
        day = (moment.month, moment.day)
        return first <= day <= last if first <= last else day >= first or day <= last


@dataclass(frozen=True, slots=True)
class Days:
    """Days of a calendar before a zone is known: from `first`, `end` not included, of which one may be open; or `yearly`."""

    first: date | None = None
    end: date | None = None
    yearly: tuple[MonthDay, MonthDay] | None = None

    def period(self, text: str, zone: tzinfo) -> Period:
        """The same days in a zone, whatever its clocks do on them.

        Raises:
            OverflowError: they lie outside the years 1 to 9999 of UTC.
        """
        return Period(text, _begins(self.first, zone), _begins(self.end, zone), self.yearly, zone)


def _begins(day: date | None, zone: tzinfo) -> datetime | None:
    """The first instant of a day. A midnight that comes twice is the first, one that the clocks skip is the change."""
    return None if day is None else datetime.combine(day, time(), zone).astimezone(UTC)
