"""Graph context around a relationship: breadth first, bounded in steps and in edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from commonlore.domain.text.analyse import query_terms, terms

StoppedReason = Literal["max_depth", "max_edges", "exhausted", "not_requested"]


@dataclass(frozen=True, slots=True)
class Node:
    """An entity or a value in the context; `kind` is its entity kind, or `value`."""

    id: UUID
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An eligible relationship in the context, with the step at which it was reached."""

    relationship_id: UUID
    subject: Node
    predicate_key: str
    object: Node
    polarity: str
    depth: int

    @property
    def wording(self) -> str:
        return f"{self.subject.name} {self.predicate_key.replace('_', ' ')} {self.object.name}"


@dataclass(slots=True)
class Walk:
    """What a walk has seen. Entities are visited once, edges taken once, whatever cycles there are."""

    max_edges: int
    visited: dict[UUID, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    seen: set[UUID] = field(default_factory=set)
    stopped_reason: StoppedReason = "exhausted"

    @property
    def room(self) -> int:
        return self.max_edges - len(self.edges)

    def take(self, found: Sequence[Edge]) -> list[UUID]:
        """Add edges in the order given while there is room; returns the entities seen for the first time."""
        fresh: dict[UUID, None] = {}
        for edge in found:
            if self.room <= 0:
                self.stopped_reason = "max_edges"
                break
            if edge.relationship_id in self.seen:
                continue
            self.seen.add(edge.relationship_id)
            self.edges.append(edge)
            for node in (edge.subject, edge.object):
                if node.id not in self.visited:
                    self.visited[node.id] = node
                    if node.kind != "value":
                        fresh[node.id] = None
        return list(fresh)


def relevance(topic: str, edge: Edge) -> float:
    """The share of the topic's terms that the edge's wording has, 0 to 1; 1 for a topic without terms."""
    wanted = query_terms(topic)
    if not wanted:
        return 1.0
    present = set(terms(edge.wording))
    return sum(term in present for term in wanted) / len(wanted)


def relevant(found: Sequence[Edge], topic: str | None, min_relevance: float | None) -> list[Edge]:
    """With a topic: the edges at or above the bound (default: any shared term), most relevant first, ties as given."""
    if topic is None or not topic.strip():
        return list(found)
    scored = [(relevance(topic, edge), edge) for edge in found]
    bound = min_relevance if min_relevance is not None else 1e-9
    return [edge for score, edge in sorted(scored, key=lambda pair: -pair[0]) if score >= bound]
