"""Relationships of equal meaning take one slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonlore.domain.recall.fusion import fuse


@dataclass(frozen=True, slots=True)
class RelationshipHit:
    """An eligible relationship in a branch."""

    relationship_id: UUID
    semantic_group_key: str
    known_from: datetime


def rank_groups(lexical: Sequence[RelationshipHit], vector: Sequence[RelationshipHit]) -> list[str]:
    """Semantic groups, best first, each ranked by its best member.

    Members by equal-weight RRF; ties: best single rank, earliest creation, id.

    Source: ranking page, "Lexical and vector fusion" and "Semantic grouping".
    """
    hits = {hit.relationship_id: hit for hit in (*lexical, *vector)}
    fused = fuse([[hit.relationship_id for hit in lexical], [hit.relationship_id for hit in vector]])
    order = sorted(fused, key=lambda key: (-fused[key].score, fused[key].best_rank, hits[key].known_from, key.int))
    return list(dict.fromkeys(hits[key].semantic_group_key for key in order))
