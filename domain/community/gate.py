"""Whether a space's snapshot may be served, and what an answer must say of it. The gate is one row, never counted by a recall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

RunStatus = Literal["running", "completed", "skipped", "failed", "cancelled", "too_large"]
CommunityCode = Literal["community_snapshot_unavailable", "community_snapshot_stale", "community_detection_failed", "community_graph_too_large"]


@dataclass(frozen=True, slots=True)
class CommunityGate:
    """A space that has communities switched on. `stale_from`: since when a member of the published snapshot no longer counts.

    `run_status` is that of the latest run, if there was one.
    """

    snapshot_id: UUID | None
    published_at: datetime | None
    run_status: RunStatus | None
    stale_from: datetime | None

    def degradations(self) -> tuple[CommunityCode, ...]:
        """What an answer from this space must say. The last good snapshot is served through every one of these states.

        A run that goes on takes nothing away from a snapshot that is there.
        """
        found: list[CommunityCode] = []
        if self.run_status in ("failed", "cancelled"):
            found.append("community_detection_failed")
        elif self.run_status == "too_large":
            found.append("community_graph_too_large")
        elif self.snapshot_id is None:
            found.append("community_snapshot_unavailable")
        if self.stale_from is not None:
            found.append("community_snapshot_stale")
        return tuple(found)
