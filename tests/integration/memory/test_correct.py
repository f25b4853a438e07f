"""Corrections: every field, every code, and that a rejected one changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.memory import START, Holder, Memory, a_relationship

_TABLES = (
    "relationship",
    "relationship_support",
    "support_decision_event",
    "relationship_transition_event",
    "relationship_cross_reference",
    "relationship_correction",
    "relationship_observation",
    "relationship_document",
    "entity",
    "submission",
)


def state(memory: Memory) -> list[tuple[Any, ...]]:
    """Every row that a correction could touch, but for the results of submissions."""
    return [row for table in _TABLES for row in memory.sql(f"select t::text from commonlore.{table} t order by 1")]


async def a_corrected(memory: Memory, ann: Holder, patch: Mapping[str, Any], **fields: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Mark works on Atlas, corrected; its id, the outcome, and the trace of the successor."""
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", **fields)
    answer = await memory.correct(ann, relationship_id, patch=dict(patch))
    assert "completed" == answer["processing_state"], answer
    outcome = answer["correction_result"]
    return relationship_id, outcome, await memory.trace(ann, outcome["successor"]["relationship_id"])


VALUE = {"type": "number", "value": 4, "unit": "hours"}


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        ({"subject_entity": {"name": "Zoe", "entity_kind": "person", "create_if_missing": True}}, "subject", "Zoe"),
        ({"object_entity": {"name": "Orion", "entity_kind": "project", "create_if_missing": True}}, "object", "Orion"),
        ({"object_value": VALUE}, "object", "4"),
        ({"predicate": {"key": "uses"}}, "predicate", "uses"),
        ({"predicate": {"key": "depends_on"}}, "predicate", "uses"),
        ({"polarity": "-"}, "polarity", "-"),
        ({"scope": "dense-mem project"}, "scope", "dense-mem project"),
        ({"valid_from": "2026-01-01T00:00:00Z"}, "valid_from", "2026-01-01T00:00:00Z"),
    ],
)
async def test_every_field_of_a_statement_can_be_corrected(memory: Memory, patch: dict[str, Any], field: str, expected: str) -> None:
    """The source is superseded, the successor is active with the same support, and recall shows the successor alone."""
    ann = await memory.key()

    relationship_id, outcome, trace = await a_corrected(memory, ann, patch)
    shown = trace["relationship"][field]
    before = (await memory.trace(ann, relationship_id))["relationship"]
    recalled = await memory.recall(ann, "Mark works on Atlas", relationship_limit=20)

    assert expected == (shown.get("name", shown.get("value")) if isinstance(shown, dict) else shown)
    assert {"relationship_id": relationship_id, "relationship_version": 2, "status": "superseded"} == outcome["superseded"]
    assert ("created", 1, "active") == tuple(outcome["successor"][name] for name in ("disposition", "relationship_version", "status"))
    assert ("superseded", 2) == (before["relationship_status"], before["version"])
    assert ("active", 1, "Mark works on Atlas.") == (
        trace["relationship"]["relationship_status"],
        trace["relationship"]["support_count"],
        trace["evidence_supports"][0]["quote"],
    )
    assert [outcome["successor"]["relationship_id"]] == recalled["results"][0]["relationship_ids"]


async def test_a_correction_of_the_unit_makes_another_value(memory: Memory) -> None:
    ann = await memory.key()
    answer = await memory.remember(
        ann,
        content="The build takes 4 hours.",
        relationships=[
            {
                **a_relationship("build", "takes", "x", kinds=("concept", "concept")),
                "object": {"value": {"type": "number", "value": 4, "display": "4 hours", "unit": "minutes"}},
            }
        ],
    )
    relationship_id = answer["relationship_results"][0]["splits"][0]["relationship_id"]

    corrected = await memory.correct(ann, relationship_id, patch={"object_value": VALUE})
    trace = await memory.trace(ann, corrected["correction_result"]["successor"]["relationship_id"])

    assert ("4", "hours") == (trace["relationship"]["object"]["value"], trace["relationship"]["object"]["unit"])


async def test_the_end_of_validity_is_corrected_in_place(memory: Memory) -> None:
    """It is no part of the identity: the same relationship at its next version, and nothing is superseded."""
    ann = await memory.key()

    relationship_id, outcome, trace = await a_corrected(memory, ann, {"valid_to": "2026-06-01T00:00:00Z"})

    assert None is outcome["superseded"]
    assert {"relationship_id": relationship_id, "relationship_version": 2, "status": "active", "disposition": "amended"} == outcome["successor"]
    assert "2026-06-01T00:00:00Z" == trace["relationship"]["valid_to"]
    assert ["verification:entailed", "validity_corrected"] == [item["reason"] for item in trace["transitions"]]
    cleared = await memory.correct(ann, relationship_id, version=2, patch={"valid_to": None})
    assert 3 == cleared["correction_result"]["successor"]["relationship_version"]
    assert None is (await memory.trace(ann, relationship_id))["relationship"]["valid_to"]


