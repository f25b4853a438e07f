"""Quarantine by a person: texts that are kept out of recalls, and texts that are let in again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from uuid import UUID

from msgspec import Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import NotVisible
from commonlore.domain.withdraw.retract import EvidenceIds, Reason, require_distinct
from commonlore.domain.withdraw.standing import Standing

QuarantineDisposition = Literal["quarantined", "already_quarantined", "released", "not_quarantined"]


class QuarantineRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """1 to 50 texts, and why they are held or released."""

    evidence_ids: EvidenceIds
    reason: Reason

    def validate(self) -> None:
        """
        Raises:
            Incorrect: an id is named twice, or the reason shows nothing.
        """
        require_distinct(self.evidence_ids)
        require_visible("/reason", self.reason)


class QuarantinedEvidence(Struct, frozen=True, kw_only=True):
    """What became of one text; `relationships_changed` counts those that it supports and that changed."""

    evidence_id: UUID
    disposition: QuarantineDisposition
    relationships_changed: int


def require_seen(evidence_ids: Sequence[UUID], standing: Mapping[UUID, Standing]) -> None:
    """
    Raises:
        NotVisible: an id that is nothing here; foreign and erased ones alike.
    """
    for place, key in enumerate(evidence_ids):
        if key not in standing or standing[key].is_erased:
            raise NotVisible("not_found", f"/evidence_ids/{place}: there is no such evidence here")
