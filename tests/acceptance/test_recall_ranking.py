"""The eighteen acceptance invariants of the ranking page, one test each, on the real service; the number is in the docstring.

Each has at least one mutation in tests/mutation that turns it red.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from commonlore.api.service import MemoryOperations
from commonlore.domain.errors import CommonloreError, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.time import render_instant
from tests.support.communities import detect, enable
from tests.support.conflicts import contest, decide
from tests.support.faults import break_space, mend
from tests.support.memory import Holder, Memory, a_relationship, contexts, shown
from tests.support.planned import (
    FIRST,
    PlannedEmbedder,
    ServedFailing,
    codes,
    groups_by_lane,
    lane_ids,
    set_generation,
    subjects,
)

DATABASE = ("project", "product")
FOLLOW_UP: dict[str, Any] = {"query": "pelican unrelated", "limit": 1, "relationship_limit": 20}


async def likers(memory: Memory, holder: Holder, *names: str, **fields: Any) -> list[str]:
    """A first text that says nothing, then one relationship a name; their ids."""
    await memory.remember_all(holder, [FIRST], **fields)
    return [await memory.relate(holder, f"{name} likes zebra.", name, "likes", "zebra", **fields) for name in names]


async def neighbourhoods(memory: Memory, *, publish: bool = True) -> tuple[Holder, list[str]]:
    """Two communities, of Atlas and of zebras, and one statement that is in none; the ids of all nine relationships."""
    ann = await memory.key()
    await memory.remember_all(ann, [FIRST])
    ids = [await memory.relate(ann, f"Zoe{number} works on Atlas.", f"Zoe{number}", "works_on", "Atlas") for number in range(4)]
    ids += [await memory.relate(ann, f"Kim{number} likes zebra.", f"Kim{number}", "likes", "zebra") for number in range(4)]
    ids.append(await memory.relate(ann, "Dora lives in Toronto.", "Dora", "lives_in", "Toronto", kinds=("person", "place")))
    await enable(memory, ann)
    if publish:
        assert "completed" == await detect(memory, ann)
    return ann, ids


async def test_results_contain_only_eligible_evidence(memory: Memory) -> None:
    """Invariant 1. Eight ways to be ineligible, at the present and in a view of a time after all of them; what is left is eligible."""
    ann, gone = await memory.key(member="ann", scopes=("read", "write", "admin")), await memory.key(member="gone")
    ben, eve = await memory.key(member="ben"), await memory.key(team="eve")
    fine, retracted, superseded, held = await memory.remember_all(ann, [f"Zebra {word}." for word in ("fine", "retracted", "superseded", "held")])
    await memory.remember(ann, content="Zebra page one.", source_key="page", source_revision="1")
    await memory.remember(ann, content="Zebra page two.", source_key="page", source_revision="2", previous_source_revision="1")
    await memory.remember(ann, content="Zebra newer.", supersedes_evidence_ids=[superseded])
    await memory.retract(ann, retracted)
    await memory.quarantine(ann, held)
    await memory.relate(ann, "Zebra primary database is MySQL.", "Zebra", "primary_database", "MySQL", kinds=DATABASE)
    await memory.relate(ann, "Zebra primary database is Oracle.", "Zebra", "primary_database", "Oracle", kinds=DATABASE)
    await memory.remember_all(gone, ["Zebra of somebody gone."])
    await memory.remember_all(ben, ["Zebra of Ben alone."], target_space="private")
    await memory.remember_all(eve, ["Zebra of another team."])
    memory.sql("update commonlore.profile set retired_at = now() where profile_id = %s", gone.profile_id)
    eligible = {"Zebra fine.", "Zebra page two.", "Zebra newer.", "Zebra primary database is Oracle."}

    now, later = render_instant(memory.clock.now), render_instant(memory.clock.advance(days=1))
    for view in ({}, {"known_at": later}, {"known_at": now}, {"valid_at": later}):
        answer = await memory.recall(ann, "zebra", limit=50, **view)
        assert eligible == set(contexts(answer)), view
        assert fine in [item["evidence_id"] for item in answer["results"]]


async def test_discovery_and_communities_cannot_change_evidence(memory: Memory) -> None:
    """Invariant 2. Whatever is asked of the other lanes, the evidence is the same, and as much of it."""
    ann = await memory.key()
    ids = await likers(memory, ann, *(f"Zoe{number}" for number in range(12)))
    await memory.remember_all(ann, [f"Zebra {'runs ' * (number % 4)}in field {number}." for number in range(20)])
    entity = (await memory.trace(ann, ids[0]))["relationship"]["subject"]["entity_id"]
    plain = (await memory.recall(ann, "zebra likes", limit=9))["results"]
    await enable(memory, ann)
    assert "completed" == await detect(memory, ann)

    assert 9 == len(plain)
    assert (await memory.recall(ann, "zebra likes", limit=9))["related_communities"]
    for fields in (
        {"relationship_limit": 0},
        {"relationship_limit": 1},
        {"relationship_limit": 20},
        {"community_limit": 0},
        {"community_limit": 10, "community_relationship_limit": 20},
        {"known_relationship_ids": ids},
        {"expand_from_entity_ids": [entity]},
        {"expand_from_entity_ids": [str(new_id())], "relationship_limit": 20, "community_limit": 10},
    ):
        assert plain == (await memory.recall(ann, "zebra likes", limit=9, **fields))["results"], fields


async def test_related_relationships_are_active_and_supported(memory: Memory) -> None:
    """Invariant 3. Of every status there is, and with a support that no longer counts, only the active and supported one is related."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    [fine] = await likers(memory, ann, "Zoe")
    assert (await memory.remember(ann, content="Kim went home.", relationships=[a_relationship("Kim", "likes", "zebra")]))["relationship_results"]
    other = [await memory.relate(ann, f"Ada{number} likes zebra.", f"Ada{number}", "likes", "zebra") for number in range(9)]
    texts = [(await memory.trace(ann, key))["evidence_supports"][0]["evidence_id"] for key in other[:2]]
    await memory.retract(ann, texts[0])
    await memory.quarantine(ann, texts[1])
    for key, status in zip(
        other[2:], ("pending_evidence", "needs_review", "quarantined", "superseded", "disputed", "retracted", "rejected"), strict=True
    ):
        memory.sql("update commonlore.relationship set status = %s where relationship_id = %s", status, key)
    unsupported = await memory.relate(ann, "Lou likes zebra.", "Lou", "likes", "zebra")
    memory.sql("update commonlore.relationship set support_count = 0, source_group_count = 0 where relationship_id = %s", unsupported)

    answer = await memory.recall(ann, **FOLLOW_UP)

    assert [fine] == [item["relationship_id"] for item in answer["related_relationships"]]


