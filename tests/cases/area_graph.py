"""graph: cycles end, hubs hide nothing that was asked for, and two entities that became one can be two again."""

from __future__ import annotations

import time
from typing import Any

from tests.cases.adapter import Actor, World, case, split_of
from tests.support.memory import a_relationship


@case("B140-a")
def a_cycle_of_corrections_ends_and_is_flagged(world: World) -> None:
    """No write makes one: the database is told so by a superuser. What leads into the cycle from outside is flagged as well."""
    ann = world.actor()
    keys = []
    for name in ("Orion", "Vega", "Rigel", "Sirius"):
        keys.append(split_of(ann.ingest(f"Mark works on {name}.", relationships=[a_relationship("Mark", "works_on", name)]))["relationship_id"])
    before = ann.trace(keys[0])["relationship"]
    there_and_back = _corrected_and_back(ann)
    edges = [(keys[0], keys[1]), (keys[1], keys[2]), (keys[2], keys[0]), (keys[3], keys[0])]
    with world.admin() as admin, admin.transaction():
        for old, new in edges:
            admin.execute("update commonlore.relationship set corrected_by = %s where relationship_id = %s", (new, old))
            admin.execute(
                "insert into commonlore.relationship_cross_reference (team_id, space_epoch, reference_id, author_profile_id, source_relationship_id, "
                "source_version, target_relationship_id, target_version, kind, submission_id, known_from) "
                "select r.team_id, r.space_epoch, gen_random_uuid(), r.owner_profile_id, %s, 1, r.relationship_id, 1, 'corrects', s.submission_id, r.known_from "
                "from commonlore.relationship r join commonlore.submission s using (team_id, space_epoch) where r.relationship_id = %s limit 1",
                (new, old),
            )
    traced = {key: ann.trace(key) for key in keys}

    for trace in traced.values():
        lineage = [item["relationship_id"] for item in trace["supersession_lineage"]]
        references = [item["reference_id"] for item in trace["cross_references"]]
        assert sorted(keys) == sorted(lineage)
        assert len(references) == len(set(references))
        assert trace["relationship"]["lineage_cycle"] is True
    assert 3 == len(traced[keys[0]]["cross_references"])
    assert "lineage_cycle" not in before
    assert [("active", False), ("superseded", False)] == there_and_back


def _corrected_and_back(ann: Actor) -> list[tuple[str, bool]]:
    """A statement that was corrected to another and that one to the first again: no circle."""
    first = split_of(ann.ingest("Nora works on Deneb.", relationships=[a_relationship("Nora", "works_on", "Deneb")]))["relationship_id"]
    second, shown = "", []
    for source, name in ((first, "Altair"), ("", "Deneb")):
        patch = {"object_entity": {"name": name, "entity_kind": "project", "create_if_missing": True}}
        answer = ann.post("/v1/correct_relationship", {"relationship_id": source or second, "expected_version": 1, "patch": patch}).json()
        second = answer["correction_result"]["successor"]["relationship_id"]
        shown.append(second)
    traced = [ann.trace(key)["relationship"] for key in (first, shown[0])]
    assert shown[1] == first
    return [(item["relationship_status"], "lineage_cycle" in item) for item in traced]


@case("B142-a")
def a_hub_does_not_hide_what_was_asked_for(world: World) -> None:
    """450 relationships of one entity instead of 100,000: more than twice what a branch fetches. The three are the oldest."""
    ann = world.actor()
    asked, hub = [], ""
    for number in range(3):
        proposal = a_relationship("Hub", "uses", f"zebra harness {number}", kinds=("project", "product"))
        made = ann.ingest(f"Hub uses zebra harness {number} daily.", relationships=[proposal])
        asked.append(split_of(made)["relationship_id"])
        hub = made["relationship_results"][0]["subject_entity_id"]
    for start in range(0, 450, 20):
        numbers = range(start, min(start + 20, 450))
        proposals = [
            a_relationship("Hub", "uses", f"Thing{n}", ref=f"r{n}", evidence=(p,), kinds=("project", "product")) for p, n in enumerate(numbers)
        ]
        ann.remember(evidence=[{"content": f"Hub uses Thing{number}."} for number in numbers], relationships=proposals)
    ann.ingest("pelican pelican")

    def ask(**fields: Any) -> tuple[dict[str, Any], float]:
        start = time.monotonic()
        answer = ann.recall("pelican zebra", limit=1, relationship_limit=20, **fields)
        return answer, time.monotonic() - start

    plain_s = min(ask()[1] for _ in range(3))
    asked_hub = [ask(expand_from_entity_ids=[hub], trace=True) for _ in range(3)]
    answer = asked_hub[0][0]

    lane = [item["relationship_id"] for item in answer["related_relationships"]]
    cut = {item["name"]: item.get("cut", 0) for item in answer["trace"]["limits"]}
    traced = ann.trace(asked[0], max_depth=1, max_edges=50)
    assert min(took_s for _, took_s in asked_hub) < 20 * plain_s
    assert asked == lane[:3]
    assert cut["relationship_limit"] > 100
    assert (50, "max_edges", True) == (len(traced["semantic_edges"]), traced["stopped_reason"], traced["truncated"])


