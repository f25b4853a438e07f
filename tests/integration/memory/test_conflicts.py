"""Conflict cases: opened, joined, ended and decided in the writes that cause them; what each view shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from commonlore.domain.errors import Conflict, Incorrect
from commonlore.domain.ids import new_id
from tests.support.memory import Holder, Memory

KINDS = ("project", "product")


async def state(memory: Memory, holder: Holder, database: str, text: str | None = None, **fields: Any) -> str:
    """`holder` says which database Orion has; the relationship's id."""
    return await memory.relate(
        holder,
        text or f"The primary database of Orion is {database}, says {database} fan.",
        "Orion",
        "primary_database",
        database,
        kinds=KINDS,
        **fields,
    )


def cases(memory: Memory) -> list[tuple[Any, ...]]:
    return memory.sql("select status, version, positions_truncated, question from commonlore.conflict_case order by known_from, conflict_id")


def events(memory: Memory) -> list[str]:
    return [row[0] for row in memory.sql("select action from commonlore.conflict_event order by known_from, conflict_id, ordinal")]


async def test_two_members_who_state_different_objects_open_a_case(memory: Memory) -> None:
    """In the write of the second, with both sides as positions and members."""

    ann, ben = await memory.key(), await memory.key()
    await state(memory, ann, "PostgreSQL")
    before = cases(memory)
    await state(memory, ben, "MySQL")

    assert ([], [("open", 1, False, "What is the current primary database of Orion?")]) == (before, cases(memory))
    assert ["opened", "position_added", "position_added", "member_added", "member_added"] == events(memory)


async def test_an_author_who_changes_its_mind_is_no_conflict(memory: Memory) -> None:
    """Its earlier statement gives way."""

    ann = await memory.key()
    await state(memory, ann, "PostgreSQL")
    await state(memory, ann, "MySQL")

    assert [] == cases(memory)


async def test_agreement_is_no_conflict(memory: Memory) -> None:
    """Two members, one object; neither is a predicate that allows several."""

    ann, ben = await memory.key(), await memory.key()
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "PostgreSQL")
    await memory.relate(ann, "Orion uses Redis.", "Orion", "uses", "Redis", kinds=KINDS)
    await memory.relate(ben, "Orion uses Kafka.", "Orion", "uses", "Kafka", kinds=KINDS)

    assert [] == cases(memory)


async def test_a_case_grows_with_later_writes(memory: Memory) -> None:
    """New evidence of a side and a third side each make a version; a write elsewhere makes none."""

    ann, ben, cat = [await memory.key() for _ in range(3)]
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL")
    await state(memory, ben, "MySQL", text="Orion keeps MySQL as its primary database.")
    await state(memory, cat, "SQLite")
    await memory.relate(cat, "Vega has Oracle as its primary database.", "Vega", "primary_database", "Oracle", kinds=KINDS)

    assert [("open", 3)] == [row[:2] for row in cases(memory)]
    assert ["member_added", "position_added", "member_added"] == events(memory)[5:]


async def test_a_side_that_changes_its_mind_ends_the_case(memory: Memory) -> None:
    """Both then say the same; the case is dismissed by the write and says so."""

    ann, ben = await memory.key(), await memory.key()
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL")
    await state(memory, ben, "PostgreSQL")

    assert [("dismissed", 2)] == [row[:2] for row in cases(memory)]
    assert [("write", "dismissed")] == memory.sql("select closed_by, status from commonlore.conflict_case")


async def test_eight_members_at_once_make_one_case(memory: Memory) -> None:
    """Whatever the order: one open case with every side."""

    holders = [await memory.key() for _ in range(8)]
    await asyncio.gather(*(state(memory, holder, f"Database{number}") for number, holder in enumerate(holders)))

    assert ([("open",)], [(8,)], [(8,)]) == (
        memory.sql("select status from commonlore.conflict_case"),
        memory.sql("select count(*) from commonlore.conflict_position"),
        memory.sql("select count(distinct owner_profile_id) from commonlore.conflict_member"),
    )


async def test_spaces_and_teams_do_not_meet(memory: Memory) -> None:
    """A private statement contradicts nobody, and neither does one of another team."""

    ann, ben, eve = await memory.key(), await memory.key(), await memory.key("borealis")
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL", target_space="private")
    await state(memory, eve, "SQLite")

    assert [] == cases(memory)