async def test_what_was_known_before_a_correction_stays_known(memory: Memory) -> None:
    """known_at before it shows the source, after it the successor; valid_at never shows what was corrected."""
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas", valid_to="2026-12-31T00:00:00Z")
    before = memory.clock.advance(minutes=1)
    corrected = await memory.correct(ann, relationship_id, patch={"scope": "office"})
    successor = corrected["correction_result"]["successor"]["relationship_id"]

    async def ids(**view: str) -> list[str]:
        return (await memory.recall(ann, "Mark works on Atlas", **view))["results"][0]["relationship_ids"]

    assert [relationship_id] == await ids(known_at=before.isoformat())
    assert [successor] == await ids(known_at=memory.clock.advance(minutes=1).isoformat())
    assert [successor] == await ids(valid_at=START.isoformat())


async def test_supports_are_copied_with_their_origin_however_many(memory: Memory) -> None:
    """More than 200 supports, each with its span, its quote and the support that it comes from."""
    ann = await memory.key()
    relationship_id = ""
    for start in range(0, 220, 20):
        texts = [{"content": f"Note {number}: Mark works on Atlas."} for number in range(start, start + 20)]
        answer = await memory.remember(ann, evidence=texts, relationships=[a_relationship("Mark", "works_on", "Atlas", evidence=range(20))])
        relationship_id = answer["relationship_results"][0]["splits"][0]["relationship_id"]
    version = memory.sql("select version from commonlore.relationship")[0][0]

    answer = await memory.correct(ann, relationship_id, version=version, patch={"polarity": "-"})

    assert (
        220
        == memory.sql(
            "select support_count from commonlore.relationship where relationship_id = %s",
            answer["correction_result"]["successor"]["relationship_id"],
        )[0][0]
    )
    assert [(220, 220)] == memory.sql(
        "select count(*), count(distinct o.support_id) from commonlore.relationship_support c join commonlore.relationship_support o "
        "on o.support_id = c.copied_from and (o.evidence_id, o.span_start, o.span_end, o.quote, o.source_group_key) "
        "= (c.evidence_id, c.span_start, c.span_end, c.quote, c.source_group_key)"
    )


async def test_the_document_and_its_vector_are_there_when_it_returns(memory: Memory) -> None:
    ann = await memory.key()

    _, outcome, trace = await a_corrected(memory, ann, {"object_entity": {"name": "Zanzibar", "create_if_missing": True}})
    found = await memory.recall(ann, "Zanzibar", relationship_limit=5)

    assert ["current"] == [item["search_state"] for item in trace["search_documents"]]
    assert "object: Zanzibar" in trace["search_documents"][0]["document_text"]
    assert [outcome["successor"]["relationship_id"]] == [item["relationship_id"] for item in found["related_relationships"]] or found["results"]


async def test_the_one_current_object_is_corrected(memory: Memory) -> None:
    """The successor takes the current place of a predicate of cardinality one; another rival there gives way."""
    ann = await memory.key()
    wrong = await memory.relate(ann, "Atlas primary database is Oracle.", "Atlas", "primary_database", "Oracle", kinds=("project", "product"))
    other = await memory.relate(ann, "Orion primary database is Redis.", "Orion", "primary_database", "Redis", kinds=("project", "product"))

    first = await memory.correct(ann, wrong, patch={"object_entity": {"name": "Redis", "entity_kind": "product"}})
    second = await memory.correct(
        ann,
        other,
        patch={"subject_entity": {"name": "Atlas", "entity_kind": "project"}, "object_entity": {"name": "Oracle", "entity_kind": "product"}},
    )

    assert "created" == first["correction_result"]["successor"]["disposition"]
    assert "reactivated" == second["correction_result"]["successor"]["disposition"]
    assert [(wrong,)] == memory.sql("select relationship_id::text from commonlore.relationship where status = 'active'")


