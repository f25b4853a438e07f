"""Detection: Leiden over the graph of groups, with a fixed seed and a fixed order of nodes."""

from __future__ import annotations

from dataclasses import dataclass

import graspologic_native
import numpy as np

from commonlore.domain.community.graph import SharedGraph
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import Numbers


@dataclass(frozen=True, slots=True)
class Cluster:
    """Groups that belong together, by their numbers: the most central first, ties by number.

    Central: whoever has the strongest ties into the cluster.
    """

    groups: tuple[int, ...]


def detect(graph: SharedGraph, policy: CommunityPolicy) -> list[Cluster]:
    """Clusters of at least `least_groups` groups: the largest first, then by the lowest number. A group is in one at most.

    Releases the interpreter while it computes, and is bounded by `most_sweeps`.

    Source: Traag, Waltman and van Eck 2019, through graspologic-native; Fortunato and Barthelemy 2007 for why large
    clusters are looked at again.
    """
    cluster_of = np.arange(graph.nodes, dtype=np.int64)
    if graph.ties:
        cluster_of = _split_large(graph, _leiden(graph, policy), policy)
    strength = _strength_inside(graph, cluster_of)
    members = cluster_of[: graph.groups]
    order = np.lexsort((np.arange(graph.groups), -strength[: graph.groups], members))
    bounds = np.flatnonzero(np.diff(members[order])) + 1
    clusters = [Cluster(tuple(part.tolist())) for part in np.split(order, bounds) if len(part) >= policy.least_groups]
    return sorted(clusters, key=lambda cluster: (-len(cluster.groups), min(cluster.groups)))


def _leiden(graph: SharedGraph, policy: CommunityPolicy) -> Numbers:
    """The cluster of each node. A node without a tie has one of its own."""
    _, assigned = graspologic_native.leiden_csr(
        graph.row_starts,
        graph.neighbours,
        graph.weights,
        graph.nodes,
        resolution=policy.resolution,
        seed=policy.seed,
        max_local_moving_iterations=policy.most_sweeps,
    )
    cluster_of = np.arange(graph.nodes, dtype=np.int64) + graph.nodes
    for node, number in assigned.items():
        cluster_of[node] = number
    return cluster_of


def _split_large(graph: SharedGraph, cluster_of: Numbers, policy: CommunityPolicy) -> Numbers:
    """Split clusters of more than `split_above` nodes until they are small or hold together."""
    fresh = 2 * graph.nodes
    waiting = [part for part in _parts(cluster_of) if len(part) > policy.split_above]
    while waiting:
        nodes = waiting.pop()
        pieces = _parts(_leiden(graph.among(nodes), policy))
        if len(pieces) == 1:
            continue
        for piece in pieces:
            cluster_of[nodes[piece]] = fresh
            fresh += 1
            if len(piece) > policy.split_above:
                waiting.append(nodes[piece])
    return cluster_of


def _parts(cluster_of: Numbers) -> list[Numbers]:
    """The nodes of each cluster, ascending; clusters by their number."""
    order = np.argsort(cluster_of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(cluster_of[order])) + 1)


def _strength_inside(graph: SharedGraph, cluster_of: Numbers) -> Numbers:
    """The sum of each node's ties inside its cluster, in millionths, so that no rounding decides an order."""
    rows = np.repeat(np.arange(graph.nodes), np.diff(graph.row_starts))
    inside = cluster_of[rows] == cluster_of[graph.neighbours]
    sums = np.bincount(rows[inside], weights=graph.weights[inside], minlength=graph.nodes)
    return np.rint(sums * 1_000_000).astype(np.int64)
