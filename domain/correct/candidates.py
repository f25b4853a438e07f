"""Entities that may be one and the same, by rules that anyone can check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from commonlore.domain.text.normalise import fold

Rule = Literal["same_name", "near_name"]


@dataclass(frozen=True, slots=True)
class CurrentName:
    """A name that an active entity carries now."""

    entity_id: UUID
    entity_kind: str
    name: str
    name_key: str
    is_canonical: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two entities, the earlier one first, and why they may be one."""

    first: CurrentName
    second: CurrentName
    rule: Rule

    @property
    def place(self) -> tuple[UUID, UUID]:
        return self.first.entity_id, self.second.entity_id


def loose_key(name: str) -> str:
    """Letters and digits of the folded name: Dense-Mem, dense mem and DenseMem are near to each other, so are Zoé and Zoe."""
    return "".join(char for char in fold(name) if char.isalnum())


def merge_candidates(names: Iterable[CurrentName]) -> list[Candidate]:
    """Pairs by id. `same_name`: one name, another kind. `near_name`: names that differ in accents, blanks and marks only, where the
    kinds are the same or one is `other`.
    """
    by_loose: dict[str, list[CurrentName]] = defaultdict(list)
    for name in names:
        if key := loose_key(name.name):
            by_loose[key].append(name)
    found: dict[tuple[UUID, UUID], Candidate] = {}
    for group in by_loose.values():
        for candidate in _pairs(sorted(group, key=lambda name: (name.entity_id, not name.is_canonical, name.name_key))):
            known = found.get(candidate.place)
            if known is None or (known.rule, candidate.rule) == ("near_name", "same_name"):
                found[candidate.place] = candidate
    return [found[place] for place in sorted(found)]


def _pairs(group: Sequence[CurrentName]) -> Iterable[Candidate]:
    for place, first in enumerate(group):
        for second in group[place + 1 :]:
            if first.entity_id == second.entity_id:
                continue
            if first.name_key == second.name_key:
                yield Candidate(first, second, "same_name")
            elif first.entity_kind == second.entity_kind or "other" in (first.entity_kind, second.entity_kind):
                yield Candidate(first, second, "near_name")