async def test_relationship_scoring_is_equal_weight_rrf_alone(memory: Memory) -> None:
    """Invariant 4. The order of the lane is 1/(60 + rank) summed over words and meaning; authors, supports and authority change nothing."""
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"]
    lexical = [11, 10, 9, 8, 6, 5, 4, 7]  # best first: the more of the query's words an object has, the better
    names = [f"Zoe{number:02d}" for number in range(13)]
    planned = memory.with_embedder(PlannedEmbedder({name.lower(): 0.9 - number / 20 for number, name in enumerate(names)}))
    ann = await planned.key()
    await planned.remember_all(ann, [FIRST])
    objects = {number: " ".join(words[: len(words) - place]) for place, number in enumerate(lexical)}
    for number, name in enumerate(names):
        target = objects.get(number, f"quiet{number}")
        await planned.relate(ann, f"{name} likes {target}.", name, "likes", target)
    query = {"query": f"pelican unrelated {' '.join(words)}", "limit": 1, "relationship_limit": 20}

    def score(number: int) -> float:
        return 1 / (61 + number) + (1 / (61 + lexical.index(number)) if number in lexical else 0)

    expected = [names[number] for number in sorted(range(13), key=lambda number: (-round(score(number), 12), number))]
    assert expected == subjects(await planned.recall(ann, **query))

    for number in range(5):
        crowd = await planned.key(member=f"crowd{number}")
        for turn in range(2):
            text = f"Voice {number}, time {turn}: Zoe12 likes quiet12."
            await planned.relate(crowd, text, "Zoe12", "likes", "quiet12")
    assert expected == subjects(await planned.recall(ann, **query))


