"""Erasure by evidence, source, subject and member: out of sight at once, then gone from every table, with a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.erasure import erase, work
from tests.support.memory import Holder, Memory, contexts

SECRET = "The quixotic zanzibar ledger belongs to Ophelia Marrow."
EVERY = ("read", "write", "admin", "destroy")


async def taught(memory: Memory) -> tuple[Holder, dict[str, Any]]:
    """A secret text with a relationship, among others."""
    ann = await memory.key(scopes=EVERY, binding="shared_only")
    await memory.relate(ann, "Mark works on Dense-Mem.", "Mark", "works_on", "Dense-Mem")
    answer = await memory.remember(
        ann,
        content=SECRET,
        source_key="s1",
        source_revision="r1",
        metadata={"note": "zanzibar"},
        relationships=[
            {
                "ref": "r1",
                "subject": {"name": "zanzibar ledger", "entity_kind": "document"},
                "predicate": {"proposed_key": "belongs_zanz"},
                "object": {"entity": {"name": "Ophelia Marrow", "entity_kind": "person"}},
                "evidence_indices": [0],
            }
        ],
        idempotency_key="zanz-1",
    )
    return ann, answer


def left(memory: Memory, word: str) -> dict[str, int]:
    """Tables of the schema in which the word stands in any row, the erasure's own too."""
    tables = [row[0] for row in memory.sql("select table_name from information_schema.tables where table_schema = 'commonlore'")]
    counts = {table: memory.sql(f"select count(*) from commonlore.{table} t where t::text ilike %s", f"%{word}%")[0][0] for table in tables}
    return {table: count for table, count in counts.items() if count}


async def test_an_erased_text_is_in_no_view_at_once_and_in_no_table_afterwards(memory: Memory, tmp_path: Path) -> None:
    ann, answer = await taught(memory)
    evidence_id = answer["evidence"][0]["evidence_id"]
    relationship_id = answer["relationship_results"][0]["splits"][0]["relationship_id"]
    before = memory.clock.now

    begun = await erase(memory, ann, "evidence", evidence_id)

    assert "hidden" == begun["state"]
    for request in ({}, {"known_at": before.isoformat()}):
        found = await memory.recall(ann, "zanzibar ledger Ophelia", **request)
        assert "zanzibar" not in str(found["results"]) + str(found["related_relationships"])
    receipt = await work(memory, ann.team_id, begun["erasure_id"], tmp_path)

    assert receipt["complete"], receipt
    assert {} == left(memory, "zanz")
    assert {} == left(memory, "ophelia")
    assert {"erasure_item"} == set(left(memory, evidence_id)) == set(left(memory, relationship_id))
    assert ["Mark works on Dense-Mem."] == contexts(await memory.recall(ann, "Who works on Dense-Mem?"))
