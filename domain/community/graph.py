"""The graph of semantic groups: who shares evidence, entities and values with whom, and how closely.

An item shared by n groups ties each of them to each other with weight / (n - 1), so that every group gets the whole weight
once, however many share it. Above `clique_limit` groups the item becomes a node of its own that ties to each of them with
the whole weight: the same strength for every group and n ties instead of n (n - 1) / 2.

Source: dense-mem 11.1 for the weights; 19.15 for why a hub must not end the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import CommunitySource, Ids, Numbers

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SharedGraph:
    """Undirected, both directions stored, rows sorted: the arrays of a compressed sparse row matrix.

    The first `groups` nodes are semantic groups by their numbers; the others stand for items that many groups share.
    """

    groups: int
    nodes: int
    row_starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: Weights

    @property
    def ties(self) -> int:
        return len(self.neighbours) // 2

    def weight_between(self, first: int, second: int) -> float:
        """0 where there is no tie."""
        row = self.neighbours[self.row_starts[first] : self.row_starts[first + 1]]
        place = int(np.searchsorted(row, second))
        found = place < len(row) and row[place] == second
        return float(self.weights[self.row_starts[first] + place]) if found else 0.0

    def among(self, nodes: Numbers) -> SharedGraph:
        """The graph of some nodes alone, numbered by their places in `nodes`, which ascends."""
        place = np.full(self.nodes, -1, dtype=np.int64)
        place[nodes] = np.arange(len(nodes))
        lengths = self.row_starts[nodes + 1] - self.row_starts[nodes]
        rows = np.repeat(np.arange(len(nodes)), lengths)
        begins = np.cumsum(lengths) - lengths
        taken = np.arange(int(lengths.sum())) - np.repeat(begins - self.row_starts[nodes], lengths)
        columns = place[self.neighbours[taken]]
        kept = columns >= 0
        starts = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows[kept], minlength=len(nodes)), out=starts[1:])
        return SharedGraph(len(nodes), len(nodes), starts, columns[kept].astype(np.int32), self.weights[taken[kept]])


def build_graph(source: CommunitySource, policy: CommunityPolicy) -> SharedGraph:
    """The same arrays for the same relationships, in whatever order they were read."""
    groups = len(source.group_keys)
    nodes = groups
    firsts: list[Numbers] = []
    seconds: list[Numbers] = []
    weights: list[Weights] = []
    for (items, holders), weight in zip(source.holdings(), (policy.evidence_weight, policy.entity_weight, policy.value_weight), strict=True):
        numbers, holding = _distinct(items, holders, groups)
        counts = np.bincount(numbers) if len(numbers) else np.empty(0, dtype=np.int64)
        shared_by = counts[numbers] if len(numbers) else counts
        small = (shared_by > 1) & (shared_by <= policy.clique_limit)
        for step in range(1, policy.clique_limit):
            same = small[:-step] & (numbers[:-step] == numbers[step:]) if step < len(numbers) else np.zeros(0, dtype=bool)
            firsts.append(holding[:-step][same])
            seconds.append(holding[step:][same])
            weights.append(weight / (shared_by[:-step][same] - 1))
        large = shared_by > policy.clique_limit
        hubs, hub_of = np.unique(numbers[large], return_inverse=True)
        firsts.append(holding[large])
        seconds.append(nodes + hub_of.astype(np.int64))
        weights.append(np.full(int(large.sum()), weight))
        nodes += len(hubs)
    return _compress(groups, nodes, np.concatenate(firsts), np.concatenate(seconds), np.concatenate(weights))


def _distinct(items: Ids, holders: Numbers, groups: int) -> tuple[Numbers, Numbers]:
    """Each pair once, as item numbers and groups, by item, then group."""
    _, numbers = np.unique(items, return_inverse=True)
    pairs = np.unique(numbers.astype(np.int64) * max(groups, 1) + holders)
    return pairs // max(groups, 1), pairs % max(groups, 1)


def _compress(groups: int, nodes: int, firsts: Numbers, seconds: Numbers, weights: Weights) -> SharedGraph:
    """Add up what ties the same two nodes; the sums are taken in one fixed order."""
    lower, upper = np.minimum(firsts, seconds), np.maximum(firsts, seconds)
    pairs, places = np.unique(lower * max(nodes, 1) + upper, return_inverse=True)
    sums = np.bincount(places, weights=weights, minlength=len(pairs)) if len(pairs) else np.empty(0)
    lower, upper = pairs // max(nodes, 1), pairs % max(nodes, 1)
    rows, columns, values = np.concatenate((lower, upper)), np.concatenate((upper, lower)), np.concatenate((sums, sums))
    order = np.lexsort((columns, rows))
    starts = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=nodes), out=starts[1:])
    return SharedGraph(groups, nodes, starts, columns[order].astype(np.int32), np.ascontiguousarray(values[order], dtype=np.float64))