async def test_equivalent_relationships_take_one_slot_and_stay_traceable(memory: Memory) -> None:
    """Invariant 5. Four authors of one statement: one item, spoken for by the earliest, and each row can be traced by its id."""
    holders = [await memory.key(member=f"m{number}") for number in range(4)]
    await likers(memory, holders[0], "Zoe")
    ids = [await memory.relate(holder, f"Voice {number}: Kim likes zebra.", "Kim", "likes", "zebra") for number, holder in enumerate(holders)]
    answer = await memory.recall(holders[3], "pelican unrelated kim", limit=1, relationship_limit=20)

    assert ["Kim", "Zoe"] == sorted(subjects(answer))
    [item] = [item for item in answer["related_relationships"] if item["subject"]["name"] == "Kim"]
    assert (ids[0], sorted(ids[1:]), 4) == (item["relationship_id"], item["equivalent_relationship_ids"], len(item["evidence_ids"]))
    for key, holder in zip(ids, holders, strict=True):
        traced = (await memory.trace(holders[3], key))["relationship"]
        assert (key, str(holder.profile_id)) == (traced["relationship_id"], str(traced["owner_profile_id"]))


async def test_returned_and_known_ids_suppress_their_whole_groups(memory: Memory) -> None:
    """Invariant 6. A returned text, a known text, a known representative and a known equivalent: each hides every row of its group."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    await likers(memory, ann)
    ids = [await memory.relate(holder, f"{name} says Kim likes zebra.", "Kim", "likes", "zebra") for holder, name in ((ann, "Ann"), (ben, "Ben"))]
    texts = [(await memory.trace(ann, key))["evidence_supports"][0]["evidence_id"] for key in ids]

    assert ["Kim"] == subjects(await memory.recall(ann, **FOLLOW_UP))
    for key in ids:
        assert [] == subjects(await memory.recall(ann, **FOLLOW_UP, known_relationship_ids=[key]))
    for key in texts:
        assert [] == subjects(await memory.recall(ann, **FOLLOW_UP, known_evidence_ids=[str(key)]))
    for query in ("Ann says kim", "Ben says kim"):
        assert [] == subjects(await memory.recall(ann, query, limit=1))


async def test_nested_and_direct_relationships_are_disjoint(memory: Memory) -> None:
    """Invariant 7. No group is said in two lanes, nor twice in one, whatever the limits and however often a lane must look deeper."""
    shallow = replace(memory, operations=MemoryOperations(replace(memory.adapters, policy=replace(memory.adapters.policy, depth_rows=3))))
    ann, _ = await neighbourhoods(memory)
    ben = await memory.key(member="ben")
    for number in range(4):
        await memory.relate(ben, f"Ben says Kim{number} likes zebra.", f"Kim{number}", "likes", "zebra")
    nested = 0
    for limit in (1, 3, 9):
        for communities, members in ((0, 5), (1, 2), (10, 1), (10, 20)):
            limits = {"limit": limit, "relationship_limit": 20, "community_limit": communities, "community_relationship_limit": members}
            answer = await shallow.recall(ann, "zebra likes atlas works", **limits)
            lanes, said = groups_by_lane(memory, answer), [key for lane, key in lane_ids(answer) if lane != "results"]
            nested += len(lanes["communities"])
            assert 9 == sum(map(len, lanes.values())) == len(set().union(*lanes.values())), limits
            assert len(said) == len(set(said))
    assert nested


async def test_a_returned_community_contributes_something_new(memory: Memory) -> None:
    """Invariant 8. No community comes without a relationship that neither the results nor the caller had."""
    ann, ids = await neighbourhoods(memory)
    some = await memory.recall(ann, "zebra likes", limit=1, community_limit=10, community_relationship_limit=20)
    lanes = groups_by_lane(memory, some)

    assert 2 == len(some["related_communities"])
    assert all(community["relationships"] for community in some["related_communities"])
    assert lanes["communities"] and set() == lanes["communities"] & lanes["results"]
    for known in (ids, ids[:4], ids[4:8]):
        left = await memory.recall(ann, **FOLLOW_UP, community_limit=10, known_relationship_ids=known)
        expected = [name for name, part in (("Atlas", ids[:4]), ("zebra", ids[4:8])) if not set(part) <= set(known)]
        assert expected == sorted(community["top_entities"][0]["name"] for community in left["related_communities"])
        assert [] == codes(left)


async def test_what_no_community_says_stays_eligible_for_direct_fallback(memory: Memory) -> None:
    """Invariant 9. Singletons and members beyond a community's limit are related directly, as long as the direct lane has room."""
    ann, ids = await neighbourhoods(memory)
    query = {"query": "pelican unrelated zebra atlas", "limit": 1, "relationship_limit": 20}

    for communities, members, nested in ((0, 1, 0), (10, 1, 2), (10, 3, 6), (1, 2, 2), (10, 20, 8)):
        answer = await memory.recall(ann, **query, community_limit=communities, community_relationship_limit=members)
        said = list(lane_ids(answer))
        assert nested == sum(lane == "communities" for lane, _ in said)
        assert sorted(ids) == sorted(key for _, key in said)
        assert "Dora" in subjects(answer)


