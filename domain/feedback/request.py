"""Feedback on recalls, as a caller sends it, and what an administrator asks of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant
from commonlore.domain.errors import invalid

Quality = Literal["high", "medium", "low"]
ResultKind = Literal["evidence", "relationship", "community", "hypothesis"]
Comment = Annotated[str, Meta(max_length=1000)]
Instant = Annotated[str, Meta(min_length=1, max_length=64)]


class ResultRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One result of the recall. `fragment` is another word for evidence."""

    type: Literal["evidence", "fragment", "relationship", "community", "hypothesis"]
    id: UUID
    rank: Annotated[int, Meta(ge=1, le=1000)] | None = None

    @property
    def kind(self) -> ResultKind:
        return "evidence" if self.type == "fragment" else self.type


class HypothesisFeedback(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hypothesis_id: UUID
    used: bool
    quality: Quality
    contradicted: bool = False
    comment: Comment | None = None


class RecallFeedback(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said of one recall. A comment may be left out only where the quality is high and nothing is flagged."""

    recall_event_id: Annotated[str, Meta(min_length=1, max_length=64, description="The recall_id of the answer.")]
    used: bool
    answer_supported: bool
    quality: Quality
    missing_context: bool = False
    irrelevant: bool = False
    feedback_comment: Comment | None = None
    irrelevant_result_refs: Annotated[list[ResultRef], Meta(max_length=100)] = []
    hypothesis_feedback: Annotated[list[HypothesisFeedback], Meta(max_length=100)] = []

    @property
    def recall_id(self) -> UUID | None:
        """None where it is no id of a recall."""
        try:
            return UUID(self.recall_event_id.removeprefix("rec_"))
        except ValueError:
            return None

    @property
    def has_comment(self) -> bool:
        return bool(self.feedback_comment and self.feedback_comment.strip())

    @property
    def needs_comment(self) -> bool:
        return self.quality != "high" or self.missing_context or self.irrelevant


class SubmitFeedbackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Feedback on recalls of this credential, in order."""

    recalls: Annotated[list[RecallFeedback], Meta(min_length=1, max_length=20)]


class DescribeFeedbackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What feedback says, of recalls of a period."""

    since: Annotated[Instant | None, Meta(description="Start of the period, included.")] = None
    until: Annotated[Instant | None, Meta(description="End of the period, not included.")] = None

    def period(self) -> tuple[datetime | None, datetime | None]:
        """
        Raises:
            Incorrect: an instant without an offset, or an end that is not after the start.
        """
        since, until = read_instant("/since", self.since), read_instant("/until", self.until)
        if since is not None and until is not None and until <= since:
            raise invalid("/until", "expected an instant after since")
        return since, until


class UpdateFeedbackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether recalls of the team are kept for feedback, from the next one on."""

    enabled: bool
