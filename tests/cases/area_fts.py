"""fts: any text is a query, and what is written in a row is found by it. The embedder is off wherever words alone must do."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from tests.cases.adapter import Actor, World, case, refusal, refused
from tests.support.memory import a_relationship


def _found_without_vectors(world: World) -> None:
    """Each query of the case finds a seeded row by its words alone."""
    ann = world.actor()
    ann.ingest_all([*world.given["seed"], "an unrelated row"])
    with world.embedder_off():
        found = {query: ann.contexts(query) for query in world.given["each_query"]}

    assert {} == {query: rows for query, rows in found.items() if not rows or "an unrelated row" in rows}


@case("B059-a")
def any_text_is_a_query(world: World) -> None:
    ann = world.actor()
    queries = world.given["each_query"]
    worded = [query for query in queries if re.search(r"\w", query)]
    for query in worded:
        ann.ingest(f"{query} in a row")
    with world.embedder_off():
        answers = {query: ann.recall(query) for query in queries}
        found = {query: [item["context"] for item in answers[query]["results"]] for query in worded}

    assert all(isinstance(answer["results"], list) for answer in answers.values())
    assert [] == [query for query in worded if f"{query} in a row" not in found[query]]


@case("B061-a")
def a_blank_query_is_refused(world: World) -> None:
    ann = world.actor()
    over_http = {query: refusal(ann.post("/v1/recall_memory", {"query": query})) for query in world.given["each_query"]}
    over_mcp = {query: ann.mcp("recall_memory", {"query": query})["structuredContent"] for query in world.given["each_query"]}

    assert {(422, "invalid_input", "/query")} == set(over_http.values())
    assert {(422, "invalid_input", "/query")} == {(item["status"], item["code"], item["errors"][0]["pointer"]) for item in over_mcp.values()}


@case("B062-b")
def a_hyphen_inverts_nothing(world: World) -> None:
    """A sign before a word means nothing: "-beta" asks for beta."""
    ann = world.actor()
    ann.ingest_all(["the beta server is down", "the alpha server is up", "no computer here"])
    with world.embedder_off():
        found = ann.contexts(world.given["args"]["query"])

    assert ["the beta server is down", "the alpha server is up"] == found


@case("B063-a")
def forty_thousand_distinct_words_are_whole(world: World) -> None:
    ann = world.actor()
    words = [hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest() for number in range(40_000)]
    ann.ingest(" ".join(words))
    with world.embedder_off():
        contexts = [ann.contexts(words[number]) for number in (0, 20_000, 39_999)]

    assert [True] * 3 == [len(found) == 1 and words[number] in found[0] for number, found in zip((0, 20_000, 39_999), contexts, strict=True)]


@refused("B064-b", "a query has at most 512 characters (dense-mem.md 6.5, the published client's bound): 3,000 are refused with that bound")
def a_query_beyond_its_bound_says_the_bound(world: World) -> None:
    ann = world.actor()
    longest = ann.recall("A" * 512)
    answer = ann.post("/v1/recall_memory", {"query": "A" * 3000})

    assert [] == longest["results"]
    assert (422, "invalid_input", "/query") == refusal(answer)
    assert "512" in answer.text
    assert "AAAA" not in answer.text


def _first(ann: Actor, queries: list[str]) -> list[str]:
    return [next(iter(ann.contexts(query)), "nothing") for query in queries]


@case("B065-a")
def the_identifier_comes_before_its_scattered_words(world: World) -> None:
    ann = world.actor()
    ann.ingest_all(world.given["seed"])
    with world.embedder_off():
        words = _first(ann, world.given["each_query"])

    assert [world.given["seed"][0]] * 2 == words == _first(ann, world.given["each_query"])


@case("B065-c")
def the_exact_identifier_comes_first(world: World) -> None:
    ann = world.actor()
    ann.ingest_all(world.given["seed"])
    with world.embedder_off():
        assert [world.given["seed"][0]] == _first(ann, [world.given["query"]])


case("B066-b")(_found_without_vectors)
case("B067-a")(_found_without_vectors)


@case("B068-b")
def points_and_vowel_marks_do_not_matter(world: World) -> None:
    """The plene spelling, which has one letter more, may miss."""
    ann = world.actor()
    ann.ingest_all(world.given["seed"])
    plene, folded, arabic = world.given["each_query"]
    with world.embedder_off():
        found = {query: ann.contexts(query) for query in (plene, folded, arabic)}

    assert {folded: [world.given["seed"][0]], arabic: [world.given["seed"][1]]} == {name: found[name] for name in (folded, arabic)}
    assert world.given["seed"][1] not in found[plene]


@case("B069-a")
def accents_and_apostrophes_do_not_matter(world: World) -> None:
    ann = world.actor()
    ann.ingest_all([*world.given["seed"], "an unrelated row"])
    cafe, lodz, retry = world.given["seed"]
    expected = {"cafe": cafe, "café": cafe, "Lodz": lodz, "don't retry": retry, "dont retry": retry}
    with world.embedder_off():
        found = {query: ann.contexts(query) for query in world.given["each_query"]}

    assert {query: [row] for query, row in expected.items()} == found


def entities_of(ann: Actor, names: list[str], kind: str = "concept") -> list[str]:
    """The entity ids that the names get, each in a text of its own."""
    ids = []
    for place, name in enumerate(names):
        proposal: dict[str, Any] = a_relationship(name, "listed_in", "Catalogue", kinds=(kind, "document"))
        made = ann.ingest(f"{name} is listed in the Catalogue, line {place}.", relationships=[proposal])
        ids.append(made["relationship_results"][0]["subject_entity_id"])
    return ids


@case("B070-b")
def signs_make_a_name(world: World) -> None:
    ids = entities_of(world.actor(), world.given["entities"])

    assert 9 == len(ids) == len(set(ids))


@case("B071-a")
def names_of_function_words_are_found(world: World) -> None:
    ann = world.actor()
    ann.ingest_all([*world.given["seed"], "an unrelated row"])
    with world.embedder_off():
        found = [ann.contexts(query) for query in world.given["each_query"]]

    assert [[row] for row in world.given["seed"]] == found


@case("B073-a")
def one_letter_is_a_query(world: World) -> None:
    ann = world.actor()
    ann.ingest_all(world.given["seed"])
    with world.embedder_off():
        found = {query: ann.contexts(query) for query in world.given["each_query"]}

    assert {"C": ["vitamin C dose"], "R": ["R script for plots"], "AI": ["AI policy"], "x": []} == found
