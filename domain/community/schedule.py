"""When a team's communities are detected: once a day, at a time of the team's own time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from commonlore.domain.errors import invalid


@dataclass(frozen=True, slots=True)
class CommunitySchedule:
    """`start_minute`: minutes after midnight, local time of `time_zone`."""

    time_zone: str = "UTC"
    start_minute: int = 180

    @property
    def start(self) -> str:
        return f"{self.start_minute // 60:02}:{self.start_minute % 60:02}"

    def begins(self, day: date) -> datetime:
        """The instant at which the window of a local day opens.

        A time that the clocks skip is that much after the change; one that comes twice is the first.
        """
        local = datetime.combine(day, time(self.start_minute // 60, self.start_minute % 60), ZoneInfo(self.time_zone))
        return local.astimezone(UTC)

    def latest_window(self, now: datetime) -> date:
        """The local day whose window opened last."""
        today = now.astimezone(ZoneInfo(self.time_zone)).date()
        return today if self.begins(today) <= now else today - timedelta(days=1)

    def next_begin(self, now: datetime) -> datetime:
        return self.begins(self.latest_window(now) + timedelta(days=1))


def read_start(path: str, text: str) -> int:
    """Minutes after midnight from `HH:MM`.

    Raises:
        Incorrect: it is not a time of a day.
    """
    hours, _, minutes = text.partition(":")
    if len(text) != 5 or not (hours + minutes).isascii() or not (hours + minutes).isdigit() or int(hours) > 23 or int(minutes) > 59:
        raise invalid(path, "expected a time of the day as HH:MM, such as 03:00")
    return int(hours) * 60 + int(minutes)
