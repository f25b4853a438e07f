"""ingest, graph, ranking: what is stored once, what is one thing, and in which order it comes back."""

from __future__ import annotations

import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from tests.cases.adapter import Actor, World, case, refusal, split_of
from tests.cases.area_vector import a_team_of_relationships, generation, related
from tests.support.memory import a_relationship
from tests.support.server import running_service


@case("B105-a")
def one_key_stores_once(world: World) -> None:
    ann = world.actor()
    answers = [ann.post("/v1/remember", {"evidence": [{"content": "kumquat"}]}, **{"idempotency-key": "k1"}).json() for _ in range(3)]

    assert answers[0] == answers[1] == answers[2]
    assert ["kumquat"] == ann.contexts("kumquat")
    with world.admin() as admin:
        counts = admin.execute(
            "select (select count(*) from commonlore.evidence where team_id = %(team)s), "
            "(select count(*) from commonlore.evidence_occurrence where team_id = %(team)s)",
            {"team": ann.holder.team_id},
        ).fetchone()
    assert (1, 0) == counts


@case("B105-c")
def a_retry_after_a_lost_answer_stores_once(world: World) -> None:
    """The connection ends at several moments around the commit; each retry finds or makes the one row."""
    ann = world.actor()
    for place, delay_s in enumerate((0, 0.002, 0.005, 0.01, 0.02, 0.05)):
        text = f"kumquat number{place}"
        body = f'{{"evidence":[{{"content":"{text}","force_insert":true}}],"idempotency_key":"k{place}"}}'.encode()
        head = f"POST /v1/remember HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {ann.holder.text}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", world.service.port)) as connection:
            connection.sendall(head.encode() + body)
            time.sleep(delay_s)
        for _ in range(2):
            assert 200 == ann.post("/v1/remember", raw=body).status_code
        with world.admin() as admin:
            row = admin.execute("select count(*) from commonlore.evidence where team_id = %s and content = %s", (ann.holder.team_id, text)).fetchone()
        assert (1,) == row


@case("B106-b")
def two_teams_may_use_one_key(world: World) -> None:
    for team in ("A", "B"):
        world.actor(team).remember(evidence=[{"content": f"kumquat of {team}"}], idempotency_key="k1")

    assert [["kumquat of A"], ["kumquat of B"]] == [world.actor(team).contexts("kumquat") for team in ("A", "B")]


@case("B108-b")
def another_text_of_one_source_needs_its_revision(world: World) -> None:
    """409 unless the current revision is named. Then the new text takes the place of the old one, which stays traceable."""
    ann = world.actor()
    proposal = a_relationship("Mark", "works_on", "Orion")
    made = ann.ingest("Mark works on Orion, text a.", source_key="e1", source_revision="r1", relationships=[proposal])
    second = {"content": "text b", "source_key": "e1", "source_revision": "r2"}
    answers = [ann.post("/v1/remember", {"evidence": [item]}) for item in (second, {**second, "previous_source_revision": "r1"})]

    assert (409, "stale_input") == refusal(answers[0])[:2]
    assert 200 == answers[1].status_code
    assert ["text b"] == ann.contexts("text")
    assert ["Mark works on Orion, text a."] == [item["content"] for item in ann.trace(split_of(made)["relationship_id"])["evidence"]]


def _said_by(world: World, members: list[str], text: str = "Mark works on Dense-Mem.") -> list[dict[str, Any]]:
    proposal = a_relationship("Mark", "works_on", "Dense-Mem")
    return [world.actor("A", member).ingest(f"{member} says: {text}", relationships=[proposal]) for member in members]


@case("B109-a")
def two_authors_of_one_statement_take_one_place(world: World) -> None:
    made = _said_by(world, ["P1", "P2"])
    ann = world.actor("A", "P1")
    ann.ingest("pelican pelican")
    with world.embedder_off():
        lane = ann.recall("pelican works", limit=1)["related_relationships"]

    ids = [split_of(answer)["relationship_id"] for answer in made]
    evidence = sorted(answer["evidence"][0]["evidence_id"] for answer in made)
    assert [(ids[0], [ids[1]], evidence)] == [(item["relationship_id"], item["equivalent_relationship_ids"], item["evidence_ids"]) for item in lane]