async def test_a_correction_to_what_the_author_said_already_joins_it(memory: Memory) -> None:
    ann = await memory.key()
    wrong = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    right = await memory.relate(ann, "Mark works on Orion.", "Mark", "works_on", "Orion")

    answer = await memory.correct(ann, wrong, patch={"object_entity": {"name": "Orion", "entity_kind": "project"}})

    assert {"relationship_id": right, "relationship_version": 2, "status": "active", "disposition": "joined"} == answer["correction_result"][
        "successor"
    ]
    assert [(2,)] == memory.sql("select support_count from commonlore.relationship where status = 'active'")


async def test_an_inactive_identity_is_reactivated(memory: Memory) -> None:
    """Correcting there and back gives the first relationship again, with its supports once."""
    ann = await memory.key()
    first = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    there = await memory.correct(ann, first, patch={"polarity": "-"})
    second = there["correction_result"]["successor"]["relationship_id"]

    back = await memory.correct(ann, second, patch={"polarity": "+"})

    assert {"relationship_id": first, "relationship_version": 3, "status": "active", "disposition": "reactivated"} == back["correction_result"][
        "successor"
    ]
    assert [(first, 1, None)] == memory.sql(
        "select relationship_id::text, support_count, corrected_by from commonlore.relationship where status = 'active'"
    )


