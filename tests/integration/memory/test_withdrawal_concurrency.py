"""Withdrawals at once, against each other and against writers; and a process that is killed inside one."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.databases import TestDatabase
from tests.support.memory import Holder, Memory, a_relationship, contexts

WORKS = a_relationship("Mark", "works_on", "Atlas")


def mismatches(memory: Memory) -> list[tuple[Any, ...]]:
    """Relationships whose counts differ from their events, and rows whose last transition says another state."""
    return memory.sql(
        """
        select r.relationship_id, r.support_count, c.effective, r.status, t.to_status
        from commonlore.relationship r
        cross join lateral (
            select count(*) as effective from commonlore.relationship_support s
            where s.relationship_id = r.relationship_id
              and (select d.decision from commonlore.support_decision_event d where d.support_id = s.support_id
                   order by d.known_from desc, d.event_id desc limit 1) <> 'revoke'
              and not exists (select from commonlore.evidence_exclusion x where x.evidence_id = s.evidence_id and x.reason <> 'unsupported')) c
        cross join lateral (
            select t.to_status, t.version from commonlore.relationship_transition_event t
            where t.relationship_id = r.relationship_id order by t.version desc limit 1) t
        where r.support_count <> c.effective or r.status <> t.to_status or r.version <> t.version
           or (r.status = 'active') <> (r.support_count > 0) and r.status <> 'superseded'
        """
    )


async def test_one_retraction_at_once_is_written_once(database: TestDatabase) -> None:
    """Eight calls with one key are one answer; eight with keys of their own retract once and say the rest."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        first, second = [
            (await memory.remember(ann, content=f"Mark works on Atlas, {number}.", relationships=[WORKS]))["evidence"][0]["evidence_id"]
            for number in range(2)
        ]

        same = await asyncio.gather(*(memory.retract(ann, first, idempotency_key="k") for _ in range(8)))
        apart = await asyncio.gather(*(memory.retract(ann, second) for _ in range(8)))

        assert 1 == len({answer["submission_id"] for answer in same})
        assert ["already_retracted"] * 7 + ["retracted"] == sorted(answer["evidence"][0]["disposition"] for answer in apart)
        assert [(2, 2, 2)] == memory.sql(
            "select (select count(*) from commonlore.evidence_lifecycle_event), (select count(*) from commonlore.evidence_exclusion where reason = 'retracted'), "
            "(select count(*) from commonlore.support_decision_event where decision = 'revoke')"
        )
        assert [] == mismatches(memory)


async def test_retractions_in_opposite_orders_all_end(database: TestDatabase) -> None:
    """Over both spaces, with writers who cite the same texts and say them anew: nobody waits for one who waits for them."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key(member="ann", binding="profile_private")
        others = [await memory.key(member="ann", binding="profile_private") for _ in range(3)]
        draw = random.Random(5)

        async def write(holder: Holder, number: int) -> None:
            for turn in range(4):
                ids = []
                for space in ("private", "team_shared") if turn % 2 else ("team_shared", "private"):
                    answer = await memory.remember(
                        holder,
                        evidence=[{"content": "Mark works on Atlas."}, {"content": f"Mark works on Atlas: {number}, {turn}."}],
                        relationships=[{**WORKS, "evidence_indices": [0, 1]}],
                        target_space=space,
                    )
                    ids += [item["evidence_id"] for item in answer["evidence"]]
                draw.shuffle(ids)
                await memory.retract(holder, *ids)

        await asyncio.wait_for(asyncio.gather(*(write(holder, number) for number, holder in enumerate([ann, *others]))), 60)

        assert [] == mismatches(memory)
        assert [] == contexts(await memory.recall(ann, "Mark Atlas"))
        assert [(0,)] == memory.sql(
            "select count(*) from (select evidence_id from commonlore.evidence_lifecycle_event group by evidence_id having count(*) > 1) d"
        )


async def test_retraction_against_writers_who_cite_the_text(database: TestDatabase) -> None:
    """Whoever comes first: no statement counts by a text that was taken back."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        writers = [await memory.key() for _ in range(3)]
        for number in range(8):
            text = f"Mark works on Atlas, said {number} times."
            evidence_id = (await memory.remember(ann, content=text, relationships=[WORKS]))["evidence"][0]["evidence_id"]
            cites = {**WORKS, "evidence_indices": [], "known_evidence_ids": [evidence_id]}
            await asyncio.gather(
                memory.retract(ann, evidence_id),
                *(memory.remember(writer, content="See there.", relationships=[cites]) for writer in writers),
                memory.remember(ann, content=text, relationships=[WORKS]),
            )
            assert [] == mismatches(memory)
        shown = [context for context in contexts(await memory.recall(ann, "Mark Atlas", limit=50)) if context.startswith("Mark works")]
    assert len(shown) == len(set(shown)) <= 8


