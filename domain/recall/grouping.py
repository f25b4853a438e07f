"""Relationships of equal meaning take one slot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from commonlore.domain.recall.fusion import fuse


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
    # Whole numbers, not UUIDs, as keys: their hash costs a tenth.
    words, near = [hit[0].int for hit in lexical], [hit[0].int for hit in vector]
    hits = dict(zip(words, lexical, strict=True)) | dict(zip(near, vector, strict=True))
    fused = fuse([words, near])
    order = sorted([(-score, rank, hits[key][2], key) for key, (score, rank) in fused.items()])
    return list(dict.fromkeys([hits[entry[3]][1] for entry in order]))
