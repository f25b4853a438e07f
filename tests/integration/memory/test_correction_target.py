"""A proposal that corrects: new evidence in place of what was stored wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.memory import Holder, Memory, a_relationship


async def propose(memory: Memory, holder: Holder, text: str, target: str, version: int, *, to: str = "Orion") -> dict[str, Any]:
    proposal = a_relationship("Mark", "works_on", to, correction_target={"relationship_id": target, "expected_version": version})
    answer = await memory.remember(holder, content=text, relationships=[proposal])
    result: dict[str, Any] = answer["relationship_results"][0]
    return result


async def test_a_text_that_carries_the_proposal_supersedes_the_target(memory: Memory) -> None:
    """With a reference that corrects, and a lineage that shows both."""
    ann = await memory.key()
    wrong = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    result = await propose(memory, ann, "Sorry: Mark works on Orion.", wrong, 1)
    right = result["splits"][0]["relationship_id"]
    trace = await memory.trace(ann, right)
    before = await memory.trace(ann, wrong)

    assert "stored" == result["disposition"]
    assert [("corrects", right, 1, wrong, 2)] == [
        tuple(item[name] for name in ("kind", "source_relationship_id", "source_version", "target_relationship_id", "target_version"))
        for item in trace["cross_references"]
    ]
    assert before["cross_references"] == trace["cross_references"]
    assert {wrong, right} == {item["relationship_id"] for item in before["supersession_lineage"]}
    assert ("superseded", 2, right) == tuple(before["relationship"][name] for name in ("relationship_status", "version", "corrected_by"))


async def test_a_text_that_does_not_carry_it_leaves_the_target_alone(memory: Memory) -> None:
    ann = await memory.key()
    wrong = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    result = await propose(memory, ann, "Something else.", wrong, 1)

    assert "pending_evidence" == result["splits"][0]["status"]
    assert [("active", 1)] == memory.sql("select status, version from commonlore.relationship where relationship_id = %s", wrong)
    assert [(0,)] == memory.sql("select count(*) from commonlore.relationship_cross_reference")


async def test_a_proposal_that_says_the_same_only_adds_its_support(memory: Memory) -> None:
    ann = await memory.key()
    same = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

    await propose(memory, ann, "Yes: Mark works on Atlas.", same, 1, to="Atlas")

    assert [("active", 2, None)] == memory.sql("select status, support_count, corrected_by from commonlore.relationship")


@pytest.mark.parametrize("reason", ["correction_target_not_found", "relationship_version_stale", "relationship_not_active"])
async def test_a_target_that_may_not_be_corrected(memory: Memory, reason: str) -> None:
    """The evidence is kept, the proposal is not stored and makes no entity; another author's target is as absent as none."""
    ann, bob = await memory.key(), await memory.key()
    target = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")
    version, holder = 1, ann
    if reason == "correction_target_not_found":
        holder = bob
    elif reason == "relationship_version_stale":
        version = 9
    else:
        await memory.correct(ann, target, patch={"scope": "x"})
        version = 2
    before = memory.sql("select r::text from commonlore.relationship r order by 1")

    result = await propose(memory, holder, "Mark works on Nova.", target, version, to="Nova")

    assert ("not_stored", reason, []) == (result["disposition"], result["reason"], result["splits"])
    assert before == memory.sql("select r::text from commonlore.relationship r order by 1")
    assert [] == memory.sql("select 1 from commonlore.entity_name where name_key = 'nova'")
    assert 1 == len(memory.sql("select 1 from commonlore.evidence where content = 'Mark works on Nova.'"))
