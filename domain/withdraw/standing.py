"""Whether evidence still counts, and what may be done to it by whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

# States that never end (dense-mem 3).
_FINAL = ("erased", "retracted", "superseded")


@dataclass(frozen=True, slots=True)
class Standing:
    """One piece of evidence: its owner, the exclusions it has now, since when it is known, and what superseded it."""

    evidence_id: UUID
    owner_profile_id: UUID
    reasons: frozenset[str]
    known_from: datetime
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


def after_all(standing: Iterable[Standing], instant: datetime) -> datetime:
    """The instant, or right after the last of the texts became known: none is withdrawn before it was there."""
    return max([instant, *(item.known_from + timedelta(microseconds=1) for item in standing)])


def final_state(reasons: Collection[str]) -> str | None:
    """`erased`, `retracted` or `superseded`, the gravest that is among the reasons."""
    return next((state for state in _FINAL if state in reasons), None)
