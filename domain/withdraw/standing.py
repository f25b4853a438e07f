"""Whether evidence still counts, and what may be done to it by whom."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

# States that never end (dense-mem 3).
_FINAL = ("erased", "retracted", "superseded")


@dataclass(frozen=True, slots=True)
class Standing:
    """One piece of evidence: its owner, the exclusions it has now, and what superseded it."""

    evidence_id: UUID
    owner_profile_id: UUID
    reasons: frozenset[str]
    replacement_evidence_id: UUID | None = None

    @property
    def is_quarantined(self) -> bool:
        return "quarantined" in self.reasons

    @property
    def is_erased(self) -> bool:
        """Erased evidence is as if it had never been."""
        return "erased" in self.reasons

    @property
    def end(self) -> str | None:
        """The final state, if it has one."""
        return final_state(self.reasons)


def final_state(reasons: Collection[str]) -> str | None:
    """`erased`, `retracted` or `superseded`, the gravest that is among the reasons."""
    return next((state for state in _FINAL if state in reasons), None)