async def test_a_held_text_counts_for_the_successor_once_it_is_released(memory: Memory) -> None:
    """It said what was corrected, as the others did: after the release recall shows it beside the successor."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    told = await memory.remember(ann, content="So Mark works on Atlas.", relationships=[a_relationship("Mark", "works_on", "Atlas")])
    held = told["evidence"][0]["evidence_id"]
    await memory.quarantine(ann, held)

    done = await memory.correct(ann, relationship_id, version=3, patch={"scope": "office"})
    waiting = memory.sql("select support_count, source_group_count from commonlore.relationship where status = 'active'")
    await memory.quarantine(ann, held, held=False)
    shown = await memory.recall(ann, "Mark works on Atlas")

    assert ([(1, 1)], [(2, 2)]) == (
        waiting,
        memory.sql("select support_count, source_group_count from commonlore.relationship where status = 'active'"),
    )
    assert {held: [done["correction_result"]["successor"]["relationship_id"]]}.items() <= {
        item["evidence_id"]: item["relationship_ids"] for item in shown["results"]
    }.items()


# --- rejections


async def an_ambiguity(memory: Memory, ann: Holder) -> str:
    """A relationship, and two entities called Apple."""
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    await memory.relate(ann, "Apple works on Atlas.", "Apple", "works_on", "Atlas", kinds=("person", "project"))
    await memory.relate(ann, "Apple likes Atlas.", "Apple", "likes", "Atlas", kinds=("organization", "project"))
    return relationship_id


APPLE = {"object_entity": {"name": "Apple"}}


@pytest.mark.parametrize(
    ("code", "request_fields"),
    [
        ("relationship_version_stale", {"version": 7, "patch": {"polarity": "-"}}),
        (
            "support_set_mismatch",
            {"patch": {"polarity": "-"}, "supports": [{"evidence_id": "01982f00-0000-7000-8000-000000000001", "start": 0, "end": 4}]},
        ),
        ("entity_not_found", {"patch": {"object_entity": {"entity_id": "01982f00-0000-7000-8000-000000000001"}}}),
        ("entity_not_found", {"patch": {"object_entity": {"name": "Nowhere"}}}),
        ("predicate_not_found", {"patch": {"predicate": {"key": "never_heard_of"}}}),
        ("predicate_object_kind_mismatch", {"patch": {"predicate": {"key": "released"}}}),
        ("no_change", {"patch": {}}),
        ("no_change", {"patch": {"polarity": "+", "object_entity": {"name": "atlas", "entity_kind": "project"}}}),
        ("validity_reversed", {"patch": {"valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}}),
    ],
)
async def test_a_rejected_correction_says_why_and_changes_nothing(memory: Memory, code: str, request_fields: dict[str, Any]) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    before = state(memory)

    answer = await memory.correct(ann, relationship_id, **request_fields)

    assert ("rejected", code, None, None) == tuple(answer.get(name) for name in ("processing_state", "reason", "correction_result", "submission_id"))
    assert answer["message"] and answer["remediation"]
    assert before == state(memory)


async def test_only_an_active_relationship_is_corrected(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id, _, _ = await a_corrected(memory, ann, {"polarity": "-"})

    answer = await memory.correct(ann, relationship_id, version=2, patch={"scope": "x"})

    assert "relationship_not_active" == answer["reason"]


async def test_a_subject_of_a_kind_that_the_predicate_does_not_take(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    await memory.relate(ann, "Atlas uses Zig.", "Atlas", "uses", "Zig", kinds=("project", "product"))
    memory.sql("update commonlore.predicate_definition set subject_kinds = '{project}' where predicate_key = 'uses'")

    answer = await memory.correct(ann, relationship_id, patch={"predicate": {"key": "uses"}})

    assert ("predicate_subject_kind_mismatch", "the subject of uses is one of: project") == (answer["reason"], answer["message"])


async def test_more_candidates_than_a_person_can_choose_from(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await an_ambiguity(memory, ann)
    kinds = ("project", "product", "place", "document", "concept")
    for kind in kinds * 2:
        memory.sql(
            "with e as (insert into commonlore.entity select team_id, space_epoch, gen_random_uuid(), %s, 'active', 1, known_from from commonlore.entity limit 1 returning *) "
            "insert into commonlore.entity_name (team_id, space_epoch, entity_name_id, entity_id, entity_kind, display_name, name_key, name_kind, known_from) "
            "select team_id, space_epoch, gen_random_uuid(), entity_id, entity_kind, 'Apple', 'apple', 'canonical', known_from from e",
            kind,
        )

    answer = await memory.correct(ann, relationship_id, patch=APPLE)

    assert "too_many_entity_candidates" == answer["reason"]


async def test_another_author_s_relationship_is_not_corrected(memory: Memory) -> None:
    """A reader is told so; who may not read learns nothing; another team learns nothing."""
    ann, bob = await memory.key(), await memory.key()
    blind, foreign = await memory.key(scopes=("write",)), await memory.key("other")
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    private = await memory.relate(ann, "Mark likes tea.", "Mark", "likes", "tea", target_space="private")
    before = state(memory)

    assert "wrong_owner" == (await memory.correct(bob, relationship_id, patch={"polarity": "-"}))["reason"]
    said = set()
    for holder, target in ((blind, relationship_id), (foreign, relationship_id), (bob, private), (bob, "01982f00-0000-7000-8000-000000000001")):
        with pytest.raises(CommonloreError) as caught:
            await memory.correct(holder, target, patch={"polarity": "-"})
        said.add((caught.value.code, caught.value.message))
    reader = await memory.key(scopes=("read",))
    with pytest.raises(CommonloreError, match="scope write"):
        await memory.correct(reader, relationship_id, patch={"polarity": "-"})

    assert {("not_found", "no relationship of this id is visible to this credential")} == said
    assert before == state(memory)


# --- confirmation


async def test_an_ambiguous_name_is_settled_by_a_selection(memory: Memory) -> None:
    """The candidates are named, the token is stored nowhere, and a repeated call gives the same token."""
    ann = await memory.key()
    relationship_id = await an_ambiguity(memory, ann)

    asked = await memory.correct(ann, relationship_id, patch=APPLE, idempotency_key="k")
    again = await memory.correct(ann, relationship_id, patch=APPLE, idempotency_key="k")
    chosen = next(item for item in asked["candidates"]["object"] if item["entity_kind"] == "organization")
    fields = {"action": "confirm", "submission_id": asked["submission_id"], "confirmation_token": asked["confirmation_token"]}
    done = await memory.correct(ann, relationship_id, version=None, **fields, selection={"object_entity_id": chosen["entity_id"]})
    late = await memory.correct(ann, relationship_id, version=None, **fields, selection={"object_entity_id": chosen["entity_id"]})

    assert ("awaiting_confirmation", None, [], 2) == (
        asked["processing_state"], asked["correction_result"], asked["candidates"]["subject"], len(asked["candidates"]["object"])
    )  # fmt: skip
    assert asked == again
    assert [] == memory.sql("select 1 from commonlore.submission where result like '%%' || %s || '%%'", asked["confirmation_token"])
    assert ("completed", asked["submission_id"]) == (done["processing_state"], done["submission_id"])
    assert (
        chosen["entity_id"]
        == (await memory.trace(ann, done["correction_result"]["successor"]["relationship_id"]))["relationship"]["object"]["entity_id"]
    )
    assert "confirmation_expired" == late["reason"]


@pytest.mark.parametrize("code", ["confirmation_expired", "relationship_changed", "support_set_changed", "persistent_ambiguity"])
async def test_a_confirmation_meets_a_state_that_moved_on(memory: Memory, code: str) -> None:
    """Nothing of the relationship changes; what is settled for good is not asked again."""
    ann = await memory.key()
    relationship_id = await an_ambiguity(memory, ann)
    asked = await memory.correct(ann, relationship_id, patch=APPLE)
    chosen = asked["candidates"]["object"][0]["entity_id"]
    if code == "confirmation_expired":
        memory.clock.advance(minutes=16)
    elif code == "relationship_changed":
        await memory.relate(ann, "Also: Mark works on Atlas.", "Mark", "works_on", "Atlas")
    elif code == "support_set_changed":
        memory.sql(
            "insert into commonlore.evidence_exclusion select team_id, space_epoch, evidence_id, 'quarantined', known_from "
            "from commonlore.relationship_support where relationship_id = %s",
            relationship_id,
        )
    else:
        chosen = "01982f00-0000-7000-8000-000000000001"
    before = memory.sql("select r::text from commonlore.relationship r order by 1")

    fields = {"action": "confirm", "submission_id": asked["submission_id"], "confirmation_token": asked["confirmation_token"]}
    answer = await memory.correct(ann, relationship_id, version=None, **fields, selection={"object_entity_id": chosen})

    assert ("rejected", code) == (answer["processing_state"], answer["reason"])
    assert before == memory.sql("select r::text from commonlore.relationship r order by 1")
    after = "awaiting_confirmation" if code == "confirmation_expired" else "rejected"
    assert [(after,)] == memory.sql("select state from commonlore.relationship_correction")


async def test_a_wrong_token_or_another_member_confirms_nothing(memory: Memory) -> None:
    ann, bob = await memory.key(), await memory.key()
    relationship_id = await an_ambiguity(memory, ann)
    asked = await memory.correct(ann, relationship_id, patch=APPLE)
    selection = {"object_entity_id": asked["candidates"]["object"][0]["entity_id"]}

    for holder, token in ((ann, "0" * 64), (bob, asked["confirmation_token"])):
        with pytest.raises(CommonloreError) as caught:
            await memory.correct(
                holder,
                relationship_id,
                version=None,
                action="confirm",
                submission_id=asked["submission_id"],
                confirmation_token=token,
                selection=selection,
            )
        assert "not_found" == caught.value.code


# --- idempotency and concurrency


async def test_a_repeated_correction_is_made_once(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    first = await memory.correct(ann, relationship_id, patch={"polarity": "-"}, idempotency_key="k")
    again = await memory.correct(ann, relationship_id, patch={"polarity": "-"}, idempotency_key="k")
    with pytest.raises(CommonloreError) as caught:
        await memory.correct(ann, relationship_id, patch={"scope": "x"}, idempotency_key="k")

    assert first == again
    assert "idempotency_conflict" == caught.value.code
    assert [(1,)] == memory.sql("select count(*) from commonlore.relationship_correction")


async def test_of_two_corrections_at_once_one_wins(database: TestDatabase) -> None:
    """The others find another version; there is one successor."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

        answers = await asyncio.gather(*(memory.correct(ann, relationship_id, patch={"scope": f"s{number}"}) for number in range(6)))

        assert ["completed", *["relationship_version_stale"] * 5] == sorted(answer.get("reason", answer["processing_state"]) for answer in answers)
        assert [("active", 1), ("superseded", 1)] == memory.sql("select status, count(*) from commonlore.relationship group by 1 order by 1")


