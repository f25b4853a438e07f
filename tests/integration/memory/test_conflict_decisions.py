"""Decisions about conflicts, and what each view shows after them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from commonlore.domain.conflict.request import UpdateConflictRulesRequest
from commonlore.domain.correct.identity_request import MergeEntitiesRequest
from commonlore.domain.errors import CommonloreError, Conflict, Incorrect, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.withdraw.retract import RetractRequest
from tests.support.conflicts import KINDS, administration, contest, decide, list_cases, rows, show_case, state, views
from tests.support.memory import Memory


async def test_a_resolved_case_keeps_the_preferred_and_hides_the_rest(memory: Memory) -> None:
    """The losing statement is superseded with a version and a transition; its author's text, which says nothing else, is not recalled."""

    team = await contest(memory)
    before = await views(memory, team.ann)
    result = await decide(memory, team.ada, **team.request())

    assert (["MySQL", "PostgreSQL"], [("open", ["candidate", "candidate"])]) == before
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann)
    assert ("resolved", 2, [{"relationship_id": team.relationships["MySQL"], "relationship_version": 2}], []) == (
        result["status"],
        result["version"],
        result["superseded_relationships"],
        result["opened_conflict_ids"],
    )
    assert [("active", "superseded", "conflict_resolved")] == memory.sql(
        "select from_status, to_status, reason from commonlore.relationship_transition_event where version = 2"
    )


async def test_a_text_with_another_path_stays(memory: Memory) -> None:
    """A decision ends a path, never a text."""

    team = await contest(memory)
    await memory.remember(
        team.ben,
        content="Orion runs MySQL as its primary database and uses Redis.",
        relationships=[
            {
                "ref": ref,
                "subject": {"name": "Orion", "entity_kind": "project"},
                "predicate": {"proposed_key": predicate},
                "object": {"entity": {"name": name, "entity_kind": "product"}},
                "evidence_indices": [0],
            }
            for ref, predicate, name in (("a", "primary_database", "MySQL"), ("b", "uses", "Redis"))
        ],
    )
    await decide(memory, team.ada, **team.request(expected_version=2))

    assert ["MySQL", "PostgreSQL"] == (await views(memory, team.ann))[0]


