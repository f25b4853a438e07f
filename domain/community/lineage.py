"""Logical identity: a community that is mostly what an earlier one was keeps its name across snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID, uuid5

from commonlore.domain.community.policy import CommunityPolicy

_NAMESPACE = UUID(int=0)


def logical_ids(clusters: Sequence[Sequence[str]], earlier: Mapping[UUID, frozenset[str]], policy: CommunityPolicy) -> list[UUID]:
    """One id a cluster, in their order; `clusters` are semantic group keys, `earlier` those of the snapshot before.

    The earlier community whose overlap with the cluster (Jaccard) is at least `kept_overlap` hundredths gives its id: there is
    one at most, since more than half of two communities cannot lie in one. A new community is named after its groups.

    Source: dense-mem 4 and 11.2.
    """
    owner = {key: name for name, keys in earlier.items() for key in keys}
    kept: list[UUID | None] = []
    for cluster in clusters:
        shared = Counter(owner[key] for key in cluster if key in owner)
        found = [name for name, common in shared.items() if 100 * common >= policy.kept_overlap * (len(cluster) + len(earlier[name]) - common)]
        kept.append(found[0] if found else None)
    taken = {name for name in kept if name is not None}
    names = []
    for cluster, name in zip(clusters, kept, strict=True):
        made = name or _named_after(cluster, taken)
        taken.add(made)
        names.append(made)
    return names


def snapshot_community_id(configuration: str, mark: bytes, cluster: Sequence[str]) -> UUID:
    """The id of one community in one snapshot: the same source, configuration and groups give the same id."""
    return uuid5(_NAMESPACE, "\0".join((configuration, mark.hex(), *sorted(cluster))))


def _named_after(cluster: Sequence[str], taken: set[UUID]) -> UUID:
    """`taken` holds the name already where an earlier community kept it and became another one since."""
    text = "\0".join(sorted(cluster))
    name = uuid5(_NAMESPACE, text)
    while name in taken:
        text += "\0"
        name = uuid5(_NAMESPACE, text)
    return name
