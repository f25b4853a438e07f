"""Reading the log: filters, pages, seals, and that each reading is in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from commonlore.api.admin import ADMIN
from commonlore.api.administration import TeamAdministration
from commonlore.db.audit_log import seal_batch
from commonlore.db.backlog import sweep
from commonlore.db.session import Pool, make_pool
from commonlore.domain.errors import Incorrect
from commonlore.domain.jobs.kind import SEAL_AUDIT
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.run import Outcome
from tests.integration.memory.test_worker import as_worker
from tests.support.audit import entries
from tests.support.jobs import a_turn
from tests.support.memory import Holder, Memory

ALL = ("read", "write", "admin")


async def ask(memory: Memory, holder: Holder, name: str, /, **fields: Any) -> dict[str, Any]:
    spec = ADMIN[name]
    administration = TeamAdministration(memory.adapters, lambda _: None)
    return dict(await spec.of(administration)(holder.key, msgspec.convert(fields, spec.request), correlation_id="test"))


async def walk(memory: Memory, holder: Holder, limit: int, **filters: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        answer = await ask(memory, holder, "list_audit", limit=limit, cursor=cursor, **filters)
        found += answer["entries"]
        cursor = answer["next_cursor"]
        if cursor is None:
            return found


@asynccontextmanager
async def worker_pool(memory: Memory) -> AsyncIterator[Pool]:
    pool = make_pool(memory.database.worker_conninfo, size=2, name="test-worker")
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_pages_of_any_size_show_every_entry_once(memory: Memory, limit: int) -> None:
    """The newest first, whatever is written between them; the page of another team has none of it."""

    boss, eve = await memory.key(scopes=ALL), await memory.key("other", scopes=ALL)
    await memory.remember_all(boss, [f"Text {number}." for number in range(45)])
    before = [entry.subject for entry in entries(memory.database, boss.team_id)][::-1]
    found = await walk(memory, boss, limit)
    others = await walk(memory, eve, limit)

    assert before == [entry["subject"] for entry in found][-len(before) :]
    assert len(found) == len({entry["entry_id"] for entry in found})
    assert set() == {entry["subject"] for entry in found} & {entry["subject"] for entry in others}


async def test_every_filter_that_is_given_must_hold(memory: Memory) -> None:
    boss, ben = await memory.key(scopes=ALL), await memory.key()
    start = memory.clock.now
    [text] = await memory.remember_all(boss, ["One."])
    middle = memory.clock.advance(hours=1)
    await memory.remember_all(ben, ["Two."])
    await memory.retract(boss, text)

    def instant(moment: datetime) -> str:
        return moment.isoformat().replace("+00:00", "Z")

    async def count(**filters: Any) -> int:
        return len(await walk(memory, boss, 200, **filters))

    mine = {"profile_id": str(boss.profile_id), "since": instant(start), "act": "unnamed"}
    until = [await count(**mine, until=instant(moment)) for moment in (memory.clock.now, middle)]
    assert ([2, 1], 1) == (until, await count(profile_id=str(ben.profile_id)))
    assert [] == await walk(memory, boss, 200, act="no_such_act")
    assert [] == await walk(memory, boss, 200, outcome="denied")
    assert ["credential"] == [entry["subject_kind"] for entry in await walk(memory, boss, 200, subject=str(boss.credential_id))]


@pytest.mark.parametrize("fields", [{"since": "2026-07-01"}, {"since": "2026-07-02T00:00:00Z", "until": "2026-07-01T00:00:00Z"}, {"cursor": "x"}])
async def test_a_wrong_period_or_cursor_is_named(memory: Memory, fields: dict[str, str]) -> None:
    boss = await memory.key(scopes=ALL)
    with pytest.raises(Incorrect, match=r"/(since|until|cursor)"):
        await ask(memory, boss, "list_audit", **fields)


async def test_a_reading_is_an_entry_once_a_walk(memory: Memory) -> None:
    boss = await memory.key(scopes=ALL)
    await memory.remember_all(boss, ["One.", "Two.", "Three."])
    before = len(entries(memory.database, boss.team_id))
    await walk(memory, boss, 1)

    assert before + 1 == len(entries(memory.database, boss.team_id))


async def test_a_worker_seals_what_waits_and_a_change_is_seen(memory: Memory) -> None:
    """By the sweep after five minutes; batches of any size make one chain; the owner who changes an entry breaks one seal."""

    boss = await memory.key(scopes=ALL)
    for number in range(5):
        await memory.remember_all(boss, [f"Text {number}."])
    now = datetime.now(UTC)
    async with worker_pool(memory) as pool:
        early = await sweep(pool, clock=lambda: now)
        sealed = [await seal_batch(pool, boss.team_id, now=now, batch=3) for _ in range(2)]
        due = await sweep(pool, clock=lambda: now + timedelta(minutes=10))
        job = memory.sql("select count(*) from commonlore.job where kind = 'seal_audit'")
    async with as_worker(memory) as worker:
        assert Outcome.DONE is await HANDLERS[SEAL_AUDIT.name](a_turn(worker.adapters, SEAL_AUDIT, boss.team_id))
    whole = await ask(memory, boss, "list_audit_seals")
    paged = [await ask(memory, boss, "list_audit_seals", after=after, limit=1) for after in range(3)]
    memory.sql(
        "update commonlore.audit_entry set subject = 'another' where entry_id = (select entry_ids[2] from commonlore.audit_seal where ordinal = 2)"
    )
    after = await ask(memory, boss, "list_audit_seals")

    assert ([3, 3], [(1,)], True) == (sealed, job, early.enqueued <= due.enqueued)
    assert ([3, 3, 2], ["whole"] * 3, 0) == (
        [seal["entries"] for seal in whole["seals"]],
        [seal["state"] for seal in whole["seals"]],
        whole["unsealed_entries"],
    )
    assert whole["seals"] == [seal for page in paged for seal in page["seals"]]
    assert [1, 2, None] == [page["next_after"] for page in paged]
    assert ["whole", "broken", "whole"] == [seal["state"] for seal in after["seals"]]


async def test_a_seal_that_was_taken_away_is_missed(memory: Memory) -> None:
    boss = await memory.key(scopes=ALL)
    async with worker_pool(memory) as pool:
        await seal_batch(pool, boss.team_id, now=memory.clock(), batch=1)
        await seal_batch(pool, boss.team_id, now=memory.clock(), batch=1)
        await seal_batch(pool, boss.team_id, now=memory.clock(), batch=1)
    memory.sql("delete from commonlore.audit_seal where ordinal = 2")
    found = await ask(memory, boss, "list_audit_seals")

    assert [(1, "whole"), (3, "broken")] == [(seal["ordinal"], seal["state"]) for seal in found["seals"]]
