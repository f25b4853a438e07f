"""What may leave: the eligibility of evidence, with a reason for each exclusion."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from commonlore.domain.recall.reasons import Exclusion
from commonlore.domain.recall.result import EvidenceRow, SupportPath
from commonlore.domain.tenancy.actor import UnclaimedEvidence


@dataclass(frozen=True, slots=True)
class Admission:
    """The verdict on one candidate. `reason` is None when it is kept."""

    evidence_id: UUID
    reason: Exclusion | None
    active_paths: tuple[SupportPath, ...] = ()


def admit(row: EvidenceRow, *, unclaimed: UnclaimedEvidence) -> Admission:
    """Whether evidence is eligible in the view its row was read for.

    Withdrawn evidence never is. Evidence that was claimed is when at least one granted path is active in the view;
    evidence that was never claimed is, unless the team withholds it.

    Source: ranking page, "Eligibility"; decisions.md 5.
    """
    active = tuple(path for path in row.paths if path.is_active)
    reason: Exclusion | None = None
    if not row.owner_active:
        reason = "owner_inactive"
    elif not row.known_in_view:
        reason = "not_yet_known"
    elif row.withdrawn is not None:
        reason = row.withdrawn
    elif row.paths and not active:
        reason = "unsupported"
    elif not row.paths and unclaimed == "withheld":
        reason = "unclaimed"
    return Admission(row.evidence_id, reason, active)
