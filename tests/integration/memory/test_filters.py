"""A filtered recall: what passes is what a plain reading of the filter lets pass, in every lane, and nothing else changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from commonlore.domain.errors import Incorrect
from commonlore.domain.ids import new_id
from tests.support.databases import TestDatabase, clone, drop
from tests.support.identity import administer, an_admin
from tests.support.memory import Holder, Memory, a_relationship, contexts, shown

TEXTS: list[dict[str, Any]] = [
    {"content": "Pelican one.", "labels": ["field", "north"], "source": "notes.md", "authority": "primary", "occurred_at": "2025-01-01T00:00:00Z"},
    {"content": "Pelican two.", "labels": ["field"], "source": "mail", "authority": "inferred", "occurred_at": "2025-02-01T00:00:00Z"},
    {"content": "Pelican three.", "labels": ["south"], "source": "notes.md", "authority": "secondary", "occurred_at": "2025-03-01T00:00:00Z"},
    {"content": "Pelican four."},
]


@pytest.fixture(scope="module")
def shared(template: str) -> Iterator[TestDatabase]:
    made = clone(template)
    yield made
    drop(made.name)


@pytest.fixture
async def memory(shared: TestDatabase) -> AsyncIterator[Memory]:
    async with Memory.open(shared) as opened:
        yield opened


async def pelicans(memory: Memory) -> Holder:
    ann = await memory.key()
    await memory.remember(ann, evidence=TEXTS)
    return ann


@pytest.mark.parametrize(
    ("narrowed", "numbers"),
    [
        ({}, "one two three four"),
        ({"labels": ["field"]}, "one two"),
        ({"labels": ["north", "south"]}, "one three"),
        ({"labels": ["nowhere"]}, ""),
        ({"sources": ["notes.md"]}, "one three"),
        ({"authorities": ["primary", "inferred"]}, "one two"),
        ({"authorities": ["unknown"]}, "four"),
        ({"occurred_from": "2025-02-01T00:00:00Z"}, "two three"),
        ({"occurred_to": "2025-02-01T00:00:00Z"}, "one"),
        ({"occurred_from": "2025-01-01T01:00:00+01:00", "occurred_to": "2025-03-01T00:00:00Z"}, "one two"),
        ({"labels": ["field"], "sources": ["notes.md"]}, "one"),
    ],
)
async def test_the_evidence_that_passes(memory: Memory, narrowed: dict[str, Any], numbers: str) -> None:
    """Lists take any of their entries, fields all must hold, the range has its start and not its end; also at another time."""
    ann = await pelicans(memory)
    now = await memory.recall(ann, "pelican", filter=narrowed)
    then = await memory.recall(ann, "pelican", filter=narrowed, known_at=memory.clock().isoformat())

    expected = {f"Pelican {number}." for number in numbers.split()}
    assert expected == set(contexts(now)) == set(contexts(then))
    assert [] == now["degradations"]


async def test_an_empty_filter_is_no_filter(memory: Memory) -> None:
    ann = await pelicans(memory)

    assert shown(await memory.recall(ann, "pelican")) == shown(await memory.recall(ann, "pelican", filter={}))


async def test_a_lane_behind_a_filter_is_filled(memory: Memory) -> None:
    """Four hundred better texts that do not pass take no place."""
    ann = await memory.key()
    await memory.remember_all(ann, [f"pelican pelican pelican {number}" for number in range(400)])
    await memory.remember(
        ann, evidence=[{"content": f"A pelican in a long text about many other things {number}.", "labels": ["kept"]} for number in range(5)]
    )

    answer = await memory.recall(ann, "pelican", limit=5, filter={"labels": ["kept"]})

    assert 5 == len(answer["results"])
    assert all("long text" in text for text in contexts(answer))


async def relations(memory: Memory) -> tuple[Holder, dict[str, str]]:
    ann = await memory.key()
    ids = {
        "uses zig": await memory.relate(ann, "Atlas uses Zig.", "Atlas", "uses", "Zig"),
        "mirrors mongo": await memory.relate(ann, "Atlas mirrors Mongo.", "Atlas", "mirrors", "Mongo"),
        "zoe uses zig": await memory.relate(ann, "Zoe uses Zig in winter.", "Zoe", "uses", "Zig", scope="winter"),
    }
    answer = await memory.remember(
        ann, content="Atlas does not use Rust.", relationships=[{**a_relationship("Atlas", "uses", "Rust"), "polarity": "-"}]
    )
    ids["no rust"] = answer["relationship_results"][0]["splits"][0]["relationship_id"]
    return ann, ids


def entity(memory: Memory, holder: Holder, name: str) -> str:
    rows = memory.sql("select entity_id from commonlore.entity_name where team_id = %s and display_name = %s", holder.team_id, name)
    return str(rows[0][0])


@pytest.mark.parametrize(
    ("narrowed", "names"),
    [
        ({"predicates": ["uses"]}, ["uses zig", "zoe uses zig", "no rust"]),
        ({"predicates": ["Mirrors"]}, ["mirrors mongo"]),
        ({"predicates": ["depends_on"]}, ["uses zig", "zoe uses zig", "no rust"]),
        ({"polarity": "-"}, ["no rust"]),
        ({"polarity": "+", "predicates": ["uses"]}, ["uses zig", "zoe uses zig"]),
        ({"scopes": ["winter"]}, ["zoe uses zig"]),
        ({"subject_entity_ids": ["Zoe"]}, ["zoe uses zig"]),
        ({"object_entity_ids": ["Zig"]}, ["uses zig", "zoe uses zig"]),
        ({"object_entity_ids": ["Atlas"]}, []),
        ({"object_entity_ids": ["Zig", "Mongo"], "subject_entity_ids": ["Atlas"]}, ["uses zig", "mirrors mongo"]),
    ],
)
async def test_the_relationships_that_pass(memory: Memory, narrowed: dict[str, Any], names: list[str]) -> None:
    """The evidence lane is as it was; it says groups of its own, so one text is asked for."""
    ann, ids = await relations(memory)
    asked = {field: [entity(memory, ann, name) for name in value] if field.endswith("_ids") else value for field, value in narrowed.items()}
    await memory.remember(ann, content="Nothing but atlas zig mongo zoe rust.")
    plain = await memory.recall(ann, "nothing but atlas zig mongo zoe rust", limit=1, relationship_limit=20)
    for view in ({}, {"known_at": memory.clock().isoformat()}):
        answer = await memory.recall(ann, "nothing but atlas zig mongo zoe rust", limit=1, relationship_limit=20, filter=asked, **view)

        assert {ids[name] for name in names} == {item["relationship_id"] for item in answer["related_relationships"]}
        assert plain["results"] == answer["results"]


async def test_a_wording_means_what_it_meant_in_the_view(memory: Memory) -> None:
    """An alias that was added later finds nothing in a view of before, as known then; it does now, and for what held before as known now."""
    admin = await an_admin(memory)
    related = await memory.relate(admin, "Atlas mirrors Mongo.", "Atlas", "mirrors", "Mongo")
    before = memory.clock().isoformat()
    await administer(memory, admin, "define_predicate", key="mirrors", expected_version=1, add_aliases=["copies"])
    found = {}
    for name, view in (("now", {}), ("known before", {"known_at": before}), ("held before", {"valid_at": before})):
        answer = await memory.recall(admin, "atlas mongo", filter={"predicates": ["copies"], "labels": ["nowhere"]}, **view)
        found[name] = [item["relationship_id"] for item in answer["related_relationships"]]

    assert {"now": [related], "known before": [], "held before": [related]} == found


async def test_an_unknown_entity_lets_nothing_pass(memory: Memory) -> None:
    ann, _ = await relations(memory)
    answer = await memory.recall(ann, "atlas zig", filter={"subject_entity_ids": [str(new_id())]})

    assert [] == answer["related_relationships"]


@pytest.mark.parametrize(
    ("narrowed", "pointer"),
    [
        ({"occurred_from": "2025-01-01"}, "/filter/occurred_from"),
        ({"occurred_to": "yesterday"}, "/filter/occurred_to"),
        ({"occurred_from": "2025-01-01T00:00:00Z", "occurred_to": "2025-01-01T00:00:00Z"}, "/filter/occurred_to"),
        ({"predicates": ["uses", "1"]}, "/filter/predicates/1"),
    ],
)
async def test_a_filter_that_cannot_be_read_names_its_field(memory: Memory, narrowed: dict[str, Any], pointer: str) -> None:
    ann = await memory.key()
    with pytest.raises(Incorrect) as caught:
        await memory.recall(ann, "anything", filter=narrowed)

    assert [pointer] == [problem.pointer for problem in caught.value.problems]
