"""Relationships of equal meaning take one slot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from commonlore.domain.policy import RRF_K


class RelationshipHit(NamedTuple):
    """An eligible relationship in a branch; a plain row of the same three columns serves as well."""

    relationship_id: UUID
    semantic_group_key: str
    known_from: datetime


def rank_groups(lexical: Sequence[RelationshipHit], vector: Sequence[RelationshipHit]) -> list[str]:
    """Semantic groups, best first, each ranked by its best member.

    Members by equal-weight RRF; ties: best single rank, earliest creation, id.

    Source: ranking page, "Lexical and vector fusion" and "Semantic grouping".
    """
    # One pass over hundreds of rows; whole numbers as keys, since a UUID's hash costs more than all the rest.
    found: dict[int, tuple[float, int, datetime, str]] = {}
    for branch in (lexical, vector):
        for rank, (key, group, known_from) in enumerate(branch, start=1):
            gained, other = 1.0 / (RRF_K + rank), found.get(key.int)
            best = (gained, rank) if other is None else (other[0] + gained, min(other[1], rank))
            found[key.int] = (*best, known_from, group)
    order = sorted([(-score, rank, known_from, key, group) for key, (score, rank, known_from, group) in found.items()])
    return list(dict.fromkeys([group for *_, group in order]))
