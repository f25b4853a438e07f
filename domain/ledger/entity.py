"""Which entity a name means, inside one space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An active entity that carries the name asked for, canonical or alias."""

    entity_id: UUID
    entity_kind: str
    canonical_name: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """`reuse` has the entity, `create` and `ambiguous` have none."""

    action: Literal["reuse", "create", "ambiguous"]
    entity: NamedEntity | None = None


def resolve(entity_kind: str, candidates: Sequence[NamedEntity]) -> Resolution:
    """One match by kind reuses it, several are ambiguous, none creates. `other` matches any kind, on both sides.

    An entity of exactly the asked kind comes before one of kind `other`.

    Source: decisions.md 14.
    """
    distinct = {candidate.entity_id: candidate for candidate in candidates}.values()
    exact = [candidate for candidate in distinct if candidate.entity_kind == entity_kind]
    loose = [candidate for candidate in distinct if "other" in (candidate.entity_kind, entity_kind)]
    for matches in (exact, loose) if entity_kind != "other" else (list(distinct),):
        if len(matches) == 1:
            return Resolution("reuse", matches[0])
        if matches:
            return Resolution("ambiguous")
    return Resolution("create")