async def test_expansion_is_one_edge(memory: Memory) -> None:
    """Invariant 10. Only relationships that touch the entity, on either side; the neighbour's neighbours are not reached."""
    ann = await memory.key()
    await likers(memory, ann)
    pairs = [("Ada", "Bob"), ("Bob", "Cyd"), ("Cyd", "Dan"), ("Dan", "Ada"), ("Eli", "Fay")]
    ids = [await memory.relate(ann, f"{one} likes {two}.", one, "likes", two, kinds=("person", "person")) for one, two in pairs]
    ada = (await memory.trace(ann, ids[0]))["relationship"]["subject"]["entity_id"]

    assert sorted(ids) == sorted(item["relationship_id"] for item in (await memory.recall(ann, **FOLLOW_UP))["related_relationships"])
    near = await memory.recall(ann, **FOLLOW_UP, expand_from_entity_ids=[ada])
    assert sorted([ids[0], ids[3]]) == sorted(item["relationship_id"] for item in near["related_relationships"])


async def test_partial_migration_never_enables_partial_vector_fusion(memory: Memory) -> None:
    """Invariant 11. Half of the rows have vectors: while the generation is built, the order is the one without any vector."""
    names = [f"Zoe{number}" for number in range(8)]
    planned = memory.with_embedder(PlannedEmbedder({name.lower(): 0.3 + number / 20 for number, name in enumerate(names)}))
    ann = await planned.key()
    await planned.remember_all(ann, [FIRST])
    for number, name in enumerate(names):
        writer = planned if number % 2 else memory.with_embedder(ServedFailing())
        await writer.relate(ann, f"{name} likes {'zebra ' * (8 - number)}.", name, "likes", ("zebra " * (8 - number)).strip())
    query = {"query": "pelican unrelated zebra", "limit": 1, "relationship_limit": 20}

    fused = subjects(await planned.recall(ann, **query))
    by_words = subjects(await memory.with_embedder(ServedFailing()).recall(ann, **query))
    for state in ("projecting_text", "embedding", "failed"):
        set_generation(memory, ann, state)
        assert by_words == subjects(await planned.recall(ann, **query)), state
    assert sorted(names) == sorted(by_words) == sorted(fused)
    assert by_words != fused


async def test_pending_or_failed_vectors_keep_words_and_say_so(memory: Memory) -> None:
    """Invariant 12. Relationships are still found by their words, and the answer says which state that is."""
    ann = await memory.key()
    await likers(memory, ann, "Uma", "Vic")
    query = {"query": "pelican unrelated vic", "limit": 1}

    for state, said, code in (
        ("current", "current", []),
        ("projecting_text", "pending", [("relationships", "relationship_vector_warming")]),
        ("embedding", "pending", [("relationships", "relationship_vector_warming")]),
        ("failed", "failed", [("relationships", "relationship_vector_failed")]),
    ):
        set_generation(memory, ann, state)
        answer = await memory.recall(ann, **query)
        assert ("Vic", said, code) == (subjects(answer)[0], answer["search_states"]["relationships"], codes(answer))