async def test_views_of_the_past_see_the_past(memory: Memory) -> None:
    """Before the case, while it was open, and after the decision; and the time before the decision counts."""

    team = await contest(memory)
    opened = memory.clock.now.isoformat()
    memory.clock.advance(days=1)
    await decide(memory, team.ada, **team.request(effective_at="2026-07-01T12:00:00Z"))
    decided = memory.clock.now.isoformat()
    open_case, both = [("open", ["candidate", "candidate"])], ["MySQL", "PostgreSQL"]

    assert (both, open_case) == await views(memory, team.ann, known_at=opened)
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann, known_at=decided)
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T11:59:59Z")
    assert (["PostgreSQL"], [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann, valid_at="2026-07-01T12:00:00Z")
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T11:59:59Z", known_at=decided)
    assert (both, open_case) == await views(memory, team.ann, valid_at="2026-07-01T12:00:00Z", known_at=opened)


async def test_the_decision_counts_from_when_the_preferred_holds(memory: Memory) -> None:
    """From its start if it states one, else from the acceptance of its first support."""

    dated = await contest(memory, valid_from="2026-06-01T00:00:00Z")
    result = await decide(memory, dated.ada, **dated.request())

    assert ("2026-06-01T00:00:00Z", "valid_from") == (result["effective_at"], result["effective_time_basis"])


async def test_a_dismissed_case_is_ordinary_again(memory: Memory) -> None:
    """Both statements stand, no case is shown, and the next write on either side asks nothing."""

    team = await contest(memory)
    await decide(memory, team.ada, conflict_id=team.conflict_id, expected_version=1, action="dismiss")
    shown = await views(memory, team.ann)
    await state(memory, team.ann, "PostgreSQL", text="PostgreSQL serves Orion as its primary database.")

    assert (["MySQL", "PostgreSQL"], []) == shown
    assert [("dismissed", "person")] == memory.sql("select status, closed_by from commonlore.conflict_case")


async def test_another_object_after_a_dismissal_is_a_new_case(memory: Memory) -> None:
    """Of all three; what a person let stand was about two."""

    team = await contest(memory)
    await decide(memory, team.ada, conflict_id=team.conflict_id, expected_version=1, action="dismiss")
    await state(memory, await memory.key(), "Oracle")

    assert [("dismissed",), ("open",)] == memory.sql("select status from commonlore.conflict_case order by known_from")
    assert [("open", ["candidate"] * 3)] == (await views(memory, team.ann))[1]


async def test_fresh_evidence_of_the_losing_side_asks_again(memory: Memory) -> None:
    """The old case stays resolved in the history, and the new one is undecided and comes first."""

    team = await contest(memory)
    await decide(memory, team.ada, **team.request())
    await state(memory, team.ben, "MySQL", text="Since Tuesday MySQL is the primary database of Orion.")
    named, found = await views(memory, team.ann)

    assert [("open", ["candidate", "candidate"]), ("resolved", ["preferred", "suppressed_current"])] == found
    assert "MySQL" in named


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"expected_version": 2}, "stale_input"),
        ({"conflict_id": str(new_id())}, "not_found"),
        ({"preferred_position_id": str(new_id())}, "invalid_input"),
        ({"preferred_position_id": None}, "invalid_input"),
        ({"effective_at": "2030-01-01T00:00:00Z"}, "invalid_input"),
        ({"effective_at": "yesterday"}, "invalid_input"),
        ({"action": "dismiss"}, "invalid_input"),
        ({"reason": " "}, "invalid_input"),
    ],
)
async def test_a_decision_that_cannot_be_made_changes_nothing(memory: Memory, fields: dict[str, Any], code: str) -> None:
    """Stale, absent, of no position, without a position, to come, no time, with a position, without a reason."""

    team = await contest(memory)
    before = rows(memory)
    with pytest.raises(CommonloreError) as refused:
        await decide(memory, team.ada, **team.request(**fields))

    assert (code, before) == (refused.value.code, rows(memory))


async def test_only_an_administrator_decides(memory: Memory) -> None:
    """And one of another team learns nothing: the same answer as for an id of nothing."""

    team = await contest(memory)
    eve = await memory.key("borealis", scopes=("read", "write", "admin"))
    before = rows(memory)
    answers = []
    for holder, conflict_id in ((team.ann, team.conflict_id), (eve, team.conflict_id), (eve, str(new_id()))):
        with pytest.raises(CommonloreError) as refused:
            await decide(memory, holder, **team.request(conflict_id=conflict_id))
        answers.append((refused.value.code, refused.value.message))

    assert (["unauthorized_scope", "not_found"], answers[1], before) == ([code for code, _ in answers[:2]], answers[2], rows(memory))
    assert [] == (await list_cases(memory, eve))["conflicts"]
    with pytest.raises(NotVisible):
        await show_case(memory, eve, team.conflict_id)


async def test_the_same_decision_again_is_the_same_answer(memory: Memory) -> None:
    """By its key; another decision with that key is refused."""

    team = await contest(memory)
    first = await decide(memory, team.ada, **team.request(idempotency_key="k"))
    before = rows(memory)
    again = await decide(memory, team.ada, **team.request(idempotency_key="k"))
    with pytest.raises(Conflict) as refused:
        await decide(memory, team.ada, **team.request("MySQL", idempotency_key="k"))

    assert (first, before, "idempotency_conflict") == (again, rows(memory), refused.value.code)


async def test_one_of_two_decisions_at_once_is_stale(memory: Memory) -> None:
    """And the other one stands whole."""

    team = await contest(memory)
    other = await memory.key(member="Abe", scopes=("read", "write", "admin"))
    outcomes = await asyncio.gather(
        decide(memory, team.ada, **team.request("PostgreSQL")), decide(memory, other, **team.request("MySQL")), return_exceptions=True
    )

    assert ["stale_input"] == [item.code for item in outcomes if isinstance(item, Conflict)]
    assert [("active", 1), ("superseded", 1)] == memory.sql("select status, count(*) from commonlore.relationship group by 1 order by 1")


