"""Merging, splitting and naming entities, and taking it back."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from commonlore.db.rendering import render_documents
from commonlore.db.session import make_pool
from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.identity import administer, an_admin, entity_id, world
from tests.support.memory import Holder, Memory, a_relationship
from tests.support.postings import DOCUMENT_POSTINGS


async def two_names(memory: Memory, holder: Holder) -> tuple[str, str]:
    """Dense-Mem and DenseMem, each with two statements, one of them said of both; the ids of both."""
    await memory.relate(holder, "Mark works on DenseMem.", "Mark", "works_on", "DenseMem")
    await memory.relate(holder, "DenseMem uses Zig.", "DenseMem", "uses", "Zig", kinds=("project", "product"))
    await memory.relate(holder, "Dense-Mem uses Zig too.", "Dense-Mem", "uses", "Zig", kinds=("project", "product"))
    return entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem")


async def merged(memory: Memory, holder: Holder, from_id: str, to_id: str) -> dict[str, Any]:
    return await administer(memory, holder, "merge_entities", from_entity_id=from_id, to_entity_id=to_id, apply=True)


def history(memory: Memory) -> dict[str, set[str]]:
    tables = ("relationship_observation", "verification_event", "relationship_support", "support_decision_event", "relationship_transition_event")
    return {table: {row[0] for row in memory.sql(f"select t::text from commonlore.{table} t")} for table in tables}


async def test_a_preview_changes_nothing_and_says_what_would(memory: Memory) -> None:
    ann = await an_admin(memory)
    first, second = await two_names(memory, ann)
    before = memory.sql("select r::text from commonlore.relationship r order by 1")

    answer = await administer(memory, ann, "merge_entities", from_entity_id=first, to_entity_id=second)

    assert (None, "DenseMem", "Dense-Mem", 1, 1, 0, ["DenseMem"]) == (
        answer["correction_id"], answer["from_name"], answer["to_name"], answer["repointed"]["count"], answer["joined"]["count"],
        answer["displaced"]["count"], answer["names_learned"],
    )  # fmt: skip
    assert before == memory.sql("select r::text from commonlore.relationship r order by 1")
    assert [(0,)] == memory.sql("select count(*) from commonlore.entity_correction")


async def test_a_merge_lets_everything_be_said_of_one(memory: Memory) -> None:
    """New rows name it, the old ones stand for them, equal statements are one group, and both names find it."""
    ann = await an_admin(memory)
    first, second = await two_names(memory, ann)
    before = history(memory)

    await merged(memory, ann, first, second)
    found = await memory.recall(ann, "who works on dense mem and what does it use", relationship_limit=20)
    again = await memory.relate(ann, "DenseMem likes tea.", "DenseMem", "likes", "tea", kinds=("project", "other"))

    active = memory.sql(
        "select relationship_id::text, support_count from commonlore.relationship where status = 'active' and identity_alias_of is null and predicate_key <> 'likes' order by predicate_key"
    )
    assert [2, 1] == [count for _, count in active]
    assert {row[0] for row in active} == {key for item in found["results"] for key in item["relationship_ids"]}
    assert second == (await memory.trace(ann, again))["relationship"]["subject"]["entity_id"]
    assert all(before[table] <= now for table, now in history(memory).items())
    assert [] == memory.sql(
        "select relationship_id from commonlore.relationship r join commonlore.relationship_transition_event t using (relationship_id) "
        "group by relationship_id, r.version having count(*) <> r.version"
    )


async def test_the_old_id_still_traces_and_still_means_the_entity(memory: Memory) -> None:
    """A trace shows the alias, the lineage and the merge; a proposal that names the old id is about the one it lives on in."""
    ann = await an_admin(memory)
    first, second = await two_names(memory, ann)
    old = memory.sql("select relationship_id::text from commonlore.relationship where predicate_key = 'works_on'")[0][0]

    done = await merged(memory, ann, first, second)
    trace = await memory.trace(ann, old)
    proposal = {
        "ref": "r", "subject": {"known_entity_id": first}, "predicate": {"proposed_key": "likes"},
        "object": {"entity": {"name": "tea"}}, "evidence_indices": [0],
    }  # fmt: skip
    answer = await memory.remember(ann, content="Dense-Mem likes tea.", relationships=[proposal])

    assert ("superseded", trace["supersession_lineage"][-1]["relationship_id"]) == (
        trace["relationship"]["relationship_status"], trace["relationship"]["identity_alias_of"],
    )  # fmt: skip
    assert [(done["correction_id"], "merge", "repointed")] == [
        (str(item["correction_id"]), item["action"], item["effect"]) for item in trace["identity_corrections"]
    ]
    assert second == answer["relationship_results"][0]["subject_entity_id"]


async def test_what_was_known_before_a_merge_stays_known(memory: Memory) -> None:
    ann = await an_admin(memory)
    first, second = await two_names(memory, ann)
    old = memory.sql("select relationship_id::text from commonlore.relationship where predicate_key = 'works_on'")[0][0]
    before = memory.clock.advance(minutes=1)

    await merged(memory, ann, first, second)
    then = await memory.recall(ann, "Mark works", known_at=before.isoformat(), relationship_limit=20)
    now = await memory.recall(ann, "Mark works", known_at=memory.clock.advance(minutes=1).isoformat(), relationship_limit=20)

    assert [old] == then["results"][0]["relationship_ids"]
    assert old not in now["results"][0]["relationship_ids"] and 1 == len(now["results"][0]["relationship_ids"])


async def test_a_merge_that_is_taken_back_leaves_all_as_before(memory: Memory) -> None:
    """B144-c: relationships, history and evidence links; only versions and events were added."""
    ann, bob = await an_admin(memory), await memory.key()
    first, second = await two_names(memory, ann)
    await memory.relate(bob, "Bob says: DenseMem uses Zig.", "DenseMem", "uses", "Zig", kinds=("project", "product"))
    for holder, name, store in ((ann, "DenseMem", "Oracle"), (ann, "Dense-Mem", "Redis")):
        await memory.relate(holder, f"{name} primary database is {store}.", name, "primary_database", store, kinds=("project", "product"))
    ids = [row[0] for row in memory.sql("select relationship_id::text from commonlore.relationship order by 1")]
    before, events = await world(memory, ann, ids), history(memory)

    done = await merged(memory, ann, first, second)
    between = await world(memory, ann, ids)
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert before != between
    assert before == await world(memory, ann, ids)
    assert all(events[table] <= now for table, now in history(memory).items())
    assert [(1,)] == memory.sql("select count(*) from commonlore.entity_name where name_key = 'densemem' and known_to is null")
    with pytest.raises(CommonloreError) as caught:
        await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])
    assert "stale_input" == caught.value.code


async def test_the_later_statement_keeps_the_one_current_place(memory: Memory) -> None:
    ann = await an_admin(memory)
    for name, store in (("DenseMem", "Oracle"), ("Dense-Mem", "Redis")):
        await memory.relate(ann, f"{name} primary database is {store}.", name, "primary_database", store, kinds=("project", "product"))

    answer = await merged(memory, ann, entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem"))

    assert 0 == answer["displaced"]["count"]
    assert [("Redis",)] == memory.sql(
        "select n.display_name from commonlore.relationship r join commonlore.entity_name n on n.entity_id = r.object_entity_id where r.status = 'active'"
    )


async def test_what_was_stated_after_a_merge_stays_with_the_entity_that_was_kept(memory: Memory) -> None:
    ann = await an_admin(memory)
    first, second = await two_names(memory, ann)
    done = await merged(memory, ann, first, second)
    await memory.relate(ann, "Once more: Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")

    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert [(first, "active", 1), (second, "active", 1)] == sorted(
        memory.sql("select object_entity_id::text, status, support_count from commonlore.relationship where predicate_key = 'works_on'"),
        key=lambda row: row[0] != first,
    )


async def test_a_split_gives_some_relationships_to_a_new_entity_and_is_taken_back(memory: Memory) -> None:
    ann = await an_admin(memory)
    label = await memory.relate(ann, "Apple signs Beatles.", "Apple", "signs", "Beatles", kinds=("organization", "other"))
    phone = await memory.relate(ann, "Apple sells phones.", "Apple", "sells", "phones", kinds=("organization", "other"))
    before = await world(memory, ann, [label, phone])

    done = await administer(
        memory, ann, "split_entity", entity_id=entity_id(memory, "Apple"), relationship_ids=[label], name="Apple Records", apply=True
    )
    shown_ = (await memory.trace(ann, (await memory.trace(ann, label))["relationship"]["identity_alias_of"]))["relationship"]
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert ("Apple Records", "active", 1) == (shown_["subject"]["name"], shown_["relationship_status"], shown_["support_count"])
    assert before == await world(memory, ann, [label, phone])
    with pytest.raises(CommonloreError) as caught:
        await administer(memory, ann, "split_entity", entity_id=entity_id(memory, "Apple"), relationship_ids=[done["correction_id"]], name="X")
    assert "/relationship_ids/0" == caught.value.problems[0].pointer


async def test_a_rename_keeps_the_former_name_and_writes_documents_anew(memory: Memory) -> None:
    ann = await an_admin(memory)
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    done = await administer(memory, ann, "rename_entity", entity_id=entity_id(memory, "Atlas"), name="Orion")
    await memory.run_embedding(ann)
    trace = await memory.trace(ann, relationship_id)

    assert ("Atlas", 1, 0) == (done["former_name"], done["documents_written"], done["documents_waiting"])
    assert ("Orion", "current") == (trace["relationship"]["object"]["name"], trace["search_documents"][0]["search_state"])
    assert "object: Orion" in trace["search_documents"][0]["document_text"]
    assert [("former", True), ("canonical", False)] == memory.sql(
        "select name_kind, known_to is not null from commonlore.entity_name where display_name in ('Atlas', 'Orion') order by known_from"
    )
    assert memory.sql("select sum(documents)::int from commonlore.relationship_statistic") == memory.sql(
        "select count(*)::int from commonlore.relationship_document"
    )


async def test_a_name_that_another_entity_carries_is_told(memory: Memory) -> None:
    """A rename and an alias say who else carries the name; a former name and a retired entity carry none."""
    ann = await an_admin(memory)
    for name in ("Atlas", "Orion", "Vega"):
        await memory.relate(ann, f"Mark works on {name}.", "Mark", "works_on", name)
    atlas, orion, vega = (entity_id(memory, name) for name in ("Atlas", "Orion", "Vega"))

    alias = await administer(memory, ann, "add_entity_alias", entity_id=atlas, name="orion")
    renamed = await administer(memory, ann, "rename_entity", entity_id=vega, name="Orion")
    again = await administer(memory, ann, "rename_entity", entity_id=vega, name="Lyra")
    await administer(memory, ann, "merge_entities", from_entity_id=orion, to_entity_id=atlas, apply=True)
    last = await administer(memory, ann, "rename_entity", entity_id=vega, name="Orion")

    assert [[orion], sorted((atlas, orion)), [], [atlas]] == [item["namesake_entity_ids"] for item in (alias, renamed, again, last)]


async def test_more_than_two_hundred_documents_are_written_by_a_job(memory: Memory) -> None:
    """In batches; running it twice writes nothing twice."""
    ann = await an_admin(memory)
    for start in range(0, 240, 40):
        names = [f"Member{number}" for number in range(start, start + 40)]
        proposals = [
            {
                "ref": name,
                "subject": {"name": name},
                "predicate": {"proposed_key": "likes"},
                "object": {"entity": {"name": "Atlas"}},
                "evidence_indices": [0],
            }
            for name in names
        ]
        await memory.remember(ann, content=f"{', '.join(names)}: all of them like Atlas.", relationships=proposals)
    atlas = entity_id(memory, "Atlas")

    done = await administer(memory, ann, "rename_entity", entity_id=atlas, name="Orion")
    pool = make_pool(memory.database.worker_conninfo, size=1, name="test-worker")
    await pool.open()
    try:
        space_id = memory.sql("select space_id from commonlore.space where space_kind = 'team_shared'")[0][0]
        written = [
            await render_documents(pool, team_id=ann.team_id, space_id=space_id, entity_id=msgspec.convert(atlas, type=type(space_id)))
            for _ in range(2)
        ]
    finally:
        await pool.close()

    assert (200, 40, [40, 0]) == (done["documents_written"], done["documents_waiting"], written)
    assert [(240,)] == memory.sql("select count(*) from commonlore.relationship_document where document_text like '%%Orion%%'")
    assert [(1,)] == memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'render_documents'")


async def test_an_alias_finds_the_entity_and_grounds_it(memory: Memory) -> None:
    ann = await an_admin(memory)
    await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    atlas = entity_id(memory, "Atlas")

    await administer(memory, ann, "add_entity_alias", entity_id=atlas, name="the big one")
    other = await memory.relate(ann, "Zoe works on the big one.", "Zoe", "works_on", "The Big One")

    assert ("active", atlas) == memory.sql("select status, object_entity_id::text from commonlore.relationship where relationship_id = %s", other)[0]
    with pytest.raises(CommonloreError, match="does not carry yet"):
        await administer(memory, ann, "add_entity_alias", entity_id=atlas, name="THE BIG ONE")


async def test_candidates_are_paged_pairs(memory: Memory) -> None:
    ann = await an_admin(memory)
    await two_names(memory, ann)
    await memory.relate(ann, "Zig likes Zig.", "Zig", "likes", "Mark", kinds=("place", "person"))

    first = await administer(memory, ann, "list_entity_candidates", limit=1)
    second = await administer(memory, ann, "list_entity_candidates", limit=1, cursor=first["next_cursor"])

    assert {"near_name", "same_name"} == {first["candidates"][0]["rule"], second["candidates"][0]["rule"]}
    assert None is second["next_cursor"]


async def test_only_an_administrator_corrects_identity(memory: Memory) -> None:
    """Without the scope it is refused; ids of another team are nothing here."""
    ann, bob, foreign = await an_admin(memory), await memory.key(), await memory.key("other", scopes=("admin",))
    first, second = await two_names(memory, ann)

    for holder, code in ((bob, "unauthorized_scope"), (foreign, "not_found")):
        with pytest.raises(CommonloreError) as caught:
            await merged(memory, holder, first, second)
        assert code == caught.value.code
    with pytest.raises(CommonloreError) as caught:
        await merged(memory, ann, first, first)
    assert "/to_entity_id" == caught.value.problems[0].pointer


async def test_a_merge_and_statements_about_either_name_at_once(database: TestDatabase) -> None:
    """Whoever comes first: no deadlock, and nothing active names the entity that is gone."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await an_admin(memory)
        first, second = await two_names(memory, ann)

        await asyncio.wait_for(
            asyncio.gather(
                *(memory.relate(ann, f"Zoe{n} works on DenseMem.", f"Zoe{n}", "works_on", "DenseMem") for n in range(4)),
                merged(memory, ann, first, second),
                *(memory.relate(ann, f"Eve{n} works on Dense-Mem.", f"Eve{n}", "works_on", "Dense-Mem") for n in range(4)),
            ),
            30,
        )

        assert [] == memory.sql(
            "select 1 from commonlore.relationship where status = 'active' and %s::uuid in (subject_entity_id, object_entity_id)", first
        )
        assert [(9,)] == memory.sql("select count(*) from commonlore.relationship where status = 'active' and predicate_key = 'works_on'")


