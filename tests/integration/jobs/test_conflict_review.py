"""The review of conflicts as a job of the worker's role: votes, people first, events once, nothing by itself that the team did not allow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from commonlore.db.backlog import sweep
from commonlore.domain.conflict.request import UpdateConflictRulesRequest
from commonlore.domain.errors import Conflict
from commonlore.domain.jobs.kind import REVIEW_CONFLICTS
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.run import Outcome
from tests.integration.memory.test_worker import as_worker, shared_space
from tests.support.conflicts import Contested, administration, contest, contest_texts, decide, launched, show_case, state, views
from tests.support.jobs import a_turn
from tests.support.memory import Memory

CASE = "select status, closed_by, version from commonlore.conflict_case order by known_from, conflict_id"
EVENTS = "select action, reason from commonlore.conflict_event where support_id is null order by conflict_id, ordinal"
BOTH, OPEN = ["MySQL", "PostgreSQL"], ["candidate", "candidate"]


async def allow(memory: Memory, team: Contested, **rules: Any) -> None:
    await administration(memory).update_conflict_rules(team.ada.key, msgspec.convert(rules, UpdateConflictRulesRequest), correlation_id="test")


async def review(memory: Memory, team: Contested) -> None:
    """One turn of the job under the worker's role, at the memory's own time."""
    async with as_worker(memory) as worker:
        run = a_turn(worker.adapters, REVIEW_CONFLICTS, team.ann.team_id, shared_space(memory, team.ann))
        assert Outcome.DONE is await HANDLERS[REVIEW_CONFLICTS.name](run)


async def second_voter(memory: Memory) -> Any:
    """Another member for PostgreSQL."""
    eve = await memory.key(member="Eve")
    await state(memory, eve, "PostgreSQL", "Eve says that the primary database of Orion is PostgreSQL.")
    return eve


async def test_nothing_happens_before_the_case_is_due(memory: Memory) -> None:
    team = await contest(memory)
    memory.clock.advance(days=6, hours=23)
    await review(memory, team)

    assert [("open", None, 1)] == memory.sql(CASE)


async def test_a_tie_becomes_overdue_once_and_every_side_still_counts(memory: Memory) -> None:
    """Looked at again and again, hours and days later: one event, one version."""
    team = await contest(memory)
    for step in ({"days": 7}, {"seconds": 1}, {"hours": 2}, {"days": 30}):
        memory.clock.advance(**step)
        await review(memory, team)

    assert [("overdue", None, 2)] == memory.sql(CASE)
    assert ("marked_overdue", "due_no_winner") == memory.sql(EVENTS)[-1]
    assert 1 == [action for action, _ in memory.sql(EVENTS)].count("marked_overdue")
    assert (BOTH, [("overdue", OPEN)]) == await views(memory, team.ann)
    assert [(None,)] == memory.sql("select distinct actor_profile_id from commonlore.conflict_event where action = 'marked_overdue'")


async def test_a_majority_waits_for_a_person_unless_the_team_lets_it_count(memory: Memory) -> None:
    """First a proposal; when the team allows it, the same votes decide at the next look, as a person's decision would."""
    team = await contest(memory)
    await second_voter(memory)
    memory.clock.advance(days=8)
    await review(memory, team)
    proposed = memory.sql(CASE), memory.sql(EVENTS)[-1]
    await allow(memory, team, automatic=True)
    memory.clock.advance(hours=2)
    await review(memory, team)

    assert ([("overdue", None, 3)], ("marked_overdue", "due_supporter_majority: a person confirms")) == proposed
    assert [("resolved", "policy", 4)] == memory.sql(CASE)
    assert ("resolved", "due_supporter_majority") == memory.sql(EVENTS)[-1]
    assert (["PostgreSQL"] * 2, [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann)
    assert [("superseded", 2)] == memory.sql(
        "select status, version from commonlore.relationship where relationship_id = %s", team.relationships["MySQL"]
    )


async def test_one_member_is_one_vote_however_many_keys_and_texts(memory: Memory) -> None:
    """Ben says it five times by two keys: it is one against one."""
    team = await contest(memory)
    await allow(memory, team, automatic=True)
    other = await memory.key(member="Ben")
    for number in range(4):
        await state(memory, other, "MySQL", f"Note {number}: the primary database of Orion is MySQL.")
    memory.clock.advance(days=8)
    await review(memory, team)

    assert "overdue" == memory.sql(CASE)[0][0]
    assert ("marked_overdue", "due_no_winner") == memory.sql(EVENTS)[-1]


async def test_without_a_quorum_nobody_wins(memory: Memory) -> None:
    team = await contest(memory)
    await second_voter(memory)
    await allow(memory, team, automatic=True, quorum=4)
    memory.clock.advance(days=8)
    await review(memory, team)

    assert ("overdue", ("marked_overdue", "due_no_quorum")) == (memory.sql(CASE)[0][0], memory.sql(EVENTS)[-1])


@pytest.mark.parametrize(
    ("rules", "status"),
    [({"automatic": True}, "overdue"), ({"last_write_wins": True}, "overdue"), ({"automatic": True, "last_write_wins": True}, "resolved")],
)
async def test_the_last_write_wins_only_where_the_team_says_both(memory: Memory, rules: dict[str, bool], status: str) -> None:
    team = await contest(memory)
    await allow(memory, team, **rules)
    memory.clock.advance(days=8)
    await review(memory, team)

    assert status == memory.sql(CASE)[0][0]
    if status == "resolved":
        assert (["MySQL"], [("resolved", ["suppressed_current", "preferred"])]) == await views(memory, team.ann)
        assert ("resolved", "last_write_wins") == memory.sql(EVENTS)[-1]


async def test_a_persons_decision_comes_first_and_is_never_revised(memory: Memory) -> None:
    """Against the majority, and after the case was overdue; reviews change nothing of it."""
    team = await contest(memory)
    await second_voter(memory)
    memory.clock.advance(days=8)
    await review(memory, team)
    await decide(memory, team.ada, **team.request("MySQL", expected_version=3))
    await allow(memory, team, automatic=True, last_write_wins=True)
    before = memory.sql(CASE), memory.sql(EVENTS)
    memory.clock.advance(days=60)
    await review(memory, team)

    assert [("resolved", "person", 4)] == before[0]
    assert before == (memory.sql(CASE), memory.sql(EVENTS))


async def test_a_decision_on_what_was_read_before_the_review_is_stale(memory: Memory) -> None:
    """The review is one more version, so nobody decides on a state that is gone."""
    team = await contest(memory)
    memory.clock.advance(days=8)
    await review(memory, team)
    with pytest.raises(Conflict) as raised:
        await decide(memory, team.ada, **team.request())
    await decide(memory, team.ada, **team.request(expected_version=2))

    assert "stale_input" == raised.value.code
    assert [("resolved", "person", 3)] == memory.sql(CASE)


async def test_views_of_the_past_see_the_case_before_its_review(memory: Memory) -> None:
    team = await contest(memory)
    await second_voter(memory)
    await allow(memory, team, automatic=True)
    known = memory.clock.now
    memory.clock.advance(days=8)
    await review(memory, team)

    assert ([*BOTH, "PostgreSQL"], [("open", OPEN)]) == await views(memory, team.ann, known_at=known.isoformat())
    assert (["PostgreSQL"] * 2, [("resolved", ["preferred", "suppressed_current"])]) == await views(memory, team.ann)


async def test_new_evidence_for_an_overdue_case_is_looked_at_at_once(memory: Memory) -> None:
    """A changed case does not wait for its hour."""
    team = await contest(memory)
    await allow(memory, team, automatic=True)
    memory.clock.advance(days=8)
    await review(memory, team)
    await second_voter(memory)
    await review(memory, team)

    assert ("resolved", "policy") == memory.sql(CASE)[0][:2]


async def test_a_case_of_texts_becomes_overdue_and_is_decided_by_people_alone(memory: Memory) -> None:
    team = await contest(memory)
    await decide(memory, team.ada, **team.request())
    await allow(memory, team, automatic=True, last_write_wins=True)
    texts = [await launched(memory, team.ann, year) for year in (2019, 2020)]
    case = await contest_texts(memory, team.ann, [(key, 0, 5) for key in texts])
    memory.clock.advance(days=8)
    await review(memory, team)
    shown = await show_case(memory, team.ada, case["conflict_id"])

    assert "overdue" == shown["conflict"]["status"]
    assert ("marked_overdue", "a person decides about texts") == (shown["events"][-1]["action"], shown["events"][-1]["reason"])


async def test_the_sweep_asks_for_a_review_where_a_case_is_due(memory: Memory) -> None:
    """Once until the case is due again, and never for a space without one."""
    team = await contest(memory)
    await memory.key(team="idle")
    kinds = "select task_name from procrastinate.procrastinate_jobs where task_name = 'review_conflicts'"
    async with as_worker(memory) as worker:
        await sweep(worker.adapters.pool, clock=memory.clock)
        early = memory.sql(kinds)
        memory.clock.advance(days=8)
        await sweep(worker.adapters.pool, clock=memory.clock)
        due = memory.sql(kinds)
        await review(memory, team)
        assert 0 == (await sweep(worker.adapters.pool, clock=memory.clock)).enqueued
    memory.clock.now += timedelta(hours=1)

    assert ([], [("review_conflicts",)]) == (early, due)


async def test_a_worker_writes_of_the_ledger_what_a_review_decides_and_nothing_else(memory: Memory) -> None:
    """Statements, texts and votes are not its own to write; events cannot be changed."""
    team = await contest(memory)
    epoch = memory.sql("select space_epoch from commonlore.conflict_case")[0][0]
    for statement in (
        "update commonlore.conflict_event set reason = 'x'",
        "delete from commonlore.conflict_event",
        "update commonlore.conflict_case set question = 'x'",
        "update commonlore.relationship set object_entity_id = null",
        "delete from commonlore.relationship",
        "insert into commonlore.relationship_support select * from commonlore.relationship_support",
        "update commonlore.evidence set content = 'x'",
        "update commonlore.team set conflict_automatic = true",
    ):
        with psycopg.connect(memory.database.worker_conninfo) as connection:
            connection.execute(
                "select set_config('commonlore.team_id', %s, true), set_config('commonlore.space_epoch', %s, true)",
                (str(team.ann.team_id), str(epoch)),
            )
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
