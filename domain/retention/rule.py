"""How long a team keeps what nothing needs for ever, and what an administrator may ask of it. Days are whole; null keeps for ever.

What is remembered is none of it: texts and relationships go by retraction and erasure, never by age.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from commonlore.domain.errors import invalid

AuditDays = Annotated[int, Meta(ge=30, le=36500)]
Days = Annotated[int, Meta(ge=1, le=36500)]
JobDays = Annotated[int, Meta(ge=1, le=365)]


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """`audit_days`: entries of the audit log, whole seals at a time. `feedback_days`: recalls kept for feedback. `answer_days`: what a
    repeated call is answered with; one that comes later is a new call. `job_days`: reports of dead and cancelled jobs; those of others
    are kept for a week at most.
    """

    audit_days: int | None = None
    feedback_days: int = 30
    answer_days: int | None = None
    job_days: int = 30

    def changed(self, request: RetentionChange) -> RetentionRule:
        """The rule with what the request gives."""

        def given(asked: int | None | UnsetType, now: int | None) -> int | None:
            return now if isinstance(asked, UnsetType) else asked

        return RetentionRule(
            audit_days=given(request.audit_days, self.audit_days),
            feedback_days=given(request.feedback_days, self.feedback_days) or self.feedback_days,
            answer_days=given(request.answer_days, self.answer_days),
            job_days=given(request.job_days, self.job_days) or self.job_days,
        )


def cutoff(days: int | None, now: datetime) -> datetime | None:
    """What is older goes; None where nothing does. An instant before year 1 is year 1."""
    if days is None:
        return None
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)


class RetentionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days by what they are for; what is left out stays as it is."""

    audit_days: Annotated[AuditDays | None | UnsetType, Meta(description="Null: for ever.")] = UNSET
    feedback_days: Days | UnsetType = UNSET
    answer_days: Annotated[Days | None | UnsetType, Meta(description="Null: for ever.")] = UNSET
    job_days: JobDays | UnsetType = UNSET


class DescribeRetentionRequest(RetentionChange, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the team's rule would remove now; with days, what it would remove if it had them. Removes nothing."""


class UpdateRetentionRequest(RetentionChange, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes the team's rule. Nothing is removed by this call."""

    def validate(self) -> None:
        """
        Raises:
            Incorrect: nothing is to be changed.
        """
        if all(isinstance(getattr(self, name), UnsetType) for name in self.__struct_fields__):
            raise invalid("", f"expected at least one of {', '.join(self.__struct_fields__)}")


class RunRetentionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asks for the job that removes what the team's rule lets go."""


@dataclass(frozen=True, slots=True)
class RetentionCounts:
    """Rows that a rule lets go: entries of the log, kept recalls, stored answers, reports of jobs."""

    audit_entries: int = 0
    kept_recalls: int = 0
    answers: int = 0
    jobs: int = 0
