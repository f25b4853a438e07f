"""Writes of different kinds over the same rows, at once and in opposite orders: no deadlock, nothing twice, nothing half."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from commonlore.domain.errors import CommonloreError
from tests.support.conflicts import contest, decide, state
from tests.support.databases import TestDatabase
from tests.support.identity import administer, an_admin, entity_id
from tests.support.ledger_checks import broken
from tests.support.memory import Memory, a_relationship

WORKS = a_relationship("Mark", "works_on", "Atlas")


async def told(work: Awaitable[Any]) -> str:
    """`done`, or the code of the refusal."""
    try:
        answer = await work
    except CommonloreError as error:
        return error.code
    return str(answer.get("reason", "done")) if isinstance(answer, dict) else "done"


async def at_once(*work: Awaitable[Any]) -> list[str]:
    return await asyncio.wait_for(asyncio.gather(*(told(item) for item in work)), 60)


async def test_merges_of_two_entities_into_each_other(database: TestDatabase) -> None:
    """One of the two directions is done; the other one is told that its entity is gone."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await an_admin(memory)
        for turn in range(4):
            one, two = f"Atlas {turn}", f"Borealis {turn}"
            for name in (one, two):
                await memory.relate(ann, f"Mark works on {name}.", "Mark", "works_on", name)
            ids = entity_id(memory, one), entity_id(memory, two)

            answers = await at_once(
                *(
                    administer(memory, ann, "merge_entities", from_entity_id=first, to_entity_id=second, apply=True)
                    for first, second in (ids, ids[::-1], ids, ids[::-1])
                )
            )

            assert ["done", "stale_input", "stale_input", "stale_input"] == sorted(answers)
            assert [("active", 1), ("retired", 1)] == memory.sql(
                "select status, count(*) from commonlore.entity where entity_id in (%s, %s) group by 1 order by 1", *ids
            )
        assert [] == broken(memory)


async def test_a_merge_while_both_names_are_written(database: TestDatabase) -> None:
    """Before the merge a statement moves with the entity, after it the name finds the other one: none is left behind."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await an_admin(memory)
        for name in ("Atlas", "Borealis"):
            await memory.relate(ann, f"Mark works on {name}.", "Mark", "works_on", name)
        ids = entity_id(memory, "Atlas"), entity_id(memory, "Borealis")

        answers = await at_once(
            *(memory.relate(ann, f"Eve {n} works on Atlas.", f"Eve {n}", "works_on", "Atlas") for n in range(6)),
            administer(memory, ann, "merge_entities", from_entity_id=ids[0], to_entity_id=ids[1], apply=True),
            *(memory.relate(ann, f"Zoe {n} works on Borealis.", f"Zoe {n}", "works_on", "Borealis") for n in range(6)),
        )

        assert ["done"] * 13 == answers
        assert [(ids[1], 13)] == memory.sql(
            "select object_entity_id::text, count(*) from commonlore.relationship where status = 'active' and identity_alias_of is null group by 1"
        )
        assert [] == broken(memory)


async def test_a_correction_against_a_retraction(database: TestDatabase) -> None:
    """First the correction: its successor loses its text. First the retraction: there is nothing to correct. Never a statement without a text."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        seen = set()
        for turn in range(8):
            answer = await memory.remember(
                ann, content=f"Mark {turn} works on Atlas.", relationships=[{**WORKS, "subject": {"name": f"Mark {turn}", "entity_kind": "person"}}]
            )
            evidence_id, split = answer["evidence"][0]["evidence_id"], answer["relationship_results"][0]["splits"][0]
            patch = {"object_entity": {"name": "Porto", "entity_kind": "place", "create_if_missing": True}}
            work = [memory.correct(ann, str(split["relationship_id"]), patch=patch), memory.retract(ann, evidence_id)]

            answers = await at_once(*(work if turn % 2 else work[::-1]))

            corrected, retracted = answers if turn % 2 else answers[::-1]
            seen.add(corrected)
            assert "done" == retracted and corrected in ("done", "relationship_version_stale", "relationship_not_active")
        assert seen
        assert [(0,)] == memory.sql("select count(*) from commonlore.relationship where status = 'active'")
        assert [] == broken(memory)


