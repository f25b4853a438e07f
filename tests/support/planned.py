"""Searches whose order a test plans, and what it asks of their answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from commonlore.db.embedding.check import checked
from commonlore.domain.ports import EmbeddingContract, Vectors
from tests.support.embedders import FailingEmbedder
from tests.support.memory import CONTRACT, Holder, Memory, ServedHashEmbedder

FIRST = "Unrelated pelican."


class PlannedEmbedder(ServedHashEmbedder):
    """A text is as near to every query as the plan says of the first of its words that the text holds; others are far."""

    def __init__(self, nearness: Mapping[str, float]) -> None:
        super().__init__()
        self._nearness = {"pelican": 0.99, **nearness}

    async def embed_query(self, text: str) -> Vectors:
        self.queries.append(text)
        return checked([[1.0, *[0.0] * 383]], self.contract, 1)[0]

    def _answer(self, texts: Sequence[str]) -> Vectors:
        return checked([self._at(text) for text in texts], self.contract, len(texts))

    def _at(self, text: str) -> list[float]:
        near = next((value for word, value in self._nearness.items() if word in text.lower()), 0.0)
        return [near, math.sqrt(1 - near * near), *[0.0] * 382]


class ServedFailing(FailingEmbedder):
    """Never answers, under the name of the served contract."""

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


def codes(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The degradations of an answer, each of them optional and in words."""
    assert all(item["optional"] and item["message"] for item in answer["degradations"])
    return [(item["frontier"], item["code"]) for item in answer["degradations"]]


def subjects(answer: Mapping[str, Any]) -> list[str]:
    """Who the direct relationships are about, best first."""
    return [item["subject"]["name"] for item in answer["related_relationships"]]


def lane_ids(answer: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(lane, relationship id) of every relationship that an answer says, implied ones included."""
    for item in answer["results"]:
        yield from (("results", key) for key in item["relationship_ids"])
    for community in answer["related_communities"]:
        for item in community["relationships"]:
            yield from (("communities", key) for key in (item["relationship_id"], *item["equivalent_relationship_ids"]))
    for item in answer["related_relationships"]:
        yield from (("direct", key) for key in (item["relationship_id"], *item["equivalent_relationship_ids"]))


def groups_by_lane(memory: Memory, answer: Mapping[str, Any]) -> dict[str, set[str]]:
    """The semantic groups of each lane, by the authoritative rows."""
    said = list(lane_ids(answer))
    rows = dict(
        memory.sql(
            "select relationship_id::text, semantic_group_key from commonlore.relationship where relationship_id = any(%s::uuid[])",
            [key for _, key in said],
        )
    )
    found: dict[str, set[str]] = {"results": set(), "communities": set(), "direct": set()}
    for lane, key in said:
        found[lane].add(rows[key])
    return found


def set_generation(memory: Memory, holder: Holder, state: str) -> None:
    memory.sql("update commonlore.projection_generation set state = %s where team_id = %s", state, holder.team_id)
