"""What an administrator's key may ask of its team's jobs."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.errors import invalid
from commonlore.domain.jobs.kind import KINDS, State


class ListJobsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs of the team, the newest first. `state` and `kind` keep those alone. `cursor` is the `next_cursor` of the page before."""

    state: State | None = None
    kind: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    cursor: Annotated[str, Meta(min_length=1, max_length=256)] | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: there is no such kind.
        """
        kinds = sorted(name for name, kind in KINDS.items() if kind.per != "installation")
        if self.kind is not None and self.kind not in kinds:
            raise invalid("/kind", f"expected one of {', '.join(kinds)}")


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One job of the team."""

    job_id: UUID
