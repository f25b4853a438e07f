"""Relationships of equal meaning take one slot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from commonlore.domain.recall.fusion import fuse


class RelationshipHit(NamedTuple):
    """An eligible relationship in a branch."""

    relationship_id: UUID
    semantic_group_key: str
    known_from: datetime


def rank_groups(lexical: Sequence[RelationshipHit], vector: Sequence[RelationshipHit]) -> list[str]:
    """Semantic groups, best first, each ranked by its best member.

    Members by equal-weight RRF; ties: best single rank, earliest creation, id.

    Source: ranking page, "Lexical and vector fusion" and "Semantic grouping".
    """
    hits = {hit.relationship_id.int: hit for hit in (*lexical, *vector)}
    fused = fuse([[hit.relationship_id.int for hit in lexical], [hit.relationship_id.int for hit in vector]])
    order = sorted((-found.score, found.best_rank, hits[key].known_from, key) for key, found in fused.items())
    return list(dict.fromkeys(hits[key].semantic_group_key for *_, key in order))
