"""What an id of a merged entity still means, which texts a merge and its reversal leave eligible, and how large a merge may be."""

from __future__ import annotations

from typing import Any

import pytest

from commonlore.db import identity
from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.identity import administer, an_admin, entity_id
from tests.support.ledger_checks import Fingerprint, broken
from tests.support.memory import Holder, Memory, contexts


async def merge(memory: Memory, holder: Holder, first: str, second: str, **fields: Any) -> dict[str, Any]:
    return await administer(memory, holder, "merge_entities", from_entity_id=first, to_entity_id=second, **{"apply": True, **fields})


async def test_an_expansion_follows_merges(memory: Memory) -> None:
    """From the first of three entities that became one: what is said of the one, and in a view of before what was said of it then."""
    ann = await an_admin(memory)
    for number, name in enumerate(("Alpha", "Beta", "Gamma")):
        await memory.relate(ann, f"Mark {number} works on {name}.", f"Mark {number}", "works_on", name)
    await memory.relate(ann, "Eve works on Delta.", "Eve", "works_on", "Delta")
    await memory.remember_all(ann, ["Unrelated pelican."])
    alpha, beta, gamma = (entity_id(memory, name) for name in ("Alpha", "Beta", "Gamma"))
    before = memory.clock.advance(minutes=1).isoformat()
    await merge(memory, ann, alpha, beta)
    await merge(memory, ann, beta, gamma)

    async def expanded(key: str, **view: Any) -> list[str]:
        answer = await memory.recall(ann, "unrelated pelican, works", limit=1, relationship_limit=20, expand_from_entity_ids=[key], **view)
        assert ["Unrelated pelican."] == contexts(answer)
        return sorted(item["subject"]["name"] for item in answer["related_relationships"])

    assert ["Mark 0", "Mark 1", "Mark 2"] == await expanded(gamma) == await expanded(alpha) == await expanded(beta)
    assert ["Mark 0"] == await expanded(alpha, known_at=before)


async def test_a_path_that_was_taken_back_makes_no_text_eligible(memory: Memory) -> None:
    """A merge copied the text's path to a statement that stands; it was revoked with the reversal, and the text's own statement gave way."""
    ann = await an_admin(memory)
    kinds = ("project", "product")
    for name in ("Atlas", "Atlas Two"):
        await memory.relate(ann, f"The primary database of {name} is Oracle.", name, "primary_database", "Oracle", kinds=kinds)
    done = await merge(memory, ann, entity_id(memory, "Atlas"), entity_id(memory, "Atlas Two"))
    await administer(memory, ann, "reverse_entity_correction", correction_id=done["correction_id"])

    await memory.relate(ann, "The primary database of Atlas is Redis.", "Atlas", "primary_database", "Redis", kinds=kinds)

    assert 1 == done["joined"]["count"]
    assert {"The primary database of Atlas Two is Oracle.", "The primary database of Atlas is Redis."} == set(
        contexts(await memory.recall(ann, "primary database"))
    )
    assert [("The primary database of Atlas is Oracle.",)] == memory.sql(
        "select e.content from commonlore.evidence_exclusion x join commonlore.evidence e using (evidence_id) where x.reason = 'unsupported'"
    )
    assert [] == broken(memory)


async def test_a_merge_locks_at_most_so_many_relationships(memory: Memory, database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound it is refused before a row is locked, also as a preview, with what to do; the parts of a split can be merged."""
    ann = await an_admin(memory)
    made = [await memory.relate(ann, f"Mark {number} works on Atlas.", f"Mark {number}", "works_on", "Atlas") for number in range(3)]
    await memory.relate(ann, "Mark 0 works on Borealis.", "Mark 0", "works_on", "Borealis")
    for number in range(3):
        await memory.relate(ann, f"Borealis uses Zig {number}.", "Borealis", "uses", f"Zig {number}", kinds=("project", "product"))
    atlas, borealis = entity_id(memory, "Atlas"), entity_id(memory, "Borealis")
    # Three move and one may meet them; what else is said of the other entity does not count.
    monkeypatch.setattr(identity, "MOST_LOCKED", 3)
    state = Fingerprint(database.admin_conninfo)
    before = state()

    for fields in ({"apply": False}, {"apply": True}, {"apply": True, "idempotency_key": "k"}):
        with pytest.raises(CommonloreError) as caught:
            await merge(memory, ann, atlas, borealis, **fields)
        assert ("merge_too_large", {"relationships": 4, "most": 3}) == (caught.value.code, caught.value.details)
    assert before == state()
    state.close()

    split = {"entity_id": atlas, "relationship_ids": made[:1], "name": "Atlas", "entity_kind": "project", "apply": True}
    part = await administer(memory, ann, "split_entity", **split)
    await merge(memory, ann, part["to_entity_id"], borealis)
    monkeypatch.setattr(identity, "MOST_LOCKED", 4)
    await merge(memory, ann, atlas, borealis)

    assert [(borealis, 3)] == memory.sql(
        "select object_entity_id::text, count(*) from commonlore.relationship where predicate_key = 'works_on' and status = 'active' group by 1"
    )
    assert [] == broken(memory)
