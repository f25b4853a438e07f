"""When a query is asked, by whose calendar, and the time that its caller states: what words such as "last month" count from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct

from commonlore.domain.checks import read_moment, read_time_zone
from commonlore.domain.errors import invalid
from commonlore.domain.recall.period import Days, Period

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FORM = "expected a date such as 2026-03-29 or an RFC 3339 date-time with an offset"

AskedAt = Annotated[str | None, Meta(description='When it is asked, RFC 3339; "yesterday" counts from it.')]
TimeZoneName = Annotated[
    Annotated[str, Meta(max_length=64)] | None,
    Meta(description="Whose days are meant, such as Europe/Berlin."),
]


class TimeCue(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A preference, never a filter. A date is that whole day in `time_zone`."""

    after: Annotated[str | None, Meta(description="A date or RFC 3339.")] = None
    before: Annotated[str | None, Meta(description="The same; a date is included.")] = None

    def period(self, zone: tzinfo) -> Period:
        """
        Raises:
            Incorrect: no end is given, one is no time, or they are not in order.
        """
        if self.after is None and self.before is None:
            raise invalid("/time_cue", "expected after, before or both")
        start, end = _bound("/time_cue/after", self.after, zone, 0), _bound("/time_cue/before", self.before, zone, 1)
        if start is not None and end is not None and start >= end:
            raise invalid("/time_cue/before", "expected a time that is later than after")
        return Period("", start, end, zone=zone)


def _bound(pointer: str, text: str | None, zone: tzinfo, days: int) -> datetime | None:
    """The beginning of a day so many days later, or the instant itself."""
    if text is None or _DATE.fullmatch(text) is None:
        moment = read_moment(pointer, text, _FORM)
        return None if moment is None else moment.astimezone(UTC)
    try:
        return Days(date.fromisoformat(text) + timedelta(days=days)).period("", zone).start
    except (ValueError, OverflowError) as error:
        raise invalid(pointer, _FORM) from error


@dataclass(frozen=True, slots=True)
class AskedTime:
    """`moment`: the aware instant from which a query's words count, if any; `zone`: its calendar; `stated`: the time the caller stated."""

    moment: datetime | None = None
    zone: tzinfo = UTC
    stated: Period | None = None


def read_asked_time(asked_at: str | None, time_zone: str | None, cue: TimeCue | None, otherwise: datetime | None) -> AskedTime:
    """The calendar is that of `time_zone`, else of the offset of `asked_at`, else of UTC. `otherwise`: the moment where none is given.

    Raises:
        Incorrect: a time or the zone is wrong.
    """
    moment = read_moment("/asked_at", asked_at)
    zone: tzinfo = UTC
    if time_zone is not None:
        zone = ZoneInfo(read_time_zone("/time_zone", time_zone))
    elif moment is not None and moment.tzinfo is not None:
        zone = moment.tzinfo
    return AskedTime(moment or otherwise, zone, None if cue is None else cue.period(zone))
