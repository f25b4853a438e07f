"""Names that texts teach: an entity is given by its id and by another name that the cited text carries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.memory import Holder, Memory


async def atlas(memory: Memory, holder: Holder) -> str:
    await memory.relate(holder, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    return str(memory.sql("select entity_id from commonlore.entity_name where display_name = 'Atlas'")[0][0])


async def call_it(memory: Memory, holder: Holder, text: str, entity_id: str, name: str, **fields: Any) -> dict[str, Any]:
    proposal = {
        "ref": "r", "subject": {"name": "Zoe", "entity_kind": "person"}, "predicate": {"proposed_key": "works_on"},
        "object": {"entity": {"known_entity_id": entity_id, "name": name}}, "evidence_indices": [0],
    }  # fmt: skip
    result: dict[str, Any] = (await memory.remember(holder, content=text, relationships=[proposal], **fields))["relationship_results"][0]
    return result


def aliases(memory: Memory) -> list[tuple[Any, ...]]:
    return memory.sql(
        "select display_name, substring(e.content, span_start + 1, span_end - span_start) from commonlore.entity_name n join commonlore.evidence e using (evidence_id)"
    )


async def test_a_text_teaches_a_name_once(memory: Memory) -> None:
    """With the place that carries it; from then on the name alone finds the entity."""
    ann = await memory.key()
    known = await atlas(memory, ann)

    for text in ("Hello. Zoe works on Project Alpha. Bye.", "Again: Zoe works on Project Alpha."):
        await call_it(memory, ann, text, known, "Project Alpha")
    later = await memory.relate(ann, "Eve works on project alpha.", "Eve", "works_on", "Project Alpha")

    assert [("Project Alpha", "Zoe works on Project Alpha.")] == aliases(memory)
    assert [(known,)] == memory.sql("select object_entity_id::text from commonlore.relationship where relationship_id = %s", later)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Zoe works on something.", "Project Alpha"),
        ("Zoe works on ATLAS.", "atlas"),
        ("Zoe works on Mark.", "Mark"),
        ("Nobody works on Project Alpha.", "Project Alpha"),
    ],
)
async def test_what_teaches_nothing(memory: Memory, text: str, name: str) -> None:
    """A name that the text does not carry with the other end, that the entity has already, or that another entity has."""
    ann = await memory.key()
    known = await atlas(memory, ann)

    await call_it(memory, ann, text, known, name)

    assert [] == aliases(memory)


async def test_a_speaker_s_own_name_is_not_in_the_text(memory: Memory) -> None:
    """Who speaks may be the other end, but is no proof of a name."""
    ann = await memory.key()
    known = await atlas(memory, ann)

    await call_it(memory, ann, "I work on Project Alpha.", known, "Project Alpha", speaker="Zoe")
    await call_it(memory, ann, "Zoe works on it.", known, "Alphonse", speaker="Alphonse")

    assert ["Project Alpha"] == [name for name, _ in aliases(memory)]


async def test_a_name_of_another_entity_grounds_nothing(memory: Memory) -> None:
    """The text is about whoever carries the name: it supports no statement about the entity that the id means, save by its own names."""
    ann = await memory.key()
    known = await atlas(memory, ann)
    await memory.relate(ann, "Eve works on Borealis.", "Eve", "works_on", "Borealis")

    wrong = await call_it(memory, ann, "Zoe works on Borealis.", known, "Borealis")
    right = await call_it(memory, ann, "Zoe works on Borealis and on Atlas.", known, "Borealis")

    assert ["pending_evidence", "active"] == [item["splits"][0]["status"] for item in (wrong, right)]
    assert [] == aliases(memory)