# --- predicates


async def test_a_definition_is_a_new_version_and_changes_no_relationship(memory: Memory) -> None:
    """A cardinality of one names who holds several current objects, and leaves them; a later statement is held to it."""
    ann = await an_admin(memory)
    ids = [
        await memory.relate(ann, f"Atlas located in {name}.", "Atlas", "located_in", name, kinds=("project", "place")) for name in ("Basel", "Lisbon")
    ]
    before = memory.sql("select r::text from commonlore.relationship r order by 1")

    done = await administer(memory, ann, "define_predicate", key="located in", expected_version=1, current_cardinality="one", add_aliases=["sits in"])
    listed = await administer(memory, ann, "list_predicates")

    assert ("located_in", 2, ["sits_in"], "one") == tuple(done["predicate"][name] for name in ("key", "version", "aliases", "current_cardinality"))
    assert [ids] == [item["relationship_ids"] for item in done["several_current"]]
    assert [("located_in", 2)] == [(item["key"], item["version"]) for item in listed["predicates"]]
    assert before == memory.sql("select r::text from commonlore.relationship r order by 1")
    assert [(1, "many"), (2, "one")] == memory.sql("select version, current_cardinality from commonlore.predicate_definition order by 1")
    for name in ("Porto", "Faro"):
        await memory.relate(ann, f"Orion sits in {name}.", "Orion", "sits in", name, kinds=("project", "place"))
    assert [("active", 1), ("superseded", 1)] == memory.sql(
        "select status, count(*) from commonlore.relationship where current_cardinality = 'one' and predicate_key = 'located_in' group by 1 order by 1"
    )