@pytest.mark.parametrize("round_no", range(3))
async def test_a_decision_against_a_joining_write_keeps_the_versions(memory: Memory, round_no: int) -> None:
    """Either the write came first and the decision is stale, or it came later and asks anew; never a side that nobody weighed."""

    team = await contest(memory)
    decision, _ = await asyncio.gather(
        decide(memory, team.ada, **team.request()), state(memory, await memory.key(), "Oracle"), return_exceptions=True
    )

    expected = [("open",)] if isinstance(decision, Conflict) else [("resolved",), ("open",)]
    assert expected == memory.sql("select status from commonlore.conflict_case order by known_from")


async def test_cases_are_listed_in_pages(memory: Memory) -> None:
    """In the order in which they were opened, by status, and a cursor belongs to its list."""

    ann, ben = await memory.key(), await memory.key()
    ada = await memory.key(scopes=("read", "admin"))
    for project in ("Orion", "Vega", "Lyra"):
        for holder, database in ((ann, "PostgreSQL"), (ben, "MySQL")):
            await memory.relate(holder, f"{project} has {database} as its primary database.", project, "primary_database", database, kinds=KINDS)
    first = await list_cases(memory, ada, status="open", limit=2)
    second = await list_cases(memory, ada, status="open", limit=2, cursor=first["next_cursor"])
    with pytest.raises(Incorrect):
        await list_cases(memory, ada, status="resolved", cursor=first["next_cursor"])

    questions = [case["question"] for case in [*first["conflicts"], *second["conflicts"]]]
    assert [f"What is the current primary database of {name}?" for name in ("Orion", "Vega", "Lyra")] == questions
    assert (None, []) == (second["next_cursor"], (await list_cases(memory, ada, status="dismissed"))["conflicts"])


async def test_a_case_tells_its_history(memory: Memory) -> None:
    """Who decided what, why and from when."""

    team = await contest(memory)
    await decide(memory, team.ada, **team.request(effective_at="2026-07-01T00:00:00Z"))
    events = (await show_case(memory, team.ada, team.conflict_id))["events"]

    assert ["opened", "position_added", "position_added", "resolved"] == [event["action"] for event in events]
    assert ("asked the team", str(team.ada.profile_id), team.positions["PostgreSQL"]) == tuple(
        events[-1][name] for name in ("reason", "actor_profile_id", "position_id")
    )


async def test_a_trace_keeps_every_case(memory: Memory) -> None:
    """Also a dismissed one, with its history; a relationship that never was part of one has none."""

    team = await contest(memory)
    await decide(memory, team.ada, conflict_id=team.conflict_id, expected_version=1, action="dismiss")
    other = await memory.relate(team.ann, "Orion uses Redis.", "Orion", "uses", "Redis", kinds=KINDS)
    [case] = (await memory.trace(team.ann, team.relationships["MySQL"]))["conflicts"]

    assert ("dismissed", team.conflict_id, ["opened", "position_added", "position_added", "dismissed"]) == (
        case["status"],
        case["conflict_id"],
        [event["action"] for event in case["events"]],
    )
    assert [] == (await memory.trace(team.ann, other))["conflicts"]


async def test_evidence_that_is_retracted_takes_its_side_along(memory: Memory) -> None:
    """The case ends by the write that took it, and a view of the time before still has it."""

    team = await contest(memory)
    opened = memory.clock.now.isoformat()
    memory.clock.advance(hours=1)
    [(evidence_id,)] = memory.sql("select evidence_id::text from commonlore.evidence where content like '%%MySQL%%'")
    request = msgspec.convert({"evidence_ids": [evidence_id], "reason": "said in error"}, RetractRequest)
    await memory.operations.retract_evidence(team.ben.key, request, correlation_id="test")

    assert [("dismissed", "write")] == memory.sql("select status, closed_by from commonlore.conflict_case")
    assert (["PostgreSQL"], []) == await views(memory, team.ann)
    assert [("open", ["candidate", "candidate"])] == (await views(memory, team.ann, known_at=opened))[1]