@case("B111-a")
def many_writers_of_the_same_names_do_not_fail(world: World) -> None:
    """16 writers, 40 entities, two rounds in random orders: deadlocks show within the first."""
    names = [f"Project{number}" for number in range(39)]
    actors = [world.actor("A", f"writer {number}") for number in range(16)]

    def write(number: int) -> list[int]:
        chance = random.Random(number)
        statuses = []
        for turn in range(2):
            order = chance.sample(names, len(names))
            text = f"Writer{number} turn{turn}: " + ", ".join(order) + " use Zig."
            proposals = [a_relationship(name, "uses", "Zig", ref=name, kinds=("project", "product")) for name in order]
            answer = actors[number].post("/v1/remember", {"evidence": [{"content": text}], "relationships": proposals})
            statuses.append(answer.status_code)
        return statuses

    with ThreadPoolExecutor(16) as threads:
        statuses = [status for found in threads.map(write, range(16)) for status in found]
    with world.admin() as admin:
        entities = admin.execute("select count(*) from commonlore.entity where team_id = %s", (actors[0].holder.team_id,)).fetchone()

    assert [200] * 32 == statuses
    assert (40,) == entities


@case("B113-a")
def a_text_without_anything_visible_is_refused(world: World) -> None:
    ann = world.actor()
    answers = [ann.post("/v1/remember", {"evidence": [{"content": text}]}) for text in world.given["each_text"]]

    assert [422, 422, 422, 200] == [answer.status_code for answer in answers]
    assert {"/evidence/0/content"} == {refusal(answer)[2] for answer in answers[:3]}
    assert 1 == len(answers[3].json()["evidence"])


@case("B144-a")
def a_name_of_two_kinds_is_two_entities(world: World) -> None:
    ann = world.actor()
    made = [
        ann.ingest(f"Apple, the {kind}, likes Basel.", relationships=[a_relationship(name, "likes", "Basel", kinds=(kind, "place"))])
        for name, kind in world.given["entities"]
    ]

    assert 2 == len({answer["relationship_results"][0]["subject_entity_id"] for answer in made})


LANES = ("results", "related_relationships", "conflicts", "related_communities")


def _lanes(ann: Actor, queries: list[str]) -> list[dict[str, Any]]:
    return [{name: answer[name] for name in LANES} for answer in (ann.recall(query, limit=3) for query in queries)]


@case("B204-a")
def the_order_survives_restart_and_maintenance(world: World) -> None:
    """Ten queries instead of forty, a second process's service instead of four."""
    chance = random.Random(204)
    people, things = [f"Person{number}" for number in range(8)], [f"Thing{number}" for number in range(8)]
    queries = [f"{chance.choice(people)} uses {chance.choice(things)}" for _ in range(10)]
    with world.own() as own:
        actors = [own.actor("A", f"member {number}") for number in range(3)]
        for number in range(40):
            person, thing = chance.choice(people), chance.choice(things)
            text = f"note {number % 30}: {person} uses {thing} today."
            chance.choice(actors).ingest(text, relationships=[a_relationship(person, "uses", thing, kinds=("person", "product"))])
        before = _lanes(actors[0], queries)
        with own.admin() as admin:
            admin.execute("vacuum full analyze")
            admin.execute("reindex schema commonlore")
        after = _lanes(actors[0], queries)
        with running_service(own.service.database) as restarted, ThreadPoolExecutor(4) as threads:
            again = Actor(actors[0].holder, restarted.client(actors[0].holder))
            beside = list(threads.map(lambda _: _lanes(again, queries), range(4)))

    assert any(lane["related_relationships"] for lane in before)
    assert before == after
    assert [before] * 4 == beside


@case("B204-c")
def equal_texts_have_a_stable_order(world: World) -> None:
    ann = world.actor()
    ann.remember(evidence=[{"content": "the same kumquat", "force_insert": True} for _ in range(20)])
    ann.remember(evidence=[{"content": f"kumquat row {number:02}"} for number in range(20)])

    answers = [_lanes(ann, ["kumquat"])[0] for _ in range(5)]
    shown = ann.recall("the same kumquat", limit=1)["results"][0]

    assert [answers[0]] * 5 == answers
    assert 19 == len(shown["equivalent_evidence_ids"])
    assert sorted(shown["equivalent_evidence_ids"], reverse=True) == shown["equivalent_evidence_ids"]  # newest first
    assert shown["evidence_id"] not in shown["equivalent_evidence_ids"]


@case("B206-a")
def a_smaller_limit_gives_a_prefix(world: World) -> None:
    ann = world.actor()
    ann.ingest_all([f"kumquat {'apple ' * (number % 5)}row {number}" for number in range(40)])

    answers = [ann.recall("kumquat apple", limit=limit, trace=True) for limit in (1, 2, 5, 20)]
    found = [[item["evidence_id"] for item in answer["results"]] for answer in answers]
    candidates = [[item["evidence_id"] for item in answer["trace"]["evidence"]] for answer in answers]

    assert [1, 2, 5, 20] == [len(lane) for lane in found]
    assert [candidates[3][: len(lane)] for lane in found] == found
    assert [candidates[3]] * 4 == candidates
    assert 40 == len(set(candidates[3]))


