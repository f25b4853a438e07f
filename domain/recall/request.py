"""What a recall may ask, with every bound (dense-mem 6.5; the published client's RecallRequest)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.recall.asked import AskedAt, AskedTime, TimeCue, TimeZoneName, read_asked_time
from commonlore.domain.recall.filters import RecallFilter
from commonlore.domain.tenancy.place import SpaceName
from commonlore.domain.time import TemporalView

KnownIds = Annotated[list[UUID], Meta(max_length=200)]


class RecallRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`limit` bounds evidence, `relationship_limit` the direct relationships (0 switches the lane off).

    Ids that are unknown or foreign are ignored. `valid_at`, `known_at` and `asked_at` are RFC 3339 with an offset.
    """

    query: Annotated[str, Meta(min_length=1, max_length=512, description="What to look for, in plain words.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="The most evidence to return.")] = 10
    relationship_limit: Annotated[int, Meta(ge=0, le=20, description="The most direct relationships; 0: none.")] = 5
    community_limit: Annotated[int, Meta(ge=0, le=10, description="The most communities; 0: none.")] = 3
    community_relationship_limit: Annotated[int, Meta(ge=1, le=20, description="The most in one community.")] = 5
    valid_at: Annotated[str | None, Meta(description="When the statement should hold, RFC 3339.")] = None
    known_at: Annotated[str | None, Meta(description="As known at this time, RFC 3339.")] = None
    asked_at: AskedAt = None
    time_zone: TimeZoneName = None
    time_cue: Annotated[TimeCue | None, Meta(description="When it was said.")] = None
    known_evidence_ids: Annotated[KnownIds, Meta(description="Evidence you already have.")] = []
    known_relationship_ids: Annotated[KnownIds, Meta(description="Relationships you already have.")] = []
    expand_from_entity_ids: Annotated[
        Annotated[list[UUID], Meta(max_length=50)], Meta(description="Only relationships that touch one of these entities.")
    ] = []
    filter: Annotated[RecallFilter | None, Meta(description="Narrow the lanes.")] = None
    spaces: Annotated[list[SpaceName], Meta(max_length=20, description="Only these: private, team_shared or named ones.")] = []
    trace: Annotated[bool, Meta(description="Say why: ranks, reasons and times.")] = False

    def view(self) -> TemporalView:
        """
        Raises:
            Incorrect: a time is not RFC 3339 with an offset.
        """
        return TemporalView(read_instant("/valid_at", self.valid_at), read_instant("/known_at", self.known_at))

    def asked(self, now: datetime | None = None) -> AskedTime:
        """The moment from which words such as "yesterday" count: `asked_at`, else `valid_at`, else `known_at`, else `now`.

        Raises:
            Incorrect: a time or the zone is wrong.
        """
        view = self.view()
        return read_asked_time(self.asked_at, self.time_zone, self.time_cue, view.valid_at or view.known_at or now)

    def validate(self) -> None:
        """What a schema cannot say.

        Raises:
            Incorrect: the query has no visible character, or a time is wrong.
        """
        require_visible("/query", self.query)
        self.asked()
        if self.filter is not None:
            self.filter.validate()


def distinct(ids: list[UUID]) -> tuple[UUID, ...]:
    """Ids without repeats, in the order given."""
    return tuple(dict.fromkeys(ids))
