"""Retention: the preview counts what the job then removes, and nothing else goes."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from commonlore.db.backlog import sweep
from commonlore.db.retention import is_retention_due
from commonlore.db.session import Pool, team_transaction
from commonlore.domain.errors import Incorrect
from commonlore.domain.jobs.kind import APPLY_RETENTION
from commonlore.domain.time import system_clock
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.run import Outcome
from tests.integration.audit.test_reading import ask, worker_pool
from tests.integration.memory.test_worker import as_worker
from tests.support.audit import entries
from tests.support.identity import administer
from tests.support.jobs import a_turn
from tests.support.memory import Holder, Memory

ALL = ("read", "write", "admin")


async def run(memory: Memory, holder: Holder) -> list[tuple[str, int, int | None]]:
    async with as_worker(memory) as worker:
        turn = a_turn(worker.adapters, APPLY_RETENTION, holder.team_id)
        assert Outcome.DONE is await HANDLERS[APPLY_RETENTION.name](turn)
        told: Any = turn.queue
        return list(told.told)


async def sealed(memory: Memory, holder: Holder, *, batches: int) -> None:
    """Seals on all that waits, `batches` of one entry each and one with the rest."""
    from commonlore.db.audit_log import seal_batch

    async with worker_pool(memory) as pool:
        for _ in range(batches):
            await seal_batch(pool, holder.team_id, now=memory.clock(), batch=1)
        await seal_batch(pool, holder.team_id, now=memory.clock())


async def test_old_seals_lose_their_entries_and_the_chain_holds(memory: Memory) -> None:
    """The prefix that is older, whole seals at a time; a younger one ends it, whatever lies behind."""

    memory.clock.now = system_clock()  # the function that removes looks at the database's clock
    boss = await memory.key(scopes=ALL)
    await memory.remember_all(boss, ["One.", "Two."])
    await sealed(memory, boss, batches=3)
    memory.sql("update commonlore.audit_seal set last_known_from = now() - interval '40 days' where ordinal in (1, 2, 4)")
    before = await ask(memory, boss, "describe_retention", audit_days=30)
    ever = await run(memory, boss)
    kept = await ask(memory, boss, "update_retention", audit_days=30)
    await run(memory, boss)
    after = await ask(memory, boss, "describe_retention")
    seals = await ask(memory, boss, "list_audit_seals")

    assert (2, 2, 0, []) == (
        before["would_remove"]["audit_entries"],
        kept["would_remove"]["audit_entries"],
        after["would_remove"]["audit_entries"],
        ever,
    )
    assert ["removed", "removed", "whole", "whole"] == [seal["state"] for seal in seals["seals"]]
    assert [("worker", "retention", "audit:2")] == [
        (entry.actor_kind, entry.subject_kind, entry.subject) for entry in entries(memory.database, boss.team_id, subject_kind="retention")
    ]


async def test_the_worker_removes_no_entry_by_itself(memory: Memory) -> None:
    """Not without a rule, not the serving role, and not of another team."""

    boss, eve = await memory.key(scopes=ALL), await memory.key("other", scopes=ALL)
    await sealed(memory, boss, batches=1)
    memory.sql("update commonlore.audit_seal set last_known_from = now() - interval '40 days'")
    await ask(memory, eve, "update_retention", audit_days=30)
    before = len(entries(memory.database, boss.team_id))
    await run(memory, boss)
    await run(memory, eve)
    with psycopg.connect(memory.database.serving_conninfo, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("select commonlore.remove_audit(10)")

    assert before == len(entries(memory.database, boss.team_id))


async def test_an_answer_that_is_forgotten_makes_a_repeated_call_a_new_one(memory: Memory) -> None:
    """In every space of the team; a younger one is still answered."""

    boss = await memory.key(scopes=ALL)
    old = [await memory.remember(boss, content="One.", idempotency_key="k1", target_space=space) for space in ("team_shared",)]
    old.append(await memory.remember(boss, content="Two.", idempotency_key="k2", target_space="private"))
    memory.clock.advance(days=2)
    young = await memory.remember(boss, content="Three.", idempotency_key="k3")
    previewed = await ask(memory, boss, "update_retention", answer_days=1)
    await run(memory, boss)
    again = [
        await memory.remember(boss, content="One.", idempotency_key="k1", target_space="team_shared"),
        await memory.remember(boss, content="Two.", idempotency_key="k2", target_space="private"),
        await memory.remember(boss, content="Three.", idempotency_key="k3"),
    ]

    assert 2 == previewed["would_remove"]["answers"]
    assert [False, False, True] == [one["submission_id"] == two["submission_id"] for one, two in zip([*old, young], again, strict=True)]
    assert [one["evidence"][0]["evidence_id"] for one in [*old, young]] == [two["evidence"][0]["evidence_id"] for two in again]


async def test_kept_recalls_go_after_their_days_and_the_sweep_asks_for_it(memory: Memory) -> None:
    boss = await memory.key(scopes=ALL)
    await memory.remember(boss, content="Orion moved.")
    await ask(memory, boss, "update_feedback", enabled=True)
    await memory.recall(boss, "Orion")
    memory.clock.advance(days=31)
    await memory.recall(boss, "Orion")
    async with worker_pool(memory) as pool:
        await sweep(pool, clock=lambda: memory.clock.now)
        asked = memory.sql("select count(*) from commonlore.job where kind = 'apply_retention'")
        due = [await is_due(pool, memory, boss)]
        told = await run(memory, boss)
        for days in (0, 2, 40):
            memory.clock.advance(days=days)
            due.append(await is_due(pool, memory, boss))

    assert ([(1,)], [("feedback", 1, None)]) == (asked, told)
    assert [True, False, False, True] == due  # after a day, and only where something is left
    assert [(1,)] == memory.sql("select count(*) from commonlore.feedback_recall")


@pytest.mark.parametrize("kind", ["team", "space", "profile", "evidence"])
async def test_what_a_legal_hold_covers_outlives_its_days(memory: Memory, kind: str) -> None:
    """The log and kept recalls whatever is held, answers of the spaces that it reaches into; the preview says so. Released, all of it goes."""

    memory.clock.now = system_clock()
    boss, ann = await memory.key(scopes=ALL), await memory.key()
    shared = await memory.remember(boss, content="Orion moved.", idempotency_key="k1", target_space="team_shared")
    await memory.remember(ann, content="Mine.", idempotency_key="k2", target_space="private")
    await ask(memory, boss, "update_feedback", enabled=True)
    await memory.recall(boss, "Orion")
    await sealed(memory, boss, batches=1)
    [(space_id,)] = memory.sql("select space_id from commonlore.space where team_id = %s and space_kind = 'team_shared'", boss.team_id)
    targets = {"team": boss.team_id, "space": space_id, "profile": boss.profile_id, "evidence": shared["evidence"][0]["evidence_id"]}
    hold = await administer(memory, boss, "place_hold", target_kind=kind, target_id=str(targets[kind]), reason="case 7")
    memory.sql("update commonlore.audit_seal set last_known_from = now() - interval '40 days'")
    memory.clock.advance(days=41)
    previewed = await ask(memory, boss, "update_retention", audit_days=30, answer_days=1)
    held = await run(memory, boss), kept(memory)
    await administer(memory, boss, "release_hold", hold_id=hold["hold_id"])
    after = await ask(memory, boss, "describe_retention")
    await run(memory, boss)

    answers = 0 if kind == "team" else 1
    assert (0, 0, answers) == tuple(previewed["would_remove"][name] for name in ("audit_entries", "kept_recalls", "answers"))
    assert ([("answers", 1, None)] * answers, (True, 1, 2 - answers)) == held
    assert (1, 2 - answers) == (after["would_remove"]["kept_recalls"], after["would_remove"]["answers"])
    assert (False, 0, 0) == kept(memory)


def kept(memory: Memory) -> tuple[bool, int, int]:
    """Whether every sealed entry is there, how many recalls, and how many stored answers."""
    [found] = memory.sql(
        "select not exists (select from commonlore.audit_seal s, unnest(s.entry_ids) as i (id)"
        " where not exists (select from commonlore.audit_entry e where e.entry_id = i.id)),"
        " (select count(*) from commonlore.feedback_recall), (select count(*) from commonlore.submission where idempotency_key is not null)"
    )
    return found[0], found[1], found[2]


async def is_due(pool: Pool, memory: Memory, holder: Holder) -> bool:
    async with team_transaction(pool, holder.team_id, timeout_ms=10_000) as transaction:
        return await is_retention_due(transaction, memory.clock.now)


async def test_reports_of_jobs_are_kept_as_long_as_the_team_wants(memory: Memory) -> None:
    from commonlore.db.job_queue import JobQueue

    boss = await memory.key(scopes=ALL)
    await ask(memory, boss, "run_retention")
    memory.sql("update commonlore.job set state = 'dead', reason = 'cancelled', finished_at = now() - interval '10 days'")
    counts = []
    for days in (30, 11, 9):
        previewed = await ask(memory, boss, "update_retention", job_days=days)
        async with worker_pool(memory) as pool:
            await JobQueue(pool).forget_ended(boss.team_id)
        counts.append((previewed["would_remove"]["jobs"], memory.sql("select count(*) from commonlore.job")))

    assert [(0, [(1,)]), (0, [(1,)]), (1, [(0,)])] == counts


async def test_a_change_of_nothing_is_refused(memory: Memory) -> None:
    boss = await memory.key(scopes=ALL)
    with pytest.raises(Incorrect, match="at least one"):
        await ask(memory, boss, "update_retention")
