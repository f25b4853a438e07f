"""The relationships that a snapshot is made from, in an order that does not depend on who read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.bytes_]
Numbers = NDArray[np.int64]


class SourceRelationship(NamedTuple):
    """An eligible relationship. Ids are the sixteen bytes of a uuid; one of the objects is None."""

    relationship_id: bytes
    semantic_group_key: str
    subject_entity_id: bytes
    predicate_key: str
    object_entity_id: bytes | None
    object_value_id: bytes | None


class SourceSupport(NamedTuple):
    """An effective support of an eligible relationship; `quote_chars` is the length of its quote in code points."""

    relationship_id: bytes
    evidence_id: bytes
    support_id: bytes
    quote_chars: int


@dataclass(frozen=True)
class CommunitySource:
    """The input of one run. Rows may come in any order; what is made of them does not depend on it.

    `mark` tells one state of the space's relationships from every other.
    """

    mark: bytes
    relationships: tuple[SourceRelationship, ...]
    supports: tuple[SourceSupport, ...]

    @staticmethod
    def of(mark: bytes, relationships: Iterable[SourceRelationship], supports: Iterable[SourceSupport]) -> CommunitySource:
        return CommunitySource(mark, tuple(sorted(relationships, key=_by_id)), tuple(sorted(supports, key=_by_support)))

    @cached_property
    def group_keys(self) -> tuple[str, ...]:
        """Every semantic group once, sorted; its place is its number."""
        return tuple(sorted({row.semantic_group_key for row in self.relationships}))

    @cached_property
    def group_of(self) -> dict[bytes, int]:
        """The number of each relationship's group."""
        numbers = {key: number for number, key in enumerate(self.group_keys)}
        return {row.relationship_id: numbers[row.semantic_group_key] for row in self.relationships}

    def holdings(self) -> tuple[tuple[Ids, Numbers], tuple[Ids, Numbers], tuple[Ids, Numbers]]:
        """Evidence, entities and values, each with the group that holds it; pairs may repeat."""
        groups = self.group_of
        evidence = [(row.evidence_id, groups[row.relationship_id]) for row in self.supports if row.relationship_id in groups]
        subjects = [(row.subject_entity_id, groups[row.relationship_id]) for row in self.relationships]
        objects = [(row.object_entity_id, groups[row.relationship_id]) for row in self.relationships if row.object_entity_id is not None]
        values = [(row.object_value_id, groups[row.relationship_id]) for row in self.relationships if row.object_value_id is not None]
        return _columns(evidence), _columns(subjects + objects), _columns(values)


def _by_id(row: SourceRelationship) -> bytes:
    return row.relationship_id


def _by_support(row: SourceSupport) -> bytes:
    return row.support_id


def _columns(pairs: list[tuple[bytes, int]]) -> tuple[Ids, Numbers]:
    items = np.frombuffer(b"".join(item for item, _ in pairs), dtype="S16") if pairs else np.empty(0, dtype="S16")
    return items, np.fromiter((group for _, group in pairs), dtype=np.int64, count=len(pairs))
