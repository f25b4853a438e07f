"""Communities from the ledger to the answer: published once, served until the next, and never with what no longer counts."""

from __future__ import annotations

from typing import Any

from tests.support.communities import codes, detect, direct, enable, nested, space_of
from tests.support.memory import Holder, Memory, a_relationship, contexts

ATLAS = [
    ("Ada Lovelace works on Atlas.", "Ada Lovelace", "works_on", "Atlas", ("person", "project")),
    ("Atlas uses PostgreSQL.", "Atlas", "uses", "PostgreSQL", ("project", "product")),
    ("Bob Stone works on Atlas.", "Bob Stone", "works_on", "Atlas", ("person", "project")),
    ("Atlas is funded by Initech.", "Atlas", "funded_by", "Initech", ("project", "organization")),
]
GARDEN = [
    ("Carla Moss grows Tomatoes.", "Carla Moss", "grows", "Tomatoes", ("person", "concept")),
    ("Carla Moss grows Basil.", "Carla Moss", "grows", "Basil", ("person", "concept")),
    ("Basil grows near Tomatoes.", "Basil", "grows_near", "Tomatoes", ("concept", "concept")),
]
LONER = [("Dora Finch lives in Toronto.", "Dora Finch", "lives_in", "Toronto", ("person", "place"))]


async def tell(memory: Memory, holder: Holder, facts: list[Any], *, target_space: str = "team_shared") -> dict[str, tuple[str, str]]:
    """Each fact as a text of its own, in one call; evidence and relationship ids by sentence."""
    answer = await memory.remember(
        holder,
        evidence=[{"content": text} for text, *_ in facts],
        relationships=[
            a_relationship(subject, predicate, target, kinds=kinds, ref=f"r{place}", evidence=(place,))
            for place, (_, subject, predicate, target, kinds) in enumerate(facts)
        ],
        target_space=target_space,
    )
    splits = [result["splits"][0] for result in answer["relationship_results"]]
    assert {"active"} == {split["status"] for split in splits}, answer
    return {
        f"{subject} {predicate} {target}": (answer["evidence"][place]["evidence_id"], splits[place]["relationship_id"])
        for place, (_, subject, predicate, target, _) in enumerate(facts)
    }


async def published(memory: Memory) -> tuple[Holder, dict[str, tuple[str, str]]]:
    """Two communities and a relationship that is in none, detected and published."""
    ada = await memory.key()
    made = await tell(memory, ada, [*ATLAS, *GARDEN, *LONER])
    await enable(memory, ada)
    assert "completed" == await detect(memory, ada)
    return ada, made


async def test_an_answer_brings_the_community_around_it(memory: Memory) -> None:
    """The result covers its own statement; the community adds the others, and the direct lane what is in no community."""
    ada, _ = await published(memory)
    answer = await memory.recall(ada, "What does Ada Lovelace work on?", limit=1)
    (community,) = [item for item in answer["related_communities"] if item["top_entities"][0]["name"] == "Atlas"]

    assert ["Ada Lovelace works on Atlas."] == contexts(answer)
    assert 1 == community["rank"] == answer["related_communities"][0]["rank"]
    assert {"Atlas uses PostgreSQL", "Bob Stone works_on Atlas", "Atlas funded_by Initech"} == set(nested(answer)[0])
    assert (5, 4, False) == (community["entity_count"], community["relationship_count"], community["relationships_truncated"])
    assert "works_on" == community["top_predicates"][0]
    assert {text for text, *_ in ATLAS} == set(community["summary"].split("\n"))
    assert [] == codes(answer)
    assert not {item["relationship_id"] for item in answer["related_relationships"]} & {
        item["relationship_id"] for part in answer["related_communities"] for item in part["relationships"]
    }


async def test_the_shape_is_that_of_the_page(memory: Memory) -> None:
    """Every field of the page's example, and what is added to it."""
    ada, _ = await published(memory)
    community = (await memory.recall(ada, "Atlas", limit=1))["related_communities"][0]

    assert {
        "community_id", "logical_community_id", "rank", "summary", "top_entities", "top_predicates", "entity_count", "relationship_count",
        "relationships", "relationships_truncated", "published_at", "space_kind",
    } == community.keys()  # fmt: skip
    assert {"entity_id", "name"} == community["top_entities"][0].keys()
    assert "team_shared" == community["space_kind"]


