"""The graph of groups: the published weights, hubs, and independence of the order of rows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from commonlore.domain.community.graph import SharedGraph, build_graph
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.community.source import CommunitySource, SourceRelationship, SourceSupport

POLICY = CommunityPolicy()


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def a_relationship(number: int, subject: int, target: int | None = None, *, value: int | None = None, group: int | None = None) -> SourceRelationship:
    """Group `group`, by default of its own; entities and values by number."""
    name = f"sg:{number if group is None else group:064x}"
    return SourceRelationship(key(number), name, key(subject), "p", None if target is None else key(target), None if value is None else key(value))


def a_support(relationship: int, evidence: int, *, number: int | None = None, chars: int = 20) -> SourceSupport:
    return SourceSupport(key(relationship), key(evidence), key(10_000 * relationship + evidence if number is None else number), chars)


def a_source(relationships: list[SourceRelationship], supports: list[SourceSupport] | None = None, mark: bytes = b"m" * 32) -> CommunitySource:
    return CommunitySource.of(mark, relationships, supports or [])


def test_the_published_weights() -> None:
    """dense-mem 30: one evidence of two groups, a subject of five and a value of two give 2 + 1/4 + 1; the evidence of three gives 1."""
    rows = [a_relationship(n, subject=100, value=500 if n < 2 else 600 + n) for n in range(5)]
    rows += [a_relationship(n, subject=200 + n, target=300 + n) for n in (5, 6, 7)]
    graph = build_graph(a_source(rows, [a_support(0, 1), a_support(1, 1), *[a_support(n, 2) for n in (5, 6, 7)]]), POLICY)

    assert (3.25, 0.25, 1.0) == (graph.weight_between(0, 1), graph.weight_between(0, 2), graph.weight_between(5, 6))
    assert 0.0 == graph.weight_between(0, 5)
    assert 10 + 3 == graph.ties


def test_a_group_counts_once_for_an_item_however_often_it_holds_it() -> None:
    """Two authors of one statement, both ends the same entity, two quotes of one text."""
    rows = [a_relationship(1, 7, 7, group=1), a_relationship(2, 7, 7, group=1), a_relationship(3, 7, 8)]
    graph = build_graph(a_source(rows, [a_support(1, 5), a_support(2, 5), a_support(1, 5, number=99), a_support(3, 5)]), POLICY)

    assert (2, 1, 3.0) == (graph.groups, graph.ties, graph.weight_between(0, 1))


@pytest.mark.parametrize("holders", [POLICY.clique_limit, POLICY.clique_limit + 1, 100_000])
def test_every_group_gets_the_weight_of_an_item_once_however_many_share_it(holders: int) -> None:
    """A hub costs one tie a group, and not its square: 100,000 edges of one entity are 100,000 ties."""
    graph = build_graph(a_source([a_relationship(n, 0, 1 + n) for n in range(holders)]), POLICY)
    strengths = np.add.reduceat(graph.weights[: graph.row_starts[holders]], graph.row_starts[:holders])

    assert np.allclose(strengths, 1.0)
    assert graph.ties == (holders * (holders - 1) // 2 if holders <= POLICY.clique_limit else holders)


def arrays(graph: SharedGraph) -> tuple[bytes, bytes, bytes]:
    return graph.row_starts.tobytes(), graph.neighbours.tobytes(), graph.weights.tobytes()


def test_the_order_of_rows_changes_no_byte() -> None:
    numbers = random.Random(4)
    rows = [a_relationship(n, numbers.randrange(60), 1000 + numbers.randrange(60)) for n in range(400)]
    supports = [a_support(n, numbers.randrange(150), number=n) for n in range(400)]
    first = arrays(build_graph(a_source(rows, supports), POLICY))
    for _ in range(3):
        numbers.shuffle(rows)
        numbers.shuffle(supports)

        assert first == arrays(build_graph(a_source(rows, supports), POLICY))


def test_a_part_of_the_graph_keeps_its_ties() -> None:
    graph = build_graph(a_source([a_relationship(n, n // 2, 50) for n in range(6)]), POLICY)
    part = graph.among(np.array([0, 1, 4], dtype=np.int64))

    assert (3, 3) == (part.nodes, part.ties)
    assert (graph.weight_between(0, 1), graph.weight_between(0, 4)) == (part.weight_between(0, 1), part.weight_between(0, 2))


def test_nothing_shared_is_no_tie() -> None:
    assert 0 == build_graph(a_source([]), POLICY).ties == build_graph(a_source([a_relationship(1, 1, 2), a_relationship(2, 3, 4)]), POLICY).ties
