"""What an administrator's key may ask of its team's audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.audit.act import AuditOutcome
from commonlore.domain.checks import read_instant
from commonlore.domain.errors import invalid

Word = Annotated[str, Meta(min_length=1, max_length=64)]
Instant = Annotated[str, Meta(min_length=1, max_length=64)]


class ListAuditRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entries of the team's log, the newest first. Every filter that is given must hold. `cursor` is the `next_cursor` of the page before."""

    act: Annotated[Word | None, Meta(description="The name of a tool, an operation, a command or a kind of job.")] = None
    profile_id: Annotated[UUID | None, Meta(description="The member whose key it was.")] = None
    subject: Annotated[str, Meta(min_length=1, max_length=256, description="An id.")] | None = None
    outcome: AuditOutcome | None = None
    since: Annotated[Instant | None, Meta(description="Start of the period, included.")] = None
    until: Annotated[Instant | None, Meta(description="End of the period, not included.")] = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(min_length=1, max_length=256)] | None = None

    def period(self) -> tuple[datetime | None, datetime | None]:
        """
        Raises:
            Incorrect: an instant without an offset, or an end that is not after the start.
        """
        since, until = read_instant("/since", self.since), read_instant("/until", self.until)
        if since is not None and until is not None and until <= since:
            raise invalid("/until", "expected an instant after since")
        return since, until


class ListSealsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seals of the team's log after `after`, in their order, each compared with its entries and with the seal before."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