async def test_off_costs_and_says_nothing(memory: Memory) -> None:
    """Never switched on, switched off again, and a limit of 0: an empty lane without a word."""
    ada = await memory.key()
    await tell(memory, ada, ATLAS)
    assert (None, [], []) == (await detect(memory, ada), *(await _seen(memory, ada)))
    await enable(memory, ada)
    assert ["community_snapshot_unavailable"] == (await _seen(memory, ada))[1]
    await detect(memory, ada)
    assert 1 == len((await _seen(memory, ada))[0])
    assert ([], []) == await _seen(memory, ada, community_limit=0)
    assert ([], []) == await _seen(memory, ada, community_limit=0, valid_at="2026-07-01T00:00:00Z")
    await enable(memory, ada, enabled=False)
    assert ([], []) == await _seen(memory, ada)


async def _seen(memory: Memory, holder: Holder, query: str = "Who works on Atlas?", **fields: Any) -> tuple[list[Any], list[str]]:
    answer = await memory.recall(holder, query, **{"limit": 1, **fields})
    return answer["related_communities"], codes(answer)


async def test_another_time_has_no_communities_and_says_so(memory: Memory) -> None:
    ada, _ = await published(memory)
    later = memory.clock.advance(days=1).isoformat()

    for view in ({"valid_at": later}, {"known_at": later}):
        assert ([], ["community_temporal_not_supported"]) == await _seen(memory, ada, **view)


async def test_limits_of_communities_change_no_other_lane(memory: Memory) -> None:
    """Evidence is the same whatever is asked of communities; what a community may not show falls back to the direct lane."""
    ada, _ = await published(memory)
    query = "Atlas PostgreSQL Initech Bob Stone"
    answers = [
        await memory.recall(ada, query, limit=1, community_limit=limit, community_relationship_limit=nested_limit)
        for limit in (0, 1, 10)
        for nested_limit in (1, 2, 20)
    ]

    assert 1 == len({str(answer["results"]) for answer in answers})
    for answer in answers:
        shown = [sentence for part in nested(answer) for sentence in part]
        assert len(shown) == len(set(shown)) and not set(shown) & set(direct(answer))
    one = answers[3]
    assert (1, True) == (len(nested(one)[0]), one["related_communities"][0]["relationships_truncated"])
    assert {"Atlas uses PostgreSQL", "Bob Stone works_on Atlas", "Atlas funded_by Initech"} <= {*nested(one)[0], *direct(one)} | {
        contexts(one)[0].rstrip(".").replace(" works on ", " works_on ").replace(" is funded by ", " funded_by ")
    }


async def test_a_lone_relationship_stays_in_the_direct_lane(memory: Memory) -> None:
    ada, _ = await published(memory)
    answer = await memory.recall(ada, "Dora Finch", limit=1, known_evidence_ids=[])

    assert all("Dora Finch" not in sentence for part in nested(answer) for sentence in part)


async def test_what_the_caller_knows_is_not_said_again(memory: Memory) -> None:
    """Known ids seed a community and are not repeated in it; when everything is known, the community is dropped."""
    ada, made = await published(memory)
    evidence = {name: ids[0] for name, ids in made.items()}
    relationships = {name: ids[1] for name, ids in made.items()}
    answer = await memory.recall(ada, "Dora Finch", limit=1, known_relationship_ids=[relationships["Carla Moss grows Basil"]])

    garden = next(part for part in nested(answer) if any("Tomatoes" in sentence for sentence in part))
    assert "Carla Moss grows Basil" not in garden
    assert "Carla" in answer["related_communities"][0]["summary"]
    everything = await memory.recall(ada, "Dora Finch", limit=1, known_evidence_ids=list(evidence.values()))
    assert [] == everything["related_communities"] == everything["related_relationships"]


async def test_entities_seed_communities_without_the_relationship_lane(memory: Memory) -> None:
    ada, _ = await published(memory)
    first = await memory.recall(ada, "Atlas", limit=1)
    (atlas,) = [item["entity_id"] for part in first["related_communities"] for item in part["top_entities"] if item["name"] == "Atlas"]
    answer = await memory.recall(ada, "Dora Finch", limit=1, relationship_limit=0, expand_from_entity_ids=[atlas])

    assert [4] == [len(part) for part in nested(answer)]


# --- stale members