@case("B210-a")
def groups_not_rows_fill_the_relationship_lane(world: World) -> None:
    made = _said_by(world, [f"P{number}" for number in range(5)])
    ann = world.actor("A", "P0")
    for name in ("Nora", "Otto", "Pia"):
        ann.ingest(f"{name} works on Vega.", relationships=[a_relationship(name, "works_on", "Vega")])
    ann.ingest("pelican pelican")
    with world.embedder_off():
        lane = ann.recall("pelican works Mark", limit=1, relationship_limit=2)["related_relationships"]

    ids = [split_of(answer)["relationship_id"] for answer in made]
    crowd = next(item for item in lane if item["relationship_id"] == ids[0])
    assert 2 == len(lane) == len({item["subject"]["name"] for item in lane})
    assert sorted(ids[1:]) == crowd["equivalent_relationship_ids"]
    assert sorted(answer["evidence"][0]["evidence_id"] for answer in made) == crowd["evidence_ids"]


@case("B210-c")
def no_group_is_shown_twice(world: World) -> None:
    """60 recalls over random data; communities are a later part."""
    chance = random.Random(210)
    actors = [world.actor("A", f"member {number}") for number in range(3)]
    people, things = [f"Person{number}" for number in range(6)], [f"Thing{number}" for number in range(5)]
    for number in range(50):
        person, thing = chance.choice(people), chance.choice(things)
        text = f"note {number}: {person} uses {thing}."
        chance.choice(actors).ingest(text, relationships=[a_relationship(person, "uses", thing, kinds=("person", "product"))])
    with world.admin() as admin:
        team = actors[0].holder.team_id
        rows = admin.execute("select relationship_id::text, semantic_group_key from commonlore.relationship where team_id = %s", (team,)).fetchall()
    group_of = {str(key): group for key, group in rows}
    twice, shown = [], 0
    for _ in range(60):
        query = f"{chance.choice(people)} {chance.choice(things)} {chance.choice(['uses', 'note', 'pelican'])}"
        answer = chance.choice(actors).recall(query, limit=chance.randint(1, 6), relationship_limit=chance.randint(1, 8))
        covered = {group_of[key] for item in answer["results"] for key in item["relationship_ids"]}
        lane = [group_of[item["relationship_id"]] for item in answer["related_relationships"]]
        shown += len(lane)
        twice += [group for group in lane if group in covered or lane.count(group) > 1]

    assert shown > 50
    assert [] == twice


@case("B211-b")
def an_activation_between_recalls_is_seen_whole_or_not_at_all(world: World) -> None:
    """One between two recalls, then thirty during sixty: each answer is wholly by words, or wholly by both."""
    ann = world.actor()
    a_team_of_relationships(ann)
    query = "pelican zebra harbour"
    generation(world, ann, "embedding")
    by_words = related(ann, query)
    generation(world, ann, "current")
    by_both = related(ann, query)
    stop = threading.Event()

    def activate() -> int:
        turns = 0
        while not stop.wait(0.01):
            generation(world, ann, "embedding" if turns % 2 == 0 else "current")
            turns += 1
        return turns

    with ThreadPoolExecutor(1) as threads:
        switching = threads.submit(activate)
        answers = [related(ann, query) for _ in range(60)]
        stop.set()
        turns = switching.result()

    assert turns >= 10
    assert (("pending", ["relationship_vector_warming"]), ("current", [])) == tuple((item["state"], item["codes"]) for item in (by_words, by_both))
    assert by_words["lane"] != by_both["lane"]
    assert [] == [answer for answer in answers if answer not in (by_words, by_both)]
    assert by_words in answers and by_both in answers


@case("B212-a")
def lists_of_ids_are_bounded_and_checked(world: World) -> None:
    ann = world.actor()
    key = ann.ingest("kumquat")["evidence"][0]["evidence_id"]
    ids = [str(uuid4()) for _ in range(1000)]
    bodies: list[dict[str, Any]] = [
        {"known_evidence_ids": ids * 10},
        {"expand_from_entity_ids": ids},
        {"known_evidence_ids": [ids[0], "no-uuid"]},
        {"known_relationship_ids": [ids[0], ids[1], 7]},
    ]
    refusals = [ann.post("/v1/recall_memory", {"query": "kumquat", **body}) for body in bodies]

    pointers = ["/known_evidence_ids", "/expand_from_entity_ids", "/known_evidence_ids/1", "/known_relationship_ids/2"]
    assert [(422, "invalid_input", pointer) for pointer in pointers] == [refusal(answer) for answer in refusals]
    assert ["200" in refusals[0].text, "50" in refusals[1].text] == [True, True]
    assert (
        200 == ann.post("/v1/recall_memory", {"query": "kumquat", "known_evidence_ids": [key] * 200, "expand_from_entity_ids": ids[:50]}).status_code
    )
    assert ann.contexts("kumquat", known_relationship_ids=[ids[0]] * 200) == ["kumquat"]
