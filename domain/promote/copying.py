"""What a promotion stores in the target space: the private texts word for word, and what their owner states from them, said anew.

Nothing of the private space is referred to: names are resolved, and keys made, by the line that remembers (decisions.md 14).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from commonlore.domain.errors import Conflict, NotVisible
from commonlore.domain.promote.request import PromotionState
from commonlore.domain.remember.request import (
    EntityKind,
    EntityProposal,
    EvidenceProposal,
    ObjectProposal,
    Polarity,
    PredicateProposal,
    RelationshipProposal,
    RememberRequest,
    ValueProposal,
    ValueType,
)
from commonlore.domain.tenancy.actor import Space
from commonlore.domain.time import render_instant

MOST_RELATIONSHIPS = 200


@dataclass(frozen=True, slots=True)
class PrivateText:
    """One text of the private space. `withdrawn`: why it does not count any more."""

    evidence_id: UUID
    owner_profile_id: UUID
    proposal: EvidenceProposal
    withdrawn: str | None

    @property
    def state(self) -> tuple[UUID, str | None]:
        return self.owner_profile_id, self.withdrawn


@dataclass(frozen=True, slots=True)
class PrivateStatement:
    """An active relationship of the same owner that rests on some of the texts."""

    relationship_id: UUID
    evidence_ids: tuple[UUID, ...]
    subject: tuple[str, str]
    predicate_key: str
    target: tuple[str, str] | None
    value: dict[str, Any] | None
    polarity: str
    scope: str | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class Copies:
    """What is to be copied for whom, and from where."""

    owner_profile_id: UUID
    source: Space
    target: Space
    texts: tuple[PrivateText, ...]
    statements: tuple[PrivateStatement, ...]

    def request(self) -> RememberRequest:
        """As `remember` takes it: every text a copy of its own, so that taking it back touches nothing else."""
        places = {text.evidence_id: index for index, text in enumerate(self.texts)}
        return RememberRequest(
            evidence=[text.proposal for text in self.texts],
            relationships=[_proposal(f"r{index}", item, places) for index, item in enumerate(self.statements)],
            target_space="team_shared",
            space=self.target.name,
        )


def require_own(evidence_ids: Sequence[UUID], found: Mapping[UUID, tuple[UUID, str | None]], owner_profile_id: UUID) -> None:
    """`found`: by text, its owner, and why it does not count any more.

    Raises:
        NotVisible: an id that is no text of the owner in its private space.
        Conflict: `stale_input`, a text that does not count any more.
    """
    for place, key in enumerate(evidence_ids):
        owner, withdrawn = found.get(key, (None, None))
        if owner != owner_profile_id or withdrawn == "erased":
            raise NotVisible("not_found", f"/evidence_ids/{place}: no text of your member in the private space of this key has this id")
        if withdrawn is not None:
            raise Conflict("stale_input", f"/evidence_ids/{place}: the text does not count any more", details={"reason": withdrawn})


def state_of(state: str, expires_at: datetime | None, now: datetime) -> PromotionState:
    """A request that nobody decided in time has expired."""
    if state == "requested" and expires_at is not None and expires_at <= now:
        return "expired"
    return cast(PromotionState, state)


def _proposal(ref: str, item: PrivateStatement, places: dict[UUID, int]) -> RelationshipProposal:
    return RelationshipProposal(
        ref=ref,
        subject=_entity(item.subject),
        predicate=PredicateProposal(proposed_key=item.predicate_key),
        object=ObjectProposal(entity=_entity(item.target)) if item.target is not None else ObjectProposal(value=_value(item.value or {})),
        polarity=cast(Polarity, item.polarity),
        evidence_indices=sorted(places[key] for key in item.evidence_ids),
        scope=item.scope,
        valid_from=None if item.valid_from is None else render_instant(item.valid_from),
        valid_to=None if item.valid_to is None else render_instant(item.valid_to),
    )


def _entity(named: tuple[str, str]) -> EntityProposal:
    return EntityProposal(name=named[0], entity_kind=cast(EntityKind, named[1]))


def _value(row: dict[str, Any]) -> ValueProposal:
    kind, text = cast(ValueType, row["value_type"]), row["canonical_value"]
    value: str | int | float | bool = text
    if kind == "boolean":
        value = text == "true"
    elif kind == "number":
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    return ValueProposal(type=kind, value=value, display=row["display"], unit=row["unit"])