@pytest.mark.parametrize("state", ["deprecated", "retired"])
async def test_a_predicate_that_is_not_active_takes_nothing_new(memory: Memory, state: str) -> None:
    """What stands stays; proposals are not stored, and a correction to it is rejected."""
    ann = await an_admin(memory)
    stands = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    other = await memory.relate(ann, "Mark likes Atlas.", "Mark", "likes", "Atlas")

    await administer(memory, ann, "define_predicate", key="works_on", expected_version=1, lifecycle_state=state)
    answer = await memory.remember(ann, content="Zoe works on Atlas.", relationships=[a_relationship("Zoe", "works_on", "Atlas")])
    corrected = await memory.correct(ann, other, patch={"predicate": {"key": "works_on"}})

    assert "predicate_needs_review" == answer["relationship_results"][0]["reason"]
    assert "predicate_not_found" == corrected["reason"]
    assert "active" == (await memory.trace(ann, stands))["relationship"]["relationship_status"]


# --- what moves and comes back with its evidence


def standings(memory: Memory) -> list[tuple[str, str, str, int]]:
    """Canonical relationships by subject, predicate and object: the status and the supports of each."""
    return memory.sql(
        "select s.display_name || ' ' || r.predicate_key || ' ' || o.display_name, r.status, r.support_count from commonlore.relationship r "
        "join commonlore.entity_name s on s.entity_id = r.subject_entity_id and s.name_kind = 'canonical' "
        "join commonlore.entity_name o on o.entity_id = r.object_entity_id and o.name_kind = 'canonical' "
        "where r.identity_alias_of is null order by 1"
    )


