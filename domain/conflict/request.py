"""What may be asked of conflicts: to see them, to state one between texts, to decide one."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.remember.request import CONTENT_LIMIT_BYTES
from commonlore.domain.submission import IdempotencyKey, require_key
from commonlore.domain.tenancy.place import InSpace

Status = Literal["open", "overdue", "resolved", "dismissed"]
Key = Annotated[str, Meta(min_length=1, max_length=128)]


class ResolveConflictRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`resolve` prefers one position from `effective_at` on; `dismiss` lets all of them stand. `expected_version` is that of the case as it was read."""

    conflict_id: UUID
    expected_version: Annotated[int, Meta(ge=1)]
    action: Literal["resolve", "dismiss"]
    reason: Annotated[str, Meta(min_length=1, max_length=1000)]
    preferred_position_id: UUID | None = None
    effective_at: str | None = None
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        require_visible("/reason", self.reason)
        if (self.action == "resolve") != (self.preferred_position_id is not None):
            raise invalid("/preferred_position_id", "expected with the action resolve, and only with it")
        if self.action == "dismiss" and self.effective_at is not None:
            raise invalid("/effective_at", "expected only with the action resolve")
        read_instant("/effective_at", self.effective_at)
        require_key(self.idempotency_key)


class QuoteProposal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An exact place in one stored text, in code points, half-open; `quote`, if given, must be that slice."""

    evidence_id: UUID
    start: Annotated[int, Meta(ge=0, le=CONTENT_LIMIT_BYTES)]
    end: Annotated[int, Meta(ge=1, le=CONTENT_LIMIT_BYTES)]
    quote: Annotated[str, Meta(min_length=1, max_length=4000)] | None = None

    @property
    def place(self) -> tuple[UUID, int, int]:
        return self.evidence_id, self.start, self.end


class ContestEvidenceRequest(InSpace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two to ten quotes that cannot all be right. The same `case_key` with the same quotes again notes that they were met again."""

    case_key: Key
    question: Annotated[str, Meta(min_length=1, max_length=512)]
    positions: Annotated[list[QuoteProposal], Meta(min_length=2, max_length=10)]
    reason: Annotated[str, Meta(min_length=1, max_length=1000)]
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
        """
        for name in ("case_key", "question", "reason"):
            require_visible(f"/{name}", getattr(self, name))
        require_key(self.idempotency_key)
        seen = set()
        for index, item in enumerate(self.positions):
            if not item.start < item.end or item.end - item.start > 4000:
                raise invalid(f"/positions/{index}", "expected start < end, at most 4000 code points apart")
            if item.place in seen:
                raise invalid(f"/positions/{index}", "expected a place of its own; another position has it already")
            seen.add(item.place)


class ListConflictsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of cases in the order in which they were opened. `cursor` is the `next_cursor` of the page before, with the same `status`."""

    status: Status | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    cursor: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class UpdateConflictRulesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the team's conflicts are reviewed. What is left out stays as it is; an empty object changes nothing and shows the rules."""

    review_days: Annotated[int, Meta(ge=1, le=30)] | None = None
    quorum: Annotated[int, Meta(ge=1, le=100)] | None = None
    automatic: bool | None = None
    last_write_wins: bool | None = None


class DescribeConflictRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case with its history."""

    conflict_id: UUID