async def test_evidence_is_independent_of_relationship_generations(memory: Memory) -> None:
    """Invariant 13. Evidence that only its meaning finds is found whatever becomes of the relationships' projection."""
    planned = memory.with_embedder(PlannedEmbedder({"otter": 0.9, "quartz": 0.5}))
    ann = await planned.key()
    await planned.remember_all(ann, ["The otter sleeps.", "A lump of quartz."])
    await planned.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    before = await planned.recall(ann, "zzz")

    assert ["The otter sleeps.", "A lump of quartz."] == contexts(before)[:2]
    for state in ("projecting_text", "embedding", "failed", "current"):
        set_generation(memory, ann, state)
        answer = await planned.recall(ann, "zzz")
        assert (before["results"], "current") == (answer["results"], answer["search_states"]["evidence"]), state
    memory.sql("delete from commonlore.relationship_vector_1 where team_id = %s", ann.team_id)
    assert before["results"] == (await planned.recall(ann, "zzz"))["results"]


async def test_communities_and_hypotheses_are_separate_and_optional(memory: Memory) -> None:
    """Invariant 14. Lists of their own: empty and silent where switched off, stated where on and missing, and no other lane loses by it."""
    ann, ids = await neighbourhoods(memory, publish=False)
    query = {"query": "pelican unrelated zebra", "limit": 1, "relationship_limit": 20}
    off = await memory.recall(ann, **query, community_limit=0)
    missing = await memory.recall(ann, **query)
    await detect(memory, ann)
    on = await memory.recall(ann, **query)

    assert ([], [], []) == (off["related_communities"], off["related_hypotheses"], codes(off))
    assert [] == codes(await memory.recall(ann, **query, community_limit=0, valid_at="2026-07-02T00:00:00Z"))
    assert ([], [("communities", "community_snapshot_unavailable")]) == (missing["related_communities"], codes(missing))
    assert ([], [], 2) == (on["related_hypotheses"], codes(on), len(on["related_communities"]))
    assert off["results"] == missing["results"] == on["results"]
    assert off["related_relationships"] == missing["related_relationships"]
    assert sorted(ids) == sorted(key for _, key in lane_ids(on)) == sorted(key for _, key in lane_ids(off))


async def test_other_times_reconstruct_lifecycle_and_conflicts(memory: Memory) -> None:
    """Invariant 15. Evidence, relationships and cases are those of the view; communities are skipped, which is stated."""
    before = render_instant(memory.clock.advance(hours=1))
    team = await contest(memory)
    await memory.remember_all(team.ann, [FIRST])
    await enable(memory, team.ann)
    opened = render_instant(memory.clock.advance(hours=1))
    memory.clock.advance(days=1)
    await decide(memory, team.ada, **team.request(effective_at="2026-07-01T12:00:00Z"))
    decided = render_instant(memory.clock.advance(hours=1))
    memory.clock.advance(days=1)
    [gone] = await memory.remember_all(team.ann, ["Orion is retired."])
    told = render_instant(memory.clock.advance(hours=1))
    await memory.retract(team.ann, gone)

    async def at(**view: Any) -> tuple[set[str], set[str], list[str]]:
        answer = await memory.recall(team.ann, "Which primary database has Orion?", limit=50, **view)
        near = await memory.recall(team.ann, **FOLLOW_UP, **view)
        assert [] == answer["related_communities"] == near["related_communities"]
        code = "community_temporal_not_supported" if view else "community_snapshot_unavailable"
        assert [("communities", code)] == codes(answer) == codes(near)
        words = {word for text in contexts(answer) for word in ("PostgreSQL", "MySQL", "retired") if word in text}
        objects = {item["object"]["name"] for item in near["related_relationships"]}
        return words, objects, [case["status"] for case in answer["conflicts"]]

    both = {"PostgreSQL", "MySQL"}
    assert (set(), set(), []) == await at(known_at=before)
    assert (both, both, ["open"]) == await at(known_at=opened)
    assert ({"PostgreSQL"}, {"PostgreSQL"}, ["resolved"]) == await at(known_at=decided)
    assert ({"PostgreSQL", "retired"}, {"PostgreSQL"}, ["resolved"]) == await at(known_at=told)
    assert ({"PostgreSQL"}, {"PostgreSQL"}, ["resolved"]) == await at()
    # Where only valid_at is asked, what was told later counts as it stands now: it is taken back.
    assert (both, both, ["open"]) == await at(valid_at="2026-07-01T11:59:59Z")
    assert ({"PostgreSQL"}, {"PostgreSQL"}, ["resolved"]) == await at(valid_at="2026-07-01T12:00:00Z", known_at=decided)


