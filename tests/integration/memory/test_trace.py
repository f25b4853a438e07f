"""Trace: everything behind one relationship, paged, and nothing of anybody else's."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from commonlore.domain.errors import Forbidden, Incorrect, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.trace.cursor import SECTIONS
from tests.support.databases import TestDatabase, clone, drop
from tests.support.memory import Holder, Memory, a_relationship


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


async def pages(memory: Memory, holder: Holder, relationship_id: str, **request: Any) -> list[dict[str, Any]]:
    """Every page from the first to the one without a next."""
    found = [await memory.trace(holder, relationship_id, **request)]
    while found[-1]["next_cursor"] is not None:
        found.append(await memory.trace(holder, relationship_id, **request, cursor=found[-1]["next_cursor"]))
    return found


async def test_a_relationship_is_traced_with_all_that_made_it(memory: Memory) -> None:
    """Observation, verification, support, decision, transition, document and text, each with its quote and time."""
    ann = await memory.key(member="Ann Lee")
    relationship_id = await memory.relate(
        ann, "Hi. Mark works on Atlas. Bye.", "Mark", "works on", "Atlas", scope="team a", valid_from="2026-01-01T00:00:00Z"
    )

    found = await memory.trace(ann, relationship_id)

    assert ("Ann Lee", "works_on", "team a", "active", 1, 1, None, "team_shared") == tuple(
        found["relationship"][name]
        for name in ("owner_name", "predicate", "scope", "relationship_status", "version", "support_count", "superseded_at", "space_kind")
    )
    assert [1, 1, 1, 1, 1] == [
        len(found[name]) for name in ("observations", "verification_events", "evidence_supports", "evidence_support_decision_events", "transitions")
    ]
    assert "Mark works on Atlas." == found["evidence_supports"][0]["quote"]
    assert ["grant"] == [row["decision"] for row in found["evidence_support_decision_events"]]
    assert found["search_documents"][0]["document_text"].startswith("relationship\nsubject: Mark\npredicate: works on\n")
    assert "Hi. Mark works on Atlas. Bye." == found["evidence"][0]["content"]
    assert (False, None) == (found["truncated"], found["next_cursor"])


async def test_three_hundred_observations_are_paged_without_a_gap_or_a_repeat(memory: Memory) -> None:
    """Every list is read to its end, in order; lists that ended stay empty."""
    ann = await memory.key()
    relationship_id = ""
    for place in range(0, 300, 100):
        texts = [{"content": f"No. {number}: Mark works on Atlas."} for number in range(place // 100 * 20, place // 100 * 20 + 20)]
        proposals = [a_relationship("Mark", "works_on", "Atlas", ref=str(number), evidence=(number % 20,)) for number in range(100)]
        answer = await memory.remember(ann, evidence=texts, relationships=proposals)
        relationship_id = answer["relationship_results"][0]["splits"][0]["relationship_id"]

    for size in (70, 100, 500):
        found = await pages(memory, ann, relationship_id, page_size=size)
        whole = {name: [row for page in found for row in page[name]] for name in SECTIONS}
        assert (300, 300, 60, 60) == tuple(
            len(whole[name]) for name in ("observations", "verification_events", "evidence_supports", "evidence_support_decision_events")
        )
        for name, rows in whole.items():
            ids = [next(iter(row.values())) for row in rows]
            assert len(ids) == len(set(ids)), name
            assert [row["created_at"] for row in rows] == sorted(row["created_at"] for row in rows)
        assert [True] * (len(found) - 1) + [False] == [page["truncated"] for page in found]
        assert {row["evidence_id"] for row in whole["evidence_supports"]} == {row["evidence_id"] for page in found for row in page["evidence"]}


async def test_rows_that_come_later_do_not_shift_the_pages(memory: Memory) -> None:
    ann = await memory.key()
    texts = [{"content": f"No. {number}: Mark works on Atlas."} for number in range(20)]
    proposals = [a_relationship("Mark", "works_on", "Atlas", ref=str(number), evidence=(number,)) for number in range(20)]
    answer = await memory.remember(ann, evidence=texts, relationships=proposals)
    relationship_id = answer["relationship_results"][0]["splits"][0]["relationship_id"]

    first = await memory.trace(ann, relationship_id, page_size=15)
    await memory.relate(ann, "Later: Mark works on Atlas.", "Mark", "works_on", "Atlas")
    second = await memory.trace(ann, relationship_id, page_size=15, cursor=first["next_cursor"])

    ids = [row["observation_id"] for page in (first, second) for row in page["observations"]]
    assert (21, 21) == (len(ids), len(set(ids)))


async def test_sections_can_be_switched_off(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    found = await memory.trace(ann, relationship_id, include_evidence_content=False, include_verification=False, include_transitions=False)

    assert ([], []) == (found["verification_events"], found["transitions"])
    assert "content" not in found["evidence"][0]
    assert 1 == len(found["observations"])


async def test_a_long_text_is_shown_by_its_beginning_and_says_so(memory: Memory) -> None:
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas. " + "é" * 2000, "Mark", "works_on", "Atlas")
    evidence = (await memory.trace(ann, relationship_id))["evidence"][0]

    assert (999, True) == (len(evidence["content"]), evidence["content_truncated"])


async def test_missing_foreign_and_private_ids_answer_alike(memory: Memory) -> None:
    """The same failure to the byte: no id is confirmed to exist."""
    ann, ben, eve = await memory.key(member="ann"), await memory.key(member="ben"), await memory.key(team="eve")
    ids = [str(new_id())]
    for holder, space in ((eve, "team_shared"), (ben, "private")):
        ids.append(await memory.relate(holder, "Mark works on Atlas.", "Mark", "works_on", "Atlas", target_space=space))
    failures = []
    for relationship_id in ids:
        with pytest.raises(NotVisible) as caught:
            await memory.trace(ann, relationship_id)
        failures.append((caught.value.code, caught.value.message, caught.value.details))

    assert 1 == len({repr(failure) for failure in failures})


async def test_a_foreign_cursor_is_refused_and_shows_nothing(memory: Memory) -> None:
    ann = await memory.key()
    proposals = [a_relationship("Mark", "works_on", "Atlas", ref=str(number)) for number in range(3)]
    made = await memory.remember(ann, content="Mark works on Atlas.", relationships=proposals)
    first = made["relationship_results"][0]["splits"][0]["relationship_id"]
    other = await memory.relate(ann, "Zoe likes Basel.", "Zoe", "likes", "Basel")
    cursor = (await memory.trace(ann, first, page_size=1))["next_cursor"]

    for relationship_id, tampered in ((other, cursor), (first, cursor[:-6]), (first, cursor[::-1])):
        with pytest.raises(Incorrect) as caught:
            await memory.trace(ann, relationship_id, cursor=tampered)
        assert "/cursor" == caught.value.problems[0].pointer


async def test_a_cursor_with_times_at_the_ends_of_the_calendar_is_no_failure_of_ours(memory: Memory) -> None:
    """Whoever writes a cursor by hand gets an answer or a refusal, never an internal failure."""
    ann = await memory.key()
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    for moment in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1970-01-01T00:00:00Z"):
        content = {"relationship_id": relationship_id, "places": {"observations": [moment, str(new_id())]}}
        cursor = base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")
        with contextlib.suppress(Incorrect):
            await memory.trace(ann, relationship_id, cursor=cursor)


async def test_the_other_authors_of_a_statement_are_referenced(memory: Memory) -> None:
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    ids = [await memory.relate(holder, f"{name}: Mark works on Atlas.", "Mark", "works_on", "Atlas") for holder, name in ((ann, "A"), (ben, "B"))]

    for own, other in (ids, ids[::-1]):
        (reference,) = (await memory.trace(ann, own))["cross_profile_references"]
        assert (other, "same_statement", "active") == (reference["relationship_id"], reference["kind"], reference["status"])


async def test_the_lineage_holds_what_was_replaced(memory: Memory) -> None:
    ann = await memory.key()
    names = ("MySQL", "Zig", "Redis")
    ids = [
        await memory.relate(ann, f"Atlas primary database is {name}.", "Atlas", "primary_database", name, kinds=("project", "product"))
        for name in names
    ]

    for relationship_id in ids:
        lineage = (await memory.trace(ann, relationship_id))["supersession_lineage"]
        assert list(zip(ids, ("superseded", "superseded", "active"), strict=True)) == [(row["relationship_id"], row["status"]) for row in lineage]


# --- graph


async def _chain(memory: Memory, holder: Holder, names: list[str]) -> list[str]:
    """Each likes the next, the last the first."""
    return [
        await memory.relate(holder, f"{one} likes {two}.", one, "likes", two, kinds=("person", "person"))
        for one, two in zip(names, [*names[1:], names[0]], strict=True)
    ]


async def test_the_graph_is_walked_in_steps_and_a_cycle_ends(memory: Memory) -> None:
    ann = await memory.key()
    ids = await _chain(memory, ann, ["Ada", "Bob", "Cyd", "Dan", "Eli", "Flo"])

    for depth, reached in ((1, {1, 5}), (2, {1, 2, 4, 5}), (4, {1, 2, 3, 4, 5})):
        found = await memory.trace(ann, ids[0], max_depth=depth)
        assert {ids[place] for place in reached} == {edge["relationship_id"] for edge in found["semantic_edges"]}
        assert ids[0] not in {edge["relationship_id"] for edge in found["semantic_edges"]}
    assert "exhausted" == found["stopped_reason"]
    assert 6 == len(found["visited_entity_ids"]) == len(found["semantic_nodes"])


async def test_every_node_says_its_kind(memory: Memory) -> None:
    """The ends of the traced relationship as well as what was reached from them."""
    ann = await memory.key()
    ids = await _chain(memory, ann, ["Ada", "Bob", "Cyd"])

    assert {"person"} == {node["kind"] for node in (await memory.trace(ann, ids[0]))["semantic_nodes"]}


async def test_a_hub_is_bounded_and_says_so(memory: Memory) -> None:
    ann = await memory.key()
    first = await memory.relate(ann, "Ada likes Hub.", "Ada", "likes", "Hub", kinds=("person", "person"))
    names = [f"Zoe{number:03d}" for number in range(200)]
    text = " ".join(f"{name} likes Hub." for name in names)
    await memory.remember(
        ann, content=text, relationships=[a_relationship(name, "likes", "Hub", ref=name, kinds=("person", "person")) for name in names]
    )

    for edges in (1, 24, 100):
        found = await memory.trace(ann, first, max_edges=edges, max_depth=4)
        assert (edges, "max_edges", True) == (len(found["semantic_edges"]), found["stopped_reason"], found["truncated"])
    off = await memory.trace(ann, first, max_edges=0)
    assert ([], "not_requested") == (off["semantic_edges"], off["stopped_reason"])


async def test_predicates_and_a_topic_filter_the_graph(memory: Memory) -> None:
    ann = await memory.key()
    first = await memory.relate(ann, "Ada likes Hub.", "Ada", "likes", "Hub", kinds=("person", "person"))
    owns = await memory.relate(ann, "Ada owns Quartz.", "Ada", "owns", "Quartz", kinds=("person", "person"))
    await memory.relate(ann, "Ada likes Zebra.", "Ada", "likes", "Zebra", kinds=("person", "person"))

    for request in ({"predicate_keys": ["owns"]}, {"topic": "quartz"}, {"topic": "quartz pelican", "min_relevance": 0.5}):
        assert [owns] == [edge["relationship_id"] for edge in (await memory.trace(ann, first, **request))["semantic_edges"]]


async def test_pending_and_replaced_edges_are_not_walked(memory: Memory) -> None:
    ann = await memory.key()
    kinds = ("project", "product")
    await memory.relate(ann, "Atlas primary database is MySQL.", "Atlas", "primary_database", "MySQL", kinds=kinds)
    now = await memory.relate(ann, "Atlas primary database is Zig.", "Atlas", "primary_database", "Zig", kinds=kinds)
    await memory.relate(ann, "Nothing is said.", "Atlas", "uses", "Redis", kinds=kinds)

    assert [] == (await memory.trace(ann, now))["semantic_edges"]


async def test_a_key_without_read_may_not_trace(memory: Memory) -> None:
    ann, writer = await memory.key(), await memory.key(scopes=("write",))
    relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    with pytest.raises(Forbidden):
        await memory.trace(writer, relationship_id)
