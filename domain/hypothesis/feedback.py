"""What people and agents say of a hypothesis, and the request by which a confirmed one is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from commonlore.domain.errors import Conflict
from commonlore.domain.hypothesis.request import Decision, HypothesisStatus, ResolveDreamRequest
from commonlore.domain.remember.request import EntityProposal, ObjectProposal, PredicateProposal, RelationshipProposal, RememberRequest
from commonlore.domain.tenancy.actor import Space

LIVE: frozenset[HypothesisStatus] = frozenset(("proposed", "reinforced"))
_BECOMES: dict[Decision, HypothesisStatus] = {
    "reinforce": "reinforced",
    "stale": "stale",
    "reject": "rejected",
    "confirm_true": "submitted",
    "confirm_false": "submitted",
}
Disposition = Literal["changed", "unchanged", "not_stored"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A hypothesis as a decision finds it."""

    hypothesis_id: UUID
    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID
    scope_key: str | None
    status: HypothesisStatus
    version: int


def becomes(standing: Standing, decision: Decision) -> HypothesisStatus | None:
    """The state after the decision; None where it stands so already.

    Raises:
        Conflict: `stale_input`, it is over otherwise.
    """
    after = _BECOMES[decision]
    if standing.status in LIVE and standing.status != after:
        return after
    if standing.status == after:
        return None
    raise Conflict("stale_input", f"the hypothesis is over: {standing.status}", details={"status": standing.status, "version": standing.version})


def confirmation(standing: Standing, request: ResolveDreamRequest, space: Space) -> RememberRequest:
    """The texts, with what the hypothesis says read in all of them; or the relationships that the caller reads in them."""
    said = RelationshipProposal(
        ref="hypothesis",
        subject=EntityProposal(known_entity_id=standing.subject_entity_id),
        predicate=PredicateProposal(known_predicate_key=standing.predicate_key),
        object=ObjectProposal(entity=EntityProposal(known_entity_id=standing.object_entity_id)),
        polarity="+" if request.decision == "confirm_true" else "-",
        evidence_indices=list(range(len(request.evidence))),
        scope=standing.scope_key,
        client_comment=request.reason,
    )
    return RememberRequest(
        evidence=request.evidence,
        relationships=request.relationships or [said],
        target_space=space.public_kind,
        space=space.name,
        idempotency_key=request.idempotency_key,
    )
