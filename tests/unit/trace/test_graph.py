"""Walking from edge to edge: cycles end, hubs are bounded, a topic filters."""

from __future__ import annotations

from uuid import UUID

import pytest

from commonlore.domain.trace.graph import Edge, Node, Walk, relevance, relevant

_NAMES = {1: "zinnia", 2: "quartz"}


def a_node(number: int, kind: str = "person") -> Node:
    return Node(UUID(int=number), _NAMES.get(number, "node"), kind)


def an_edge(number: int, subject: int, target: int, *, predicate: str = "likes", value: bool = False) -> Edge:
    return Edge(UUID(int=1000 + number), a_node(subject), predicate, a_node(target, "value" if value else "person"), "+", 1)


def test_a_cycle_is_walked_once() -> None:
    walk = Walk(10)
    first = walk.take([an_edge(1, 1, 2), an_edge(2, 2, 3), an_edge(3, 3, 1)])

    assert [UUID(int=1), UUID(int=2), UUID(int=3)] == first
    assert [] == walk.take([an_edge(1, 1, 2), an_edge(3, 3, 1), an_edge(4, 1, 1)])
    assert 4 == len(walk.edges)
    assert "exhausted" == walk.stopped_reason


def test_a_hub_stops_at_the_bound_and_says_so() -> None:
    walk = Walk(3)
    fresh = walk.take([an_edge(number, 1, 10 + number) for number in range(1000)])

    assert (3, 0, "max_edges") == (len(walk.edges), walk.room, walk.stopped_reason)
    assert [UUID(int=1), UUID(int=10), UUID(int=11), UUID(int=12)] == fresh


def test_the_bound_met_exactly_is_no_stop() -> None:
    walk = Walk(2)
    walk.take([an_edge(1, 1, 2), an_edge(2, 2, 3)])

    assert "exhausted" == walk.stopped_reason


def test_a_value_is_shown_and_never_walked_from() -> None:
    walk = Walk(5)

    assert [UUID(int=1)] == walk.take([an_edge(1, 1, 2, value=True)])
    assert UUID(int=2) in walk.visited


@pytest.mark.parametrize(("topic", "share"), [("zinnia", 1.0), ("zinnia zebra", 0.5), ("zebra", 0.0), ("zinnia quartz likes", 1.0)])
def test_relevance_is_the_share_of_the_topics_terms(topic: str, share: float) -> None:
    assert share == relevance(topic, an_edge(1, 1, 2))


def test_underscores_of_a_predicate_are_blanks_to_a_topic() -> None:
    assert 1.0 == relevance("main database", an_edge(1, 1, 2, predicate="main_database"))


def test_a_topic_orders_by_relevance_and_keeps_ties_as_given() -> None:
    edges = [an_edge(1, 1, 2), an_edge(2, 3, 4, predicate="owns"), an_edge(3, 5, 6, predicate="owns"), an_edge(4, 3, 1, predicate="owns")]

    assert [edges[3], edges[0], edges[1], edges[2]] == relevant(edges, "zinnia owns", None)
    assert [edges[3]] == relevant(edges, "zinnia owns", 0.9)
    assert edges == relevant(edges, "  ", None)
    assert edges == relevant(edges, None, 0.9)
