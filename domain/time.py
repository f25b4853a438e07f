"""Time as Commonlore reads and keeps it: aware instants, half-open periods, an injected clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

# RFC 3339 with at most six digits of a second: PostgreSQL rounds the seventh, Python cuts it, so it is refused.
_INSTANT = re.compile(r"(?P<date>\d{4}-\d{2}-\d{2})[Tt ](?P<time>\d{2}:\d{2}:\d{2})(?P<fraction>\.\d{1,6})?(?P<offset>[Zz]|[+-]\d{2}:\d{2})")
INSTANT_FORM = "expected an RFC 3339 date-time with an offset, years 0001 to 9999, at most six fraction digits, such as 2026-07-01T00:00:00Z"


class Clock(Protocol):
    """Where the present comes from. Returns an aware instant in UTC."""

    def __call__(self) -> datetime: ...


def system_clock() -> datetime:
    return datetime.now(UTC)


def parse_instant(text: str) -> datetime:
    """An aware instant in UTC from strict RFC 3339 text.

    Leap seconds, hour 24, naive times, words such as "now" and times outside years 1 to 9999 are refused.

    Raises:
        ValueError: with the form that is expected.
    """
    return parse_moment(text).astimezone(UTC)


def parse_moment(text: str) -> datetime:
    """As `parse_instant`, in the offset that it is written with.

    Raises:
        ValueError: with the form that is expected.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(INSTANT_FORM)
    offset = match["offset"].upper().replace("Z", "+00:00")
    if not (int(offset[1:3]) < 16 and int(offset[4:6]) < 60):
        raise ValueError(INSTANT_FORM)
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time']}{match['fraction'] or ''}{offset}")
        moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(INSTANT_FORM) from error
    return moment


def render_instant(instant: datetime) -> str:
    """RFC 3339 in UTC, microseconds with trailing zeros dropped, `Z` at the end (dense-mem 4 and 5).

    Raises:
        ValueError: `instant` is naive.
    """
    if instant.tzinfo is None:
        raise ValueError("a naive time has no place on the time line")
    text = instant.astimezone(UTC).isoformat()[: -len("+00:00")]
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + "Z"


def render_if_any(instant: datetime | None) -> str | None:
    """`render_instant` of an instant that may be none."""
    return None if instant is None else render_instant(instant)


@dataclass(frozen=True, slots=True)
class TemporalView:
    """The moment a read is made from. `None` is the present.

    `valid_at`: when the statement holds. `known_at`: when we held it.
    """

    valid_at: datetime | None = None
    known_at: datetime | None = None

    @property
    def is_present(self) -> bool:
        return self.valid_at is None and self.known_at is None

    @property
    def event_time(self) -> datetime | None:
        """The instant at which lifecycle events count: known_at, else valid_at (dense-mem 7.2)."""
        return self.known_at or self.valid_at