async def test_a_retracted_text_leaves_the_summary_the_members_and_the_names(memory: Memory) -> None:
    """At once, before any run: no quote, no relationship, no entity that only it named; and the answer says so."""
    ada, made = await published(memory)
    await memory.retract(ada, made["Atlas funded_by Initech"][0])
    answer = await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1)
    community = answer["related_communities"][0]

    assert "Initech" not in str(answer)
    assert (3, ["community_snapshot_stale"]) == (community["relationship_count"], codes(answer))
    assert "Atlas uses PostgreSQL" in nested(answer)[0]
    assert "completed" == await detect(memory, ada)
    again = await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1)
    assert (community["logical_community_id"], []) == (again["related_communities"][0]["logical_community_id"], codes(again))
    assert community["community_id"] != again["related_communities"][0]["community_id"]


async def test_what_went_to_another_space_is_in_no_community_of_the_first(memory: Memory) -> None:
    """B151-b. Nothing is moved by one call: it is said in the other space and taken back in the first. That it still counts there keeps it nowhere here.

    At once and after the next run, for who reads the first space alone, and for the author, who reads both, in what the first space says.
    """
    ada, made = await published(memory)
    bob = await memory.key(member="bob")
    await tell(memory, ada, [ATLAS[3]], target_space="private")
    await memory.retract(ada, made["Atlas funded_by Initech"][0])
    for code in (["community_snapshot_stale"], []):
        assert code or "completed" == await detect(memory, ada)
        seen, own = [await memory.recall(holder, "Ada Lovelace works on Atlas", limit=1) for holder in (bob, ada)]
        counts = [item["related_communities"][0]["relationship_count"] for item in (seen, own)]

        assert "Initech" not in str(seen)
        assert [3, 3] == counts
        assert "Initech" not in str(own["related_communities"])
        assert "Atlas is funded by Initech." in contexts(await memory.recall(ada, "Who funds Atlas? Initech"))
        assert code == codes(seen)


async def test_a_corrected_relationship_is_not_shown_as_it_was(memory: Memory) -> None:
    ada, made = await published(memory)
    corrected = await memory.correct(ada, made["Atlas uses PostgreSQL"][1], patch={"polarity": "-"}, reason="a test")
    assert "completed" == corrected["processing_state"], corrected
    answer = await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1)

    assert made["Atlas uses PostgreSQL"][1] not in str(answer)
    assert ["community_snapshot_stale"] == codes(answer)


async def test_a_quarantined_text_is_not_quoted(memory: Memory) -> None:
    ada, made = await published(memory)
    admin = await memory.key(scopes=("read", "write", "admin"))
    await memory.quarantine(admin, made["Bob Stone works_on Atlas"][0])

    assert "Bob Stone" not in str(await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1))


async def test_a_member_that_another_author_still_says_is_not_stale(memory: Memory) -> None:
    """Two authors, one group: when one takes its text back the group stays, and speaks through the other."""
    ada, made = await published(memory)
    bob = await memory.key(member="bob")
    await tell(memory, bob, [("We know that Atlas uses PostgreSQL.", *ATLAS[1][1:])])
    await memory.retract(ada, made["Atlas uses PostgreSQL"][0])
    answer = await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1)

    assert "Atlas uses PostgreSQL" in nested(answer)[0]
    assert [] == codes(answer)
    assert "We know" not in answer["related_communities"][0]["summary"]


async def test_a_renamed_entity_has_its_new_name(memory: Memory) -> None:
    """Names are read where they stand; a snapshot keeps none."""
    ada, _ = await published(memory)
    memory.sql("update commonlore.entity_name set display_name = 'Atlas II' where display_name = 'Atlas' and team_id = %s", ada.team_id)
    answer = await memory.recall(ada, "Ada Lovelace", limit=1)

    assert "Atlas II" == answer["related_communities"][0]["top_entities"][0]["name"]


# --- isolation


async def test_no_team_and_no_space_sees_the_communities_of_another(memory: Memory) -> None:
    """A private space has communities of its own; other members and other teams see nothing of them."""
    ada, _ = await published(memory)
    bob, eve = await memory.key(member="bob"), await memory.key(team="other")
    await tell(memory, ada, GARDEN, target_space="private")
    await enable(memory, ada, "credential_private")
    assert "completed" == await detect(memory, ada, "credential_private")
    kinds = {item["space_kind"] for item in (await memory.recall(ada, "Carla Moss", limit=1))["related_communities"]}

    assert "private" in kinds
    assert {"team_shared"} == {item["space_kind"] for item in (await memory.recall(bob, "Carla Moss", limit=1))["related_communities"]}
    assert ([], []) == await _seen(memory, eve)
    assert space_of(memory, ada) != space_of(memory, ada, "credential_private")
