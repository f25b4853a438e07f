"""What hypotheses of one space are made from, in an order that does not depend on who read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID


class Premise(NamedTuple):
    """A relationship that counts now. `object_entity_id` is None where its object is a value.

    `is_lasting`: it has begun and nobody said that it ended. What ended is known and is no premise.
    """

    relationship_id: UUID
    version: int
    semantic_group_key: str
    subject_entity_id: UUID
    predicate_key: str
    object_entity_id: UUID | None
    polarity: str
    scope_key: str | None
    source_groups: int
    is_lasting: bool = True


@dataclass(frozen=True, slots=True)
class HypothesisSource:
    """`kinds`: of every entity. `assessed`: targets, and contents, that a hypothesis had before and may not have again.

    `covered`: in how many present hypotheses an entity is.
    """

    premises: tuple[Premise, ...]
    kinds: Mapping[UUID, str] = field(default_factory=dict)
    assessed: AbstractSet[bytes] = frozenset()
    covered: Mapping[UUID, int] = field(default_factory=dict)

    @staticmethod
    def of(
        premises: Iterable[Premise],
        kinds: Mapping[UUID, str],
        *,
        assessed: AbstractSet[bytes] = frozenset(),
        covered: Mapping[UUID, int] | None = None,
    ) -> HypothesisSource:
        return HypothesisSource(tuple(sorted(premises, key=_by_id)), kinds, assessed, covered or {})


def _by_id(premise: Premise) -> UUID:
    return premise.relationship_id