async def test_a_correction_and_a_repeated_statement_at_once(database: TestDatabase) -> None:
    """Whoever comes first: no deadlock, no double row, and versions without a gap."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        for turn in range(6):
            name = f"Atlas{turn}"
            relationship_id = await memory.relate(ann, f"Mark works on {name}.", "Mark", "works_on", name)
            await asyncio.wait_for(
                asyncio.gather(
                    memory.correct(ann, relationship_id, patch={"polarity": "-"}),
                    memory.relate(ann, f"Again: Mark works on {name}.", "Mark", "works_on", name),
                ),
                20,
            )

        assert [] == memory.sql(
            "select r.relationship_id from commonlore.relationship r left join commonlore.relationship_transition_event t using (relationship_id) "
            "group by r.relationship_id, r.version having count(*) <> r.version or max(t.version) <> r.version"
        )


async def test_history_rows_are_never_changed_by_a_correction(memory: Memory) -> None:
    """What was written stays as it was; the relationship itself takes a new version."""
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    history = ("relationship_observation", "verification_event", "relationship_support", "support_decision_event", "relationship_transition_event")
    before = {table: {row[0] for row in memory.sql(f"select t::text from commonlore.{table} t")} for table in history}

    await memory.correct(ann, relationship_id, patch={"object_entity": {"name": "Orion", "create_if_missing": True}, "scope": "x"})

    assert {} == {
        table: gone for table in history if (gone := before[table] - {row[0] for row in memory.sql(f"select t::text from commonlore.{table} t")})
    }
