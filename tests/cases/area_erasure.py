"""What was erased, and what stands beside it: nothing has it any more but the list of erasures, and the history of the others is whole."""

from __future__ import annotations

from typing import Any

from commonlore.api.admin import ADMIN
from tests.cases.adapter import Actor, World, case, split_of
from tests.support.memory import a_relationship

EVERYTHING = ("read", "write", "admin", "destroy")
# What is left of an erased id: who erased it and when, and which calls named it. None of them holds a text.
_TOMBSTONES = ("list_audit", "list_erasures")


def administer(actor: Actor, name: str, /, **body: Any) -> dict[str, Any]:
    answer = actor.post(f"/v1/admin/{name}", body)
    assert 200 == answer.status_code, answer.text
    found: dict[str, Any] = answer.json()
    return found


def confirmed(actor: Actor, kind: str, target_id: str) -> dict[str, str]:
    seen = administer(actor, "preview_erasure", target_kind=kind, target_id=target_id)
    typed = {name: seen[name] for name in ("confirmation", "confirmation_token")}
    return {"target_kind": kind, "target_id": target_id, "reason": "a test", **typed}


def lists(actor: Actor) -> dict[str, str]:
    """Every list and report that an administrator can open without naming a row."""
    found = {}
    for name in sorted(ADMIN):
        if name.startswith(("list_", "preview_")) or name in ("describe_team", "describe_feedback"):
            answer = actor.post(f"/v1/admin/{name}", {})
            if answer.status_code == 200:
                found[name] = answer.text
    return found


@case("B110-b")
def a_space_made_again_has_nothing_of_the_old_one(world: World) -> None:
    ann = world.actor(scopes=EVERYTHING)
    found = []
    for text in ("kumquat of the first", "kumquat of the second"):
        space = administer(ann, "create_space", name="orchard")["space_id"]
        ann.remember(evidence=[{"content": text}], space="orchard")
        found.append([item["context"] for item in ann.recall("kumquat")["results"] if item.get("space") == "orchard"])
        administer(ann, "delete_space_or_team", **confirmed(ann, "space", space))
        assert [] == ann.contexts("kumquat")

    assert [["kumquat of the first"], ["kumquat of the second"]] == found


@case("B152-a")
def an_erased_text_is_in_no_answer_but_the_list_of_erasures(world: World) -> None:
    """Asked right after the erasure, before any worker deleted a row."""
    ann, marker = world.actor(scopes=EVERYTHING), "Zyxquat"
    statement = a_relationship(marker, "works_on", "Vega")
    made = ann.ingest(f"{marker} works on Vega.", relationships=[statement])
    ann.ingest("Nora works on Vega.", relationships=[a_relationship("Nora", "works_on", "Vega")])
    gone, relationship = made["evidence"][0]["evidence_id"], split_of(made)["relationship_id"]
    before = lists(ann)
    asked = {"recall": {"query": f"who works on Vega, {marker}?"}, "past": {"query": marker, "known_at": "2100-01-01T00:00:00Z"}}
    assert marker in str(ann.recall(**asked["recall"])["results"])

    administer(ann, "erase", **confirmed(ann, "evidence", gone))

    answers = {name: str({**ann.recall(**body), "query": None}) for name, body in asked.items()}
    answers["trace"] = ann.post("/v1/trace_memory", {"relationship_id": relationship}).text
    answers["dreams"] = ann.post("/v1/list_dreams", {}).text
    answers |= {name: text for name, text in lists(ann).items() if name not in _TOMBSTONES}
    assert {} == {name: text for name, text in answers.items() if gone in text or marker in text}
    assert set(before) <= {*answers, *_TOMBSTONES}
    [tombstone] = administer(ann, "list_erasures", item_id=gone)["erasures"]
    assert (str(ann.holder.profile_id), True) == (tombstone["actor_profile_id"], tombstone["known_from"] is not None)
    assert marker not in str(tombstone)


@case("B160-a")
def an_erasure_leaves_the_history_of_the_others_whole(world: World) -> None:
    ann, people = world.actor(scopes=EVERYTHING), ("Mark", "works_on", "Orion")
    made = ann.ingest("Mark works on Orion and Vega.", relationships=[a_relationship(*people)])
    also = ann.ingest("Mark works on Orion, says Kumquat.", relationships=[a_relationship(*people)])
    first, erased = split_of(made), also["evidence"][0]["evidence_id"]
    version = split_of(also)["relationship_version"]
    corrected = ann.post(
        "/v1/correct_relationship",
        {"relationship_id": first["relationship_id"], "expected_version": version, "patch": {"polarity": "-"}, "reason": "a test"},
    )
    assert 200 == corrected.status_code, corrected.text
    before = ann.trace(first["relationship_id"])

    administer(ann, "erase", **confirmed(ann, "evidence", erased))

    after = ann.trace(first["relationship_id"])
    assert {row["event_id"] for row in before["transitions"]} <= {row["event_id"] for row in after["transitions"]}
    assert before["cross_references"] == after["cross_references"] != []
    assert [made["evidence"][0]["evidence_id"]] == [item["evidence_id"] for item in after["evidence"]]
    assert "Kumquat" not in str(after)
    [tombstone] = administer(ann, "list_erasures", item_id=erased)["erasures"]
    assert {"reason", "actor_profile_id", "known_from", "target_sha256"} <= set(tombstone) and erased not in str(tombstone)