def _seen(ann: Actor, keys: list[str]) -> list[Any]:
    """What a trace shows of relationships, their history and their evidence; a version counts the changes, so it only grows."""
    shown = []
    for key in keys:
        trace = ann.trace(key, page_size=500)
        decided = {item["support_id"]: item["decision"] for item in trace["evidence_support_decision_events"]}
        supports = [item for item in trace["evidence_supports"] if decided[item["support_id"]] != "revoke"]
        plain = {name: value for name, value in trace["relationship"].items() if name != "version"}
        cited = {item["evidence_id"] for item in supports}
        shown.append(
            (
                plain,
                sorted((item["evidence_id"], item["span_start"], item["span_end"], item["quote"]) for item in supports),
                [item for item in trace["evidence"] if item["evidence_id"] in cited],
                [item["document_text"] for item in trace["search_documents"]],
            )
        )
    return shown


HISTORY = ("observations", "evidence_supports", "evidence_support_decision_events", "verification_events", "transitions", "evidence_lifecycle_events")


def _history(ann: Actor, keys: list[str]) -> dict[tuple[str, str], list[Any]]:
    return {(key, name): trace[name] for key in keys for trace in [ann.trace(key, page_size=500)] for name in HISTORY}


def _recalled(ann: Actor) -> list[Any]:
    answer = ann.recall("who works on Orion and what does it use", relationship_limit=20)
    return [[(item["evidence_id"], sorted(item["relationship_ids"])) for item in answer["results"]], answer["related_relationships"]]


@case("B144-c")
def a_merge_that_is_undone_leaves_all_as_before(world: World) -> None:
    """Two names of one project, one statement said of both and one by another member; over the routes of an administrator."""
    ann, ben = world.actor("A", "P1", scopes=("read", "write", "admin")), world.actor("A", "P2")
    made = [
        ann.ingest("Mark works on Orion.", relationships=[a_relationship("Mark", "works_on", "Orion")]),
        ann.ingest("Orion uses Zig.", relationships=[a_relationship("Orion", "uses", "Zig", kinds=("project", "product"))]),
        ben.ingest("Ben says that OrionTwo uses Zig.", relationships=[a_relationship("OrionTwo", "uses", "Zig", kinds=("project", "product"))]),
        ann.ingest("OrionTwo uses Zig too.", relationships=[a_relationship("OrionTwo", "uses", "Zig", kinds=("project", "product"))]),
    ]
    keys = [split_of(answer)["relationship_id"] for answer in made]
    ends = {"from_entity_id": made[3], "to_entity_id": made[1]}
    ids = {name: answer["relationship_results"][0]["subject_entity_id"] for name, answer in ends.items()}
    before, history, recalled = _seen(ann, keys), _history(ann, keys), _recalled(ann)

    merged = ann.post("/v1/admin/merge_entities", {**ids, "reason": "one project", "apply": True})
    between = _seen(ann, keys)
    undone = ann.post("/v1/admin/reverse_entity_correction", {"correction_id": merged.json()["correction_id"], "reason": "two after all"})
    after, later = _seen(ann, keys), _history(ann, keys)

    assert [200, 200] == [merged.status_code, undone.status_code], merged.text + undone.text
    assert before != between
    assert before == after
    assert recalled == _recalled(ann)
    assert {place: rows for place, rows in history.items() if rows != later[place][: len(rows)]} == {}
