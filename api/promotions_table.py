"""The operations on promotions, as rows of the table of tools, with what they answer. None is in the list that agents read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from commonlore.api.fields import Id
from commonlore.domain.promote.request import (
    DecidePromotionRequest,
    ListPromotionsRequest,
    PromoteRequest,
    PromotionState,
    RevokePromotionRequest,
)
from commonlore.domain.tenancy.actor import Scope


class PromotedText(TypedDict):
    """One text of a promotion. `evidence_id`: its copy, null while a request waits."""

    source_evidence_id: Id
    evidence_id: Id | None
    promotion_id: Id
    disposition: Literal["promoted", "already_promoted", "requested", "already_requested"]


class PromotionAnswer(TypedDict):
    """What became of the texts, in the order of the request. `promotion_id` is that of this call, null where everything stood already."""

    promotion_id: Id | None
    state: Literal["promoted", "requested"]
    space_kind: Literal["team_shared"]
    space: str | None
    evidence: list[PromotedText]
    relationship_results: list[dict[str, Any]]
    warnings: list[str]


class ListedText(TypedDict):
    """One text; `content` is there for those who may decide a request that waits, and for its owner."""

    source_evidence_id: Id
    evidence_id: Id | None
    content: str | None


class ListedPromotion(TypedDict):
    """Who promoted what, when, and what became of it."""

    promotion_id: Id
    state: PromotionState
    owner_profile_id: Id
    owner_name: str
    space: str | None
    reason: str | None
    requested_at: str
    expires_at: str | None
    decided_by_profile_id: Id | None
    decided_at: str | None
    decision_reason: str | None
    revoked_by_profile_id: Id | None
    revoked_at: str | None
    revocation_reason: str | None
    evidence: list[ListedText]


class PromotionList(TypedDict):
    """Promotions, the newest first. Send `next_before` as `before` to read on."""

    promotions: list[ListedPromotion]
    next_before: Id | None


class PromotionDecision(TypedDict):
    """What a request became."""

    promotion_id: Id
    state: Literal["promoted", "rejected"]
    evidence: list[PromotedText]
    relationship_results: list[dict[str, Any]]
    warnings: list[str]


class Revocation(TypedDict):
    """`withdrawn`: how many copies ended with it."""

    promotion_id: Id
    state: Literal["revoked"]
    withdrawn: int


_ID = "01982f00-0000-7000-8000-000000000001"
PromotionRequest = type[PromoteRequest] | type[ListPromotionsRequest] | type[DecidePromotionRequest] | type[RevokePromotionRequest]

# Name, title, description, request, result, scope, (read-only, destructive, idempotent), example.
PROMOTIONS: tuple[tuple[str, str, str, PromotionRequest, type[Any], Scope, tuple[bool, bool, bool], Mapping[str, object]], ...] = (
    (
        "promote_evidence",
        "Promote private texts",
        (
            "Copy texts of the key's private space into a shared one, word for word and as its own member's, with what they state said anew there. "
            "A key that may only read there, or `review`, asks those who may write instead. The originals stay; the same again changes nothing."
        ),
        PromoteRequest,
        PromotionAnswer,
        "write",
        (False, False, True),
        {"evidence_ids": [_ID], "reason": "useful to everybody"},
    ),
    (
        "list_promotions",
        "List promotions",
        "Those of the key's own member; for an administrator also those into spaces where it may write, with the texts of requests that wait.",
        ListPromotionsRequest,
        PromotionList,
        "read",
        (True, False, True),
        {"state": "requested"},
    ),
    (
        "decide_promotion",
        "Decide a request for a promotion",
        "Approve it, which copies the texts as they are, or reject it. The key needs the scope admin and write access to the space. A request runs out in 14 days.",
        DecidePromotionRequest,
        PromotionDecision,
        "admin",
        (False, False, False),
        {"promotion_id": _ID, "decision": "approve", "reason": "belongs to the handbook"},
    ),
    (
        "revoke_promotion",
        "Take a promotion back",
        "Withdraws the copies and what only they support; the originals stay. For the owner, and for administrators who may write in the space.",
        RevokePromotionRequest,
        Revocation,
        "write",
        (False, True, True),
        {"promotion_id": _ID, "reason": "not meant for everybody"},
    ),
)
