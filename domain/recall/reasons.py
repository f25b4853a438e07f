"""Why what was found does not count in a view: the closed lists."""

from __future__ import annotations

from typing import Literal

Exclusion = Literal[
    "owner_inactive", "not_yet_known", "superseded", "retracted", "erased", "quarantined", "source_revised", "unsupported", "unclaimed"
]
RelationshipExclusion = Literal[
    "owner_inactive",
    "not_yet_known",
    "merged",
    "corrected",
    "suppressed",
    "superseded",
    "pending_evidence",
    "needs_review",
    "quarantined",
    "disputed",
    "retracted",
    "rejected",
    "not_yet_valid",
    "no_longer_valid",
    "unsupported",
]