async def test_eight_corrections_of_one_relationship(database: TestDatabase) -> None:
    """One makes the successor; the others read that it has moved on. No second successor."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        relationship_id = await memory.relate(ann, "Mark works on Atlas.", "Mark", "works_on", "Atlas")

        def correct(name: str) -> Awaitable[Any]:
            return memory.correct(ann, relationship_id, patch={"object_entity": {"name": name, "entity_kind": "place", "create_if_missing": True}})

        answers = await at_once(*(correct(f"Place{letter}") for letter in "abcdefgh"))

        assert ["done", *["relationship_version_stale"] * 7] == sorted(answers)
        assert [("active", 1), ("superseded", 1)] == memory.sql("select status, count(*) from commonlore.relationship group by 1 order by 1")
        assert [] == broken(memory)


async def test_a_decision_against_the_statements_that_join_and_leave(database: TestDatabase) -> None:
    """A side that joins first makes the decision stale; one that comes after it opens the next case. One open case at most."""
    async with Memory.open(database, pool_size=8) as memory:
        case = await contest(memory)
        cyd = await memory.key(member="Cyd")

        answers = await at_once(
            state(memory, cyd, "Oracle"),
            decide(memory, case.ada, **case.request()),
            state(memory, case.ben, "MySQL", "Ben says again: the primary database of Orion is MySQL."),
            decide(memory, case.ada, **case.request("MySQL")),
        )

        assert {"done", "stale_input"} >= set(answers) and ["done", "done"] == [answers[0], answers[2]]
        assert [answers[1], answers[3]].count("done") <= 1
        assert [] == memory.sql("select case_key from commonlore.conflict_case where status = 'open' group by 1 having count(*) > 1")
        assert [] == broken(memory)


async def test_holds_and_releases_against_retractions_in_opposite_orders(database: TestDatabase) -> None:
    """Over the same texts, named in opposite orders, with a writer who cites them."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await an_admin(memory)
        ids = [
            (await memory.remember(ann, content=f"Mark works on Atlas, {number}.", relationships=[WORKS]))["evidence"][0]["evidence_id"]
            for number in range(6)
        ]
        cites = {**WORKS, "evidence_indices": [], "known_evidence_ids": ids}
        for turn in range(3):
            answers = await at_once(
                memory.quarantine(ann, *ids),
                memory.quarantine(ann, *ids[::-1], held=False),
                memory.retract(ann, *ids[turn * 2 : turn * 2 + 2][::-1]),
                memory.remember(ann, content=f"See there, {turn}.", relationships=[cites]),
            )
            assert ["done"] * 4 == answers
            assert [] == broken(memory)


async def test_a_member_who_retires_while_its_conflict_is_written_and_decided(database: TestDatabase) -> None:
    """The retirement takes the ledger lock before it locks the member, as every writer does: nobody waits in a circle."""
    async with Memory.open(database, pool_size=8) as memory:
        case = await contest(memory)
        cyd = await memory.key(member="Cyd")

        answers = await at_once(
            *(state(memory, case.ben, "MySQL", f"Ben, {n}: the primary database of Orion is MySQL.") for n in range(3)),
            administer(memory, case.ada, "retire_member", profile_id=str(case.ben.profile_id)),
            *(state(memory, cyd, "PostgreSQL", f"Cyd, {n}: the primary database of Orion is PostgreSQL.") for n in range(3)),
            decide(memory, case.ada, **case.request()),
        )

        assert "done" == answers[3] and {"done", "credential_invalid", "stale_input"} >= set(answers)
        assert [] == memory.sql(
            "select c.conflict_id from commonlore.conflict_case c where c.status = 'open' and exists (select from commonlore.conflict_member m "
            "join commonlore.profile p on p.profile_id = m.owner_profile_id where m.conflict_id = c.conflict_id and p.retired_at is not null "
            "and (select e.action from commonlore.conflict_event e where e.conflict_id = c.conflict_id and e.support_id = m.support_id "
            "order by e.ordinal desc limit 1) = 'member_added')"
        )