async def test_required_failures_fail_and_optional_ones_are_stated(own: Memory) -> None:
    """Invariant 16. A broken shared evidence branch, hydration, trace or key is an error; any other loss is one stated line."""
    own = own.without_residence()  # which needs no rows of what it keeps
    ann = await own.key()
    for space in ("team_shared", "private"):
        ids = await likers(own, ann, f"Zoe {space}", target_space=space)
    whole = await own.recall(ann, "pelican zoe")

    async def broken(table: str, kind: str, *, by: Memory = own) -> list[tuple[str, str]] | None:
        break_space(own, table, kind)
        try:
            answer = await by.recall(ann, "pelican zoe")
        except CommonloreError:
            return None
        finally:
            mend(own, table)
        return codes(answer)

    assert await broken("evidence_posting", "team_shared") is None
    assert await broken("evidence", "team_shared") is None
    assert [("evidence", "space_branch_unavailable")] == await broken("evidence_posting", "credential_private")
    assert [("evidence", "evidence_vector_failed")] == await broken("evidence_vector_1", "team_shared")
    assert [("relationships", "relationship_discovery_unavailable")] == await broken("relationship_posting", "team_shared")
    break_space(own, "relationship_transition_event", "credential_private")
    with pytest.raises(CommonloreError):
        await own.trace(ann, ids[0])
    mend(own, "relationship_transition_event")
    with pytest.raises(CommonloreError):
        await own.recall(replace(ann, key=replace(ann.key, prefix="unknown")), "pelican zoe")
    down = await own.with_embedder(ServedFailing()).recall(ann, "pelican zoe")
    assert [("evidence", "provider_unavailable"), ("relationships", "relationship_vector_warming")] == codes(down)
    assert shown(whole) == shown(await own.recall(ann, "pelican zoe"))


async def test_search_text_never_becomes_evidence(memory: Memory) -> None:
    """Invariant 17. What is shown is the stored text of an evidence row, also where a search document or a term says something else.

    Summaries of communities and relationships of the graph have lists of their own.
    """
    ann = await memory.key()
    stored = ["Mark works on Atlas.", "Quartz is a stone."]
    for text in stored:
        await memory.remember(ann, content=text, relationships=[a_relationship("Mark", "works_on", "Atlas")] if "Mark" in text else [])
    for table in ("evidence_posting", "relationship_posting"):
        memory.sql(
            f"update commonlore.{table}_difference set words = replace(words::text, '\"atla\"', '\"saturn\"')::jsonb where team_id = %s", ann.team_id
        )
    memory.sql("update commonlore.relationship_document set document_text = 'Mark owns Saturn' where team_id = %s", ann.team_id)

    for query in ("Saturn", "Mark owns Saturn", "works_on subject predicate object"):
        answer = await memory.recall(ann, query, limit=50, community_limit=10)
        assert set(stored) == set(contexts(answer)) and 2 == len(answer["results"])
        assert b"saturn" not in shown(answer).lower()
        ids = [item["evidence_id"] for item in answer["results"]]
        assert 2 == memory.sql("select count(*) from commonlore.evidence where evidence_id = any(%s::uuid[])", ids)[0][0]


async def test_periods_have_their_start_and_not_their_end(memory: Memory) -> None:
    """Of invariant 15: to the microsecond, in valid time and in known time, for evidence and relationships alike."""
    ann = await memory.key()
    await memory.remember_all(ann, [FIRST])
    bounds = {"valid_from": "2026-03-01T00:00:00Z", "valid_to": "2026-04-01T00:00:00Z"}
    await memory.relate(ann, "Kim likes zebra.", "Kim", "likes", "zebra", **bounds)
    told = datetime.fromisoformat((await memory.recall(ann, "kim zebra", limit=1))["results"][0]["created_at"])
    start, end, instant = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), timedelta(microseconds=1)

    async def shown_at(name: str, moment: datetime) -> tuple[bool, bool]:
        view = {name: render_instant(moment)}
        return "Kim likes zebra." in contexts(await memory.recall(ann, "kim zebra", **view)), bool(
            subjects(await memory.recall(ann, **FOLLOW_UP, **view))
        )

    for name, moment, expected in (
        ("valid_at", start - instant, False),
        ("valid_at", start, True),
        ("valid_at", end - instant, True),
        ("valid_at", end, False),
        ("known_at", told - instant, False),
        ("known_at", told, True),
    ):
        assert (expected, expected) == await shown_at(name, moment), (name, moment)