async def test_a_side_beyond_the_positions_is_not_decided(memory: Memory) -> None:
    """The case says that it was cut; the side that it had no place for stands, and asks anew against the preferred one."""

    holders = [await memory.key() for _ in range(11)]
    ada = await memory.key(scopes=("read", "admin"))
    for number, holder in enumerate(holders):
        await state(memory, holder, f"Database{number}")
    [case] = (await list_cases(memory, ada))["conflicts"]
    result = await decide(
        memory,
        ada,
        conflict_id=case["conflict_id"],
        expected_version=case["version"],
        action="resolve",
        preferred_position_id=case["positions"][0]["position_id"],
    )
    [opened] = (await list_cases(memory, ada, status="open"))["conflicts"]

    assert (10, True, 9, [opened["conflict_id"]]) == (
        len(case["positions"]),
        case["positions_truncated"],
        len(result["superseded_relationships"]),
        result["opened_conflict_ids"],
    )
    assert ["Database0", "Database10"] == [position["object"]["name"] for position in opened["positions"]]


async def test_what_a_review_would_say_is_shown_before_it_decides(memory: Memory) -> None:
    """Nothing before it is due; then no winner between one and one, and a majority after other members agree, for a person to confirm."""

    team = await contest(memory)
    early = (await show_case(memory, team.ada, team.conflict_id))["review"]
    memory.clock.advance(days=8)
    even = (await show_case(memory, team.ada, team.conflict_id))["review"]
    for _ in range(2):
        await state(memory, await memory.key(), "MySQL")
    found = (await show_case(memory, team.ada, team.conflict_id))["review"]

    assert [("no_op", "waiting"), ("overdue", "due_no_winner"), ("resolve", "due_supporter_majority")] == [
        (item["outcome"], item["reason"]) for item in (early, even, found)
    ]
    assert (team.positions["MySQL"], False, {team.positions["MySQL"]: 3, team.positions["PostgreSQL"]: 1}) == (
        found["preferred_position_id"],
        found["applies"],
        found["counts"],
    )


async def test_the_rules_of_a_team_are_its_own(memory: Memory) -> None:
    """The days count for cases that are opened later; the other team keeps the default."""

    ada, eve = await memory.key(scopes=("admin",)), await memory.key("borealis", scopes=("admin",))
    admin = administration(memory)
    await admin.update_conflict_rules(ada.key, UpdateConflictRulesRequest(review_days=30), correlation_id="test")
    changed = await admin.update_conflict_rules(ada.key, UpdateConflictRulesRequest(automatic=True), correlation_id="test")
    other = await admin.update_conflict_rules(eve.key, UpdateConflictRulesRequest(), correlation_id="test")
    await contest(memory)

    assert {"review_days": 30, "quorum": 2, "automatic": True, "last_write_wins": False} == changed
    assert {"review_days": 7, "quorum": 2, "automatic": False, "last_write_wins": False} == other
    assert [(30, 30)] == memory.sql("select review_days, extract(day from review_due_at - known_from)::int from commonlore.conflict_case")


async def test_two_names_of_one_thing_are_no_conflict_once_they_are_merged(memory: Memory) -> None:
    """The merge ends the case, since both members then say the same; a view of the time before still has it."""

    team = await contest(memory)
    opened = memory.clock.now.isoformat()
    memory.clock.advance(hours=1)
    ids = dict(memory.sql("select display_name, entity_id from commonlore.entity_name where display_name in ('PostgreSQL', 'MySQL')"))
    request = MergeEntitiesRequest(from_entity_id=ids["MySQL"], to_entity_id=ids["PostgreSQL"], apply=True, reason="one product")
    await administration(memory).merge_entities(team.ada.key, request, correlation_id="test")

    assert [("dismissed", "write")] == memory.sql("select status, closed_by from commonlore.conflict_case")
    assert [] == (await views(memory, team.ann))[1]
    assert [("open", ["candidate", "candidate"])] == (await views(memory, team.ann, known_at=opened))[1]