async def test_a_held_text_counts_for_the_merged_entity_once_it_is_released(memory: Memory) -> None:
    """The merge carries its support over; after the reversal it counts where it did before."""
    ann = await an_admin(memory)
    await memory.relate(ann, "DenseMem uses Zig.", "DenseMem", "uses", "Zig", kinds=("project", "product"))
    await memory.relate(ann, "Dense-Mem likes tea.", "Dense-Mem", "likes", "tea", kinds=("project", "product"))
    [(held,)] = memory.sql("select evidence_id::text from commonlore.evidence where content like 'DenseMem%%'")
    await memory.quarantine(ann, held)

    done = await merged(memory, ann, entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem"))
    await memory.quarantine(ann, held, held=False)
    shown = await memory.recall(ann, "What uses Zig?")
    released = standings(memory)
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert [("Dense-Mem likes tea", "active", 1), ("Dense-Mem uses Zig", "active", 1)] == released
    assert held in {item["evidence_id"] for item in shown["results"]}
    assert [("Dense-Mem likes tea", "active", 1), ("DenseMem uses Zig", "active", 1)] == standings(memory)


async def test_a_document_says_when_a_joined_statement_ends(memory: Memory) -> None:
    """The end comes over with the statement that is active, and goes back with it."""
    ann = await an_admin(memory)
    kept = await memory.relate(ann, "Dense-Mem uses Zig.", "Dense-Mem", "uses", "Zig", kinds=("project", "product"))
    await memory.relate(ann, "DenseMem uses Zig.", "DenseMem", "uses", "Zig", kinds=("project", "product"), valid_to="2026-06-01T00:00:00Z")
    await memory.retract(ann, *(row[0] for row in memory.sql("select evidence_id::text from commonlore.evidence where content like 'Dense-%%'")))

    async def ends() -> list[str]:
        return [
            line for item in (await memory.trace(ann, kept))["search_documents"] for line in item["document_text"].splitlines() if "valid_to" in line
        ]

    done = await merged(memory, ann, entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem"))
    joined = await ends()
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert (["valid_to: 2026-06-01T00:00:00Z"], []) == (joined, await ends())
    assert [(2,)] == memory.sql(f"select count(*) from {DOCUMENT_POSTINGS} where term = 'zig'")
    assert memory.sql("select count(*) from commonlore.relationship_document") == memory.sql(
        f"select count(*) from {DOCUMENT_POSTINGS} where term = 'relationship'"
    )


async def test_a_reversal_leaves_one_current_object_where_another_was_stated_since(memory: Memory) -> None:
    """Of the two that come back the one that was stated again since is current."""
    ann = await an_admin(memory)

    async def state(text: str, subject: str, store: str) -> None:
        await memory.relate(ann, text, subject, "primary_database", store, kinds=("project", "product"))

    for number, (subject, store) in enumerate([("DenseMem", "Zig"), ("DenseMem", "Mongo"), ("Dense-Mem", "Redis")]):
        await state(f"Note {number}: {subject} runs on {store}.", subject, store)
    done = await merged(memory, ann, entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem"))
    await state("Note 3: Dense-Mem runs on Zig.", "Dense-Mem", "Zig")
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    assert [
        ("Dense-Mem primary_database Redis", "superseded", 1),
        ("Dense-Mem primary_database Zig", "active", 1),
        ("DenseMem primary_database Mongo", "superseded", 1),
        ("DenseMem primary_database Zig", "active", 1),
    ] == standings(memory)


async def test_a_support_that_a_reversal_took_back_counts_again_where_its_text_says_so(memory: Memory) -> None:
    """The text names both: said of the other one, and again of this one after the merge was taken back."""
    ann = await an_admin(memory)
    kinds, text = ("project", "product"), "DenseMem or Dense-Mem uses Zig."
    await memory.relate(ann, text, "DenseMem", "uses", "Zig", kinds=kinds)
    own = await memory.remember(ann, content="Dense-Mem uses Zig.", relationships=[a_relationship("Dense-Mem", "uses", "Zig", kinds=kinds)])
    done = await merged(memory, ann, entity_id(memory, "DenseMem"), entity_id(memory, "Dense-Mem"))
    await memory.retract(ann, own["evidence"][0]["evidence_id"])
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])
    waiting = standings(memory)

    await memory.relate(ann, text, "Dense-Mem", "uses", "Zig", kinds=kinds)

    assert [("Dense-Mem uses Zig", "pending_evidence", 0), ("DenseMem uses Zig", "active", 1)] == waiting
    assert [("Dense-Mem uses Zig", "active", 1), ("DenseMem uses Zig", "active", 1)] == standings(memory)
