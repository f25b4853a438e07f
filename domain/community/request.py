"""What an administrator's key may ask of the communities of its spaces."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from commonlore.domain.checks import read_time_zone
from commonlore.domain.community.schedule import read_start
from commonlore.domain.errors import invalid
from commonlore.domain.tenancy.place import InSpace


class DescribeCommunitiesRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How communities of a space stand: the key's private one or the team's shared one."""


class RunCommunitiesRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Detect the communities of a space as soon as a worker is free."""


class UpdateCommunitiesRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`enabled` is the space's; `time_zone` and `start` (HH:MM) are the team's, for all its spaces. What is left out stays."""

    enabled: bool | None = None
    time_zone: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    start: Annotated[str, Meta(min_length=5, max_length=5)] | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: nothing is to be changed, no such time zone, or no time of the day.
        """
        if self.enabled is None and self.time_zone is None and self.start is None:
            raise invalid("", "expected at least one of enabled, time_zone and start")
        if self.time_zone is not None:
            read_time_zone("/time_zone", self.time_zone)
        self.start_minute()

    def start_minute(self) -> int | None:
        return None if self.start is None else read_start("/start", self.start)
