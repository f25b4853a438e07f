"""deletion: what was forgotten is gone from the present, says so, takes no place, and stands in nobody's way.

To forget is here to retract. Erasure, which leaves nothing to any view, is a part of its own (decisions.md 22).
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx

from tests.cases.adapter import Actor, World, case, refusal, split_of
from tests.cases.area_vector import QUERY, PlacedEmbedder
from tests.support.memory import a_relationship
from tests.support.postings import PART_POSTINGS


def forget(actor: Actor, evidence_ids: list[str]) -> httpx.Response:
    return actor.post("/v1/retract_evidence", {"evidence_ids": evidence_ids, "reason": "a test of forgetting"})


def ids_of(answer: dict[str, Any]) -> list[str]:
    return [item["evidence_id"] for item in answer["evidence"]]


@case("B053-a")
def what_comes_after_everything_was_forgotten_is_found_by_meaning(world: World) -> None:
    with world.embedder(PlacedEmbedder()):
        ann, texts = world.actor(), [f"near and new {number}" for number in range(5)]
        gone = ids_of(ann.remember(evidence=[{"content": f"near and gone {number}"} for number in range(20)]))
        assert 200 == forget(ann, gone).status_code
        empty = ann.recall(QUERY)["results"]
        new = ids_of(ann.remember(evidence=[{"content": text} for text in texts]))
        answer = ann.recall(QUERY, trace=True)
        with world.embedder_off():
            by_words = ann.recall(f"{QUERY} b053")["results"]

    ranks = {item["evidence_id"]: item.get("vector_rank") for item in answer["trace"]["evidence"]}
    assert [] == empty == by_words
    assert set(new) == {item["evidence_id"] for item in answer["results"]}
    assert {1, 2, 3, 4, 5} == {ranks[key] for key in new}
    assert set(texts) == {item["context"] for item in answer["results"]}


@case("B107-a")
def what_was_forgotten_can_be_stored_again(world: World) -> None:
    """A key is that of a call or of a source. Without either the same words are a new row."""
    ann = world.actor()
    evidence = {"plain": {"content": "kumquat plain"}, "source": {"content": "kumquat source", "source_key": "k1", "source_revision": "r1"}}
    for item in evidence.values():
        first = ids_of(ann.remember(evidence=[item]))
        assert 200 == forget(ann, first).status_code
        second = ids_of(ann.remember(evidence=[item]))
        assert first != second
        assert [item["content"]] == ann.contexts(item["content"], limit=1)

    body = {"evidence": [{"content": "kumquat call"}], "idempotency_key": "k1"}
    first = ids_of(ann.remember(**body))
    assert 200 == forget(ann, first).status_code
    again = ann.post("/v1/remember", body)

    found = [item["evidence_id"] for item in ann.recall("kumquat call")["results"]]
    stored = [item["evidence_id"] for item in again.json().get("evidence", []) if item["disposition"] == "stored"]
    assert "retracted" in again.text or (stored != first and set(stored) <= set(found)), again.text


def _counts(world: World, table: str, column: str, keys: list[str]) -> int:
    with world.admin() as admin:
        row = admin.execute(f"select count(*) from {table} where {column} = any(%s::uuid[])".encode(), (keys,)).fetchone()
    assert row is not None
    return int(row[0])


@case("B153-b")
def forgotten_rows_that_are_left_behind_take_no_place(world: World) -> None:
    """More of them than a branch fetches at once, each a better match than the five that live. Their rows of every search are left behind."""
    ann, lived = world.actor(), [f"kumquat, among other words that make it long and rare, row {number}" for number in range(5)]
    ann.ingest_all(lived)
    kept = split_of(ann.ingest("Nora likes a kumquat.", relationships=[a_relationship("Nora", "likes", "kumquat", kinds=("person", "product"))]))
    gone: list[str] = []
    for start in range(0, 240, 20):
        gone += ids_of(ann.remember(evidence=[{"content": f"kumquat kumquat {number}"} for number in range(start, start + 20)]))
    dead: list[str] = []
    for number in range(10):
        name = f"Dead{number}"
        made = ann.ingest(f"{name} likes a kumquat.", relationships=[a_relationship(name, "likes", "kumquat", kinds=("person", "product"))])
        gone.append(made["evidence"][0]["evidence_id"])
        dead.append(split_of(made)["relationship_id"])
    for start in range(0, len(gone), 50):
        assert 200 == forget(ann, gone[start : start + 50]).status_code
    with world.admin() as admin:
        admin.execute("update commonlore.relationship_document set search_state = 'current' where relationship_id = any(%s::uuid[])", (dead,))
    left = [_counts(world, table, "evidence_id", gone) for table in (PART_POSTINGS, "commonlore.evidence_vector_1 v")]
    answer = ann.recall("kumquat", limit=5)
    wide = ann.recall("kumquat", limit=50, relationship_limit=20)

    assert min(left) >= 250
    assert 10 == _counts(world, "commonlore.relationship_document", "relationship_id", dead)
    assert 5 == len(answer["results"])
    assert {*lived, "Nora likes a kumquat."} == {item["context"] for item in wide["results"]}
    shown = {key for item in wide["results"] for key in item["relationship_ids"]} | {
        item["relationship_id"] for item in wide["related_relationships"]
    }
    assert {kept["relationship_id"]} == shown
    assert [] == [key for key in (*gone, *dead) if key in str(wide)]


@case("B156-a")
def forgetting_twice_is_forgetting_once(world: World) -> None:
    ann = world.actor()
    (key,) = ids_of(ann.ingest("kumquat to forget"))
    answers = [forget(ann, [key]), forget(ann, [key])]
    unknown = forget(ann, [str(uuid4())])

    assert [200, 200] == [answer.status_code for answer in answers]
    assert ["retracted", "already_retracted"] == [answer.json()["evidence"][0]["disposition"] for answer in answers]
    assert (404, "not_found") == refusal(unknown)[:2]
    assert [] == ann.contexts("kumquat to forget")
    with world.admin() as admin:
        events = admin.execute("select action from commonlore.evidence_lifecycle_event where evidence_id = %s", (key,)).fetchall()
    assert [("retract",)] == events