async def test_one_revision_of_many_at_once_wins(database: TestDatabase) -> None:
    """Compare and set: one of eight writers moves the source on, the others are told that it moved."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember(ann, content="Old.", source_key="page", source_revision="1")

        async def revise(number: int) -> str:
            try:
                await memory.remember(ann, content=f"New {number}.", source_key="page", source_revision=f"r{number}", previous_source_revision="1")
            except CommonloreError as error:
                return error.code
            return "stored"

        told = await asyncio.gather(*(revise(number) for number in range(8)))

        assert ["stale_input"] * 7 + ["stored"] == sorted(told)
        assert 1 == len(contexts(await memory.recall(ann, "new old", limit=50)))


async def test_a_text_joins_the_revision_that_is_current_when_it_is_stored(database: TestDatabase) -> None:
    """A text of the old revision is stored before the source moves on and goes with it, or is refused."""
    async with Memory.open(database, pool_size=8) as memory:
        ann = await memory.key()
        await memory.remember(ann, content="Start.", source_key="page", source_revision="1")
        for turn in range(1, 6):
            adds = (memory.remember(ann, content=f"Text {turn} {n}.", source_key="page", source_revision=str(turn)) for n in range(5))
            move = memory.remember(
                ann, content=f"Moved {turn}.", source_key="page", source_revision=str(turn + 1), previous_source_revision=str(turn)
            )
            await asyncio.gather(*adds, move, return_exceptions=True)

        assert [(0,)] == memory.sql(
            "select count(*) from commonlore.evidence e join commonlore.evidence_source s using (team_id, space_epoch, source_id) "
            "where (e.revision_id <> s.current_revision_id) <> exists (select from commonlore.evidence_exclusion x "
            "where x.evidence_id = e.evidence_id and x.reason = 'source_revised')"
        )


# --- a process that is killed

_CLIENT = """
import asyncio, sys
from commonlore.db.session import make_pool
from commonlore.db.retraction import PostgresRetraction
from commonlore.domain.ids import new_id
from commonlore.domain.tenancy.key import parse
from commonlore.domain.time import system_clock
from commonlore.domain.withdraw.retract import RetractRequest, retract
from uuid import UUID

async def main(conninfo, key, evidence_id):
    pool = make_pool(conninfo, size=1, name="killed")
    await pool.open()
    request = RetractRequest(evidence_ids=[UUID(evidence_id)], reason="killed", idempotency_key="k")
    ledger = PostgresRetraction(pool, parse(key), system_clock, 60_000, lambda actor: None)
    await retract(request, ledger=ledger, clock=system_clock, new_id=new_id, correlation_id="killed")

asyncio.run(main(*sys.argv[1:]))
"""
_STATE = (
    "select (select count(*) from commonlore.submission), (select count(*) from commonlore.evidence_lifecycle_event), "
    "(select count(*) from commonlore.evidence_exclusion), (select count(*) from commonlore.support_decision_event), "
    "(select string_agg(status || version, ',') from commonlore.relationship)"
)


_CONNECTED = "select pid from pg_stat_activity where datname = current_database() and application_name = 'commonlore-killed'"


def kill_inside(memory: Memory, holder: Holder, evidence_id: str, blocker: str) -> None:
    """Start a process that retracts, and kill it while it waits for the lock that `blocker` holds."""
    with psycopg.connect(memory.database.admin_conninfo) as held:
        held.execute(blocker.encode())
        client = subprocess.Popen([sys.executable, "-c", _CLIENT, memory.database.serving_conninfo, holder.text, evidence_id])
        try:
            wait_until(lambda: len(memory.sql(_CONNECTED + " and wait_event_type = 'Lock'")) == 1)
        finally:
            os.kill(client.pid, signal.SIGKILL)
            client.wait()
    wait_until(lambda: memory.sql(_CONNECTED) == [])


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "blocker",
    [
        "select pg_advisory_xact_lock(hashtextextended('commonlore.ledger ' || space_epoch::text, 0)) from commonlore.evidence",
        "select from commonlore.relationship for update",
    ],
    ids=["before its events", "after its events"],
)
async def test_a_killed_process_leaves_nothing_half_done(database: TestDatabase, blocker: str) -> None:
    """It waits for a lock inside its transaction when it dies; afterwards the same call does all of it."""
    async with Memory.open(database) as memory:
        ann = await memory.key()
        evidence_id = (await memory.remember(ann, content="Mark works on Atlas.", relationships=[WORKS]))["evidence"][0]["evidence_id"]
        before = memory.sql(_STATE)
        kill_inside(memory, ann, evidence_id, blocker)

        assert before == memory.sql(_STATE)
        assert ["Mark works on Atlas."] == contexts(await memory.recall(ann, "Mark"))
        assert ["retracted"] == [item["disposition"] for item in (await memory.retract(ann, evidence_id, idempotency_key="k"))["evidence"]]
