"""unicode: names meet where they are the same name, texts come back as they were, broken text is refused."""

from __future__ import annotations

import json
import unicodedata

import psycopg
from psycopg import sql

from tests.cases.adapter import World, case, refusal, split_of
from tests.cases.area_fts import entities_of
from tests.support.databases import _addresses, drop, passwords, server_conninfo
from tests.support.memory import a_relationship
from tests.support.server import running_service


def _one_entity(world: World) -> None:
    assert 1 == len(set(entities_of(world.actor(), world.given["entities"], "person")))


@case("B074-a")
def composed_and_decomposed_are_one_name(world: World) -> None:
    ann = world.actor()
    names = world.given["entities"]
    ids = entities_of(ann, names, "person")
    with world.embedder_off():
        found = [sorted(ann.contexts(name)) for name in names]

    assert 1 == len(set(ids))
    assert [sorted(f"{name} is listed in the Catalogue, line {place}." for place, name in enumerate(names))] * 2 == found


@case("B075-b")
def the_databases_locale_changes_no_name(world: World) -> None:
    """Where the server has Turkish rules of case a database with them, else one with other rules than the template, counts the same entities."""
    from commonlore.db.locate import prepare_database

    names = ["Istanbul", "istanbul", "ISTANBUL", "İstanbul", "ısparta", "Isparta", "Straße", "STRASSE", "Zubr", "Żubr"]
    here = entities_of(world.actor(), names, "place")
    name = f"test_locale_{world._mark}"
    with psycopg.connect(server_conninfo(), autocommit=True) as connection:
        turkish = connection.execute("select 1 from pg_collation where collname = 'tr-x-icu'").fetchone()
        provider = "icu icu_locale 'tr-TR'" if turkish else "libc"
        make = f"create database {{}} template template0 encoding 'UTF8' locale_provider {provider} locale 'C'"
        connection.execute(sql.SQL(make).format(sql.Identifier(name)))
    try:
        database = _addresses(name)
        prepare_database(database, passwords())
        with running_service(database) as service:
            there = entities_of(World(world.case, service, world.template, world.folder).actor(), names, "place")
    finally:
        drop(name)

    assert [here.index(item) for item in here] == [there.index(item) for item in there]
    assert 5 <= len(set(here)) < len(names)


case("B076-a")(_one_entity)


@case("B077-b")
def a_name_without_anything_visible_is_refused(world: World) -> None:
    ann = world.actor()
    refusals = []
    for name in world.given["entities"]:
        body = {"evidence": [{"content": "x"}], "relationships": [a_relationship(name, "is", "Thing")]}
        refusals.append(refusal(ann.post("/v1/remember", body)))

    assert [(422, "invalid_input", "/relationships/0/subject/name")] * 4 == refusals


@case("B078-a")
def look_alike_names_stay_apart(world: World) -> None:
    assert 2 == len(set(entities_of(world.actor(), ["paypal", "p\u0430ypal"], "organization")))


@case("B079-b")
def the_null_character_is_refused_everywhere(world: World) -> None:
    ann = world.actor()
    bodies = [
        r'{"evidence":[{"content":"ok","metadata":{"k\u0000":"v"}}]}',
        r'{"evidence":[{"content":"ok","metadata":{"a":["x\u0000"]}}]}',
        r'{"evidence":[{"content":"o\u0000k"}]}',
        r'{"evidence":[{"content":"ok","source":"\u0000"}]}',
    ]
    answers = [ann.post("/v1/remember", raw=body) for body in bodies]

    assert {(422, "invalid_input")} == {refusal(answer)[:2] for answer in answers}
    assert ["/evidence/0/metadata"] * 2 == [refusal(answer)[2] for answer in answers[:2]]
    assert [] == ann.contexts("ok")


@case("B079-d")
def the_escape_as_prose_is_kept(world: World) -> None:
    ann = world.actor()
    text = r"write \u0000 to end a string, as in '\\u0000'"
    made = ann.ingest(text, relationships=[a_relationship("string", "ends_with", "u0000")])

    assert [text] == ann.contexts("string")
    assert [text] == [item["content"] for item in ann.trace(split_of(made)["relationship_id"])["evidence"]]


@case("B080-a")
def a_lone_surrogate_is_refused(world: World) -> None:
    ann = world.actor()
    answer = ann.post("/v1/remember", raw=r'{"evidence":[{"content":"hi \ud83d there"}]}')

    assert (422, "invalid_input", "/evidence/0/content") == refusal(answer)


@case("B080-c")
def a_cut_falls_between_characters(world: World) -> None:
    ann = world.actor()
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    text = "needle " + " ".join([family * 7] * 120) + " Mark works on Orion " + family * 300
    made = ann.ingest(text, relationships=[a_relationship("Mark", "works_on", "Orion")])
    context = ann.recall("needle")["results"][0]
    support = ann.trace(split_of(made)["relationship_id"])["evidence_supports"][0]

    for quote in (context["context"], support["quote"]):
        quote.encode("utf-8")
        assert "\u200d" not in (quote[0], quote[-1])
        assert not unicodedata.combining(quote[0])
        pieces = quote.replace("needle", " ").replace("Mark works on Orion", " ").replace("\u2026", " ").split()
        assert {""} == {piece.replace(family, "") for piece in pieces}
    assert context["context_truncated"]
    assert text[support["span_start"] : support["span_end"]] == support["quote"]


@case("B081-b")
def broken_percent_encoding_is_refused(world: World) -> None:
    ann = world.actor()
    answers = [ann.get(f"{path}?q=%ff%fe") for path in ("/v1/recall_memory", "/v1/remember", "/v1/health/live", "/mcp", "/schema/openapi.json")]

    assert {422} == {answer.status_code for answer in answers}


@case("B082-a")
def accents_tell_names_apart_and_search_finds_both(world: World) -> None:
    ann = world.actor()
    names = world.given["entities"]
    ids = entities_of(ann, names, "other")
    with world.embedder_off():
        found = ann.contexts(world.given["query"])

    assert 2 == len(set(ids))
    assert {f"{name} is listed in the Catalogue, line {place}." for place, name in enumerate(names)} == set(found)
    assert json.dumps(found)
