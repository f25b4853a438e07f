"""What may be asked of briefs: to list and read them, to take one for a time, to give it back, to answer it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import read_instant, require_visible
from commonlore.domain.delegation.brief import parse_brief_id
from commonlore.domain.delegation.kind import KINDS, Decision, Field, Kind
from commonlore.domain.errors import invalid
from commonlore.domain.submission import IdempotencyKey, require_key

BriefId = Annotated[str, Meta(min_length=1, max_length=128)]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]
TargetSpace = Literal["private", "team_shared"]
MOST_QUOTES = 10
_FIELDS: tuple[Field, ...] = ("quotes", "preferred_position_id", "effective_at", "keep_entity_id", "summary")


class ListBriefsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Briefs that nobody decided, by kind and then in a fixed order. Without `kinds`, all."""

    kinds: Annotated[list[Kind], Meta(max_length=10)] = []
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    cursor: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    target_space: TargetSpace = "team_shared"


class DescribeBriefRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One brief with what became of it."""

    brief_id: BriefId
    target_space: TargetSpace = "team_shared"


class ClaimBriefRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Takes a brief for `lease_seconds`. With the `claim_id` of a claim that still runs it is extended."""

    brief_id: BriefId
    lease_seconds: Annotated[int, Meta(ge=10, le=3600)] = 600
    claim_id: UUID | None = None
    target_space: TargetSpace = "team_shared"


class ReleaseBriefRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gives a claimed brief back before its time."""

    brief_id: BriefId
    claim_id: UUID
    reason: Reason
    target_space: TargetSpace = "team_shared"

    def validate(self) -> None:
        require_visible("/reason", self.reason)


class BriefQuote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words of a text, exactly as they stand there. `start`, in code points, says which place is meant; without it, the first."""

    evidence_id: UUID
    quote: Annotated[str, Meta(min_length=1, max_length=999)]
    start: Annotated[int, Meta(ge=0)] | None = None


class SubmitVerdictRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a claimed brief. What a decision needs and allows says the brief; `answered_by` names the model or person in your own words."""

    brief_id: BriefId
    claim_id: UUID
    decision: Decision
    reason: Reason
    quotes: Annotated[list[BriefQuote], Meta(max_length=MOST_QUOTES)] = []
    preferred_position_id: UUID | None = None
    effective_at: str | None = None
    keep_entity_id: UUID | None = None
    summary: Annotated[str, Meta(min_length=1, max_length=600)] | None = None
    answered_by: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    target_space: TargetSpace = "team_shared"
    idempotency_key: IdempotencyKey | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: with the JSON pointer of the first wrong field.
            NotVisible: no brief has such a name.
        """
        verdicts = KINDS[parse_brief_id(self.brief_id).kind].verdicts
        verdict = verdicts.get(self.decision)
        if verdict is None:
            raise invalid("/decision", f"expected one of {', '.join(verdicts)}")
        for field in _FIELDS:
            given = bool(getattr(self, field))
            if given and not verdict.takes(field):
                raise invalid(f"/{field}", f"expected only where the decision takes it; {self.decision} does not")
            if not given and field in verdict.needs:
                raise invalid(f"/{field}", f"missing; the decision {self.decision} needs it")
        for name in ("reason", "summary", "answered_by"):
            if (text := getattr(self, name)) is not None:
                require_visible(f"/{name}", text)
        read_instant("/effective_at", self.effective_at)
        require_key(self.idempotency_key)
