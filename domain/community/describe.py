"""What a snapshot keeps of each community: its members in order, and by whom, by what and with which words it is described.

Nothing is worded here. A summary is made of quotes, and a quote is a support of a member: the text itself stays where it
is, so that a quote that was withdrawn since is never shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from commonlore.domain.community.detect import Cluster
from commonlore.domain.community.lineage import logical_ids, snapshot_community_id
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import CommunitySource, SourceRelationship, SourceSupport


@dataclass(frozen=True, slots=True)
class CommunityRecord:
    """One community of a snapshot. `group_keys`: its members, the most central first.

    `top_entity_ids` and `top_predicates` by the number of members that name them; ties by id, or key. More entities and quotes
    are kept than are shown, for when some may not be shown any more.
    """

    community_id: UUID
    logical_community_id: UUID
    group_keys: tuple[str, ...]
    relationship_count: int
    entity_count: int
    top_entity_ids: tuple[UUID, ...]
    top_predicates: tuple[str, ...]
    quote_support_ids: tuple[UUID, ...]


def describe(
    source: CommunitySource, clusters: Sequence[Cluster], earlier: Mapping[UUID, frozenset[str]], policy: CommunityPolicy
) -> list[CommunityRecord]:
    """A record for each cluster, in their order. `earlier`: the groups of the snapshot before, by logical id."""
    rows_of: dict[int, list[SourceRelationship]] = defaultdict(list)
    for row in source.relationships:
        rows_of[source.group_of[row.relationship_id]].append(row)
    supports_of: dict[bytes, list[SourceSupport]] = defaultdict(list)
    for support in source.supports:
        supports_of[support.relationship_id].append(support)
    keys = [tuple(source.group_keys[number] for number in cluster.groups) for cluster in clusters]
    names = logical_ids(keys, earlier, policy)
    records = []
    for cluster, members, name in zip(clusters, keys, names, strict=True):
        members_rows = [rows_of[number] for number in cluster.groups]
        entities = Counter(key for rows in members_rows for key in _entities(rows))
        predicates = Counter(rows[0].predicate_key for rows in members_rows)
        records.append(
            CommunityRecord(
                community_id=snapshot_community_id(policy.configuration, source.mark, members),
                logical_community_id=name,
                group_keys=members,
                relationship_count=sum(map(len, members_rows)),
                entity_count=len(entities),
                top_entity_ids=tuple(UUID(bytes=key) for key in _most(entities, policy.kept_entities)),
                top_predicates=tuple(_most(predicates, policy.shown_predicates)),
                quote_support_ids=_quotes(members_rows, supports_of, policy),
            )
        )
    return records


def _entities(rows: Sequence[SourceRelationship]) -> set[bytes]:
    """The ends of one group; its rows mean the same."""
    first = rows[0]
    return {first.subject_entity_id, *([first.object_entity_id] if first.object_entity_id is not None else [])}


def _most(counts: Counter[Any], most: int) -> list[Any]:
    return sorted(counts, key=lambda key: (-counts[key], key))[:most]


def _quotes(
    members: Sequence[Sequence[SourceRelationship]], supports_of: Mapping[bytes, Sequence[SourceSupport]], policy: CommunityPolicy
) -> tuple[UUID, ...]:
    """One quote a member, the most central first, no text twice; a quote that is too long is passed over, never cut."""
    chosen: list[UUID] = []
    texts: set[bytes] = set()
    for rows in members:
        fitting = (
            support
            for row in rows
            for support in supports_of[row.relationship_id]
            if 0 < support.quote_chars <= policy.quote_chars and support.evidence_id not in texts
        )
        support = next(fitting, None)
        if support is not None:
            texts.add(support.evidence_id)
            chosen.append(UUID(bytes=support.support_id))
            if len(chosen) == policy.kept_quotes:
                break
    return tuple(chosen)