async def test_history_cannot_be_rewritten(memory: Memory) -> None:
    """The serving role may add positions, members and events; it may neither change nor remove them."""

    rights = memory.sql(
        "select table_name, array_agg(privilege_type::text order by privilege_type) from information_schema.role_table_grants"
        " where grantee = 'commonlore_app' and table_name like 'conflict%%' group by table_name order by table_name"
    )

    assert [
        ("conflict_case", ["INSERT", "SELECT", "UPDATE"]),
        *((f"conflict_{name}", ["INSERT", "SELECT"]) for name in ("event", "member", "position", "quote")),
    ] == rights


async def test_an_open_case_returns_with_every_alternative(memory: Memory) -> None:
    """Both texts stay in the results, and the case says who stands for what."""

    ann, ben = await memory.key(member="Ann"), await memory.key(member="Ben")
    first, second = await state(memory, ann, "PostgreSQL"), await state(memory, ben, "MySQL")
    answer = await memory.recall(ann, "Which primary database has Orion?")
    [case] = answer["conflicts"]

    assert (2, "open", 1, "team_shared", None, False) == (
        len(answer["results"]),
        case["status"],
        case["version"],
        case["space_kind"],
        case["preferred_position_id"],
        case["positions_truncated"],
    )
    assert [("candidate", "PostgreSQL", ["Ann"], [first], 1), ("candidate", "MySQL", ["Ben"], [second], 1)] == [
        (
            position["disposition"],
            position["object"]["name"],
            [supporter["profile_name"] for supporter in position["supporters"]],
            position["relationship_ids"],
            len(position["result_evidence_ids"]),
        )
        for position in case["positions"]
    ]


async def test_a_recall_that_touches_no_side_shows_no_case(memory: Memory) -> None:
    """Nor does one from before it was opened."""

    ann, ben = await memory.key(), await memory.key()
    await memory.remember(ann, content="Vega sails at dawn.")
    await state(memory, ann, "PostgreSQL")
    before = memory.clock.now.isoformat()
    await state(memory, ben, "MySQL")
    elsewhere = await memory.recall(ann, "Vega sails", limit=1)
    earlier = await memory.recall(ann, "primary database of Orion", known_at=before)

    assert ([], [], 2) == (elsewhere["conflicts"], earlier["conflicts"], len(earlier["results"]))


def case_id(memory: Memory) -> str:
    [(found,)] = memory.sql("select conflict_id::text from commonlore.conflict_case where status in ('open', 'overdue')")
    return str(found)


async def test_new_evidence_joins_the_version_that_was_seen(memory: Memory) -> None:
    """With the exact version it is stored and the case has the next one; with that version again nothing is stored."""

    ann, ben = await memory.key(), await memory.key()
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL")
    context = {"conflict_id": case_id(memory), "expected_version": 1}
    await state(memory, ann, "PostgreSQL", text="Orion has PostgreSQL as primary database, it was decided.", conflict_context=context)
    with pytest.raises(Conflict) as stale:
        await state(memory, ann, "PostgreSQL", text="Orion was moved to PostgreSQL as primary database.", conflict_context=context)

    assert ("stale_input", [("open", 2)], [(3,)]) == (
        stale.value.code,
        [row[:2] for row in cases(memory)],
        memory.sql("select count(*) from commonlore.evidence"),
    )


async def test_a_context_that_is_not_ours_reveals_nothing(memory: Memory) -> None:
    """Absent, of another team, of another space and closed: the same answer, and nothing is stored."""

    ann, ben, eve = await memory.key(), await memory.key(), await memory.key("borealis")
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL")
    found = case_id(memory)
    messages = set()
    for holder, key, space in ((eve, found, "team_shared"), (eve, str(new_id()), "team_shared"), (ann, found, "private")):
        with pytest.raises(Conflict) as refused:
            await state(memory, holder, "Oracle", conflict_context={"conflict_id": key, "expected_version": 1}, target_space=space)
        messages.add((refused.value.code, refused.value.message))

    assert (1, [(2,)]) == (len(messages), memory.sql("select count(*) from commonlore.evidence"))


async def test_a_statement_of_another_scope_does_not_join(memory: Memory) -> None:
    """The pointer names the context, and nothing is stored."""

    ann, ben = await memory.key(), await memory.key()
    await state(memory, ann, "PostgreSQL")
    await state(memory, ben, "MySQL")
    context = {"conflict_id": case_id(memory), "expected_version": 1}
    with pytest.raises(Incorrect) as refused:
        await memory.relate(
            ann, "Vega has Oracle as its primary database.", "Vega", "primary_database", "Oracle", kinds=KINDS, conflict_context=context
        )

    assert ("/relationships/0/conflict_context", [(2,)]) == (
        refused.value.problems[0].pointer,
        memory.sql("select count(*) from commonlore.evidence"),
    )