async def test_the_evidence_of_a_relationship_is_that_of_the_view(memory: Memory) -> None:
    """Of invariants 15 and 17: a related relationship names the texts that count in the view, not one that was taken back by then."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    await likers(memory, ann)
    for word in ("First", "Then", "Last"):
        kim = await memory.relate(ann, f"{word} Kim likes zebra.", "Kim", "likes", "zebra")
    first, held, last = [str(item["evidence_id"]) for item in (await memory.trace(ann, kim))["evidence_supports"]]
    told = render_instant(memory.clock.advance(hours=1))
    memory.clock.advance(hours=1)
    await memory.retract(ann, first)
    retracted = render_instant(memory.clock.advance(hours=1))
    memory.clock.advance(hours=1)
    await memory.quarantine(ann, held)
    quarantined = render_instant(memory.clock.advance(hours=1))

    for view, expected in (
        ({"known_at": told}, {first, held, last}),
        ({"known_at": retracted}, {held, last}),
        ({"known_at": quarantined}, {last}),
        ({"valid_at": told}, {first, held, last}),
        ({"valid_at": retracted}, {held, last}),
        ({}, {last}),
    ):
        [item] = (await memory.recall(ann, **FOLLOW_UP, **view))["related_relationships"]
        assert expected == set(item["evidence_ids"]), view


async def test_every_returned_id_is_authorized_and_traceable(memory: Memory) -> None:
    """Invariant 18. Each relationship id of an answer can be traced by the caller who got it, and by nobody who may not see it."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    eve = await memory.key(team="eve")
    for holder in (ann, ben):
        for space in ("private", "team_shared"):
            await likers(memory, holder, "Kim", target_space=space)
            await memory.relate(holder, f"{holder.profile_id} works on Atlas.", str(holder.profile_id), "works_on", "Atlas", target_space=space)
    answers = [await memory.recall(ann, **FOLLOW_UP), await memory.recall(ann, "kim works atlas", limit=50)]
    said = {key for answer in answers for _, key in lane_ids(answer)}
    private = {item["relationship_id"] for answer in answers for item in answer["related_relationships"] if item["space_kind"] == "private"}

    assert private and {"private", "team_shared"} == {item["space_kind"] for item in answers[1]["results"]}
    for key in said:
        assert key == (await memory.trace(ann, key))["relationship"]["relationship_id"]
        with pytest.raises(NotVisible):
            await memory.trace(eve, key)
    for key in private:
        with pytest.raises(NotVisible):
            await memory.trace(ben, key)


async def test_spaces_are_searched_apart_and_fused_by_turns(memory: Memory) -> None:
    """The page's last section: one branch a space, equal weight, the private space first on ties, and a shared-only caller as if alone."""
    ann = await memory.key(member="ann")
    bot = await memory.key(member="bot", binding="shared_only")
    await memory.remember_all(ann, [f"Zebra {'runs ' * number}together." for number in range(3)])
    await memory.relate(ann, "Mark likes zebra together.", "Mark", "likes", "zebra")
    alone = shown(await memory.recall(bot, "zebra", limit=50))
    await memory.remember_all(ann, [f"Zebra {'runs ' * number}alone." for number in range(3)], target_space="private")
    await memory.relate(ann, "Mark likes zebra alone.", "Mark", "likes", "zebra", target_space="private")

    answer = await memory.recall(ann, "zebra", limit=8)

    assert ["private", "team_shared"] * 4 == [item["space_kind"] for item in answer["results"]]
    assert alone == shown(await memory.recall(bot, "zebra", limit=50))
    for kind in ("private", "team_shared"):
        one = [item["context"] for item in answer["results"] if item["space_kind"] == kind]
        assert 4 == len(one) and all(("alone" in text) == (kind == "private") for text in one)
