"""What may be asked about promotions."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from commonlore.domain.checks import require_visible
from commonlore.domain.errors import invalid
from commonlore.domain.tenancy.place import InSpace

PromotionState = Literal["requested", "expired", "promoted", "rejected", "revoked"]
Reason = Annotated[str, Meta(min_length=1, max_length=1000)]


class PromoteRequest(InSpace, Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts of the key's private space, stored by its own member, that are to lie in a shared one as well.

    `review`: ask whoever may write there instead of doing it; so does a key that may only read there.
    """

    evidence_ids: Annotated[list[UUID], Meta(min_length=1, max_length=20)]
    relationships: bool = True
    review: bool = False
    reason: Reason | None = None

    def validate(self) -> None:
        """
        Raises:
            Incorrect: an id comes twice, the target is private, or the reason has no visible character.
        """
        if len(set(self.evidence_ids)) != len(self.evidence_ids):
            raise invalid("/evidence_ids", "expected each id once")
        if self.target_space != "team_shared":
            raise invalid("/target_space", "expected team_shared: a promotion goes from the private space into a shared one")
        if self.reason is not None:
            require_visible("/reason", self.reason)


class ListPromotionsRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Promotions of the key's own member, the newest first; for an administrator also those into spaces where it may write."""

    state: PromotionState | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    before: UUID | None = None


class DecidePromotionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a request."""

    promotion_id: UUID
    decision: Literal["approve", "reject"]
    reason: Reason

    def validate(self) -> None:
        require_visible("/reason", self.reason)


class RevokePromotionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A promotion whose copies are taken back, or a request that is."""

    promotion_id: UUID
    reason: Reason

    def validate(self) -> None:
        require_visible("/reason", self.reason)
