"""A worker that is killed loses nothing and does nothing twice, wherever it was: another takes its job up."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest

from commonlore.db.settings import read_settings
from commonlore.workers import main as worker
from tests.support.dying import Dying
from tests.support.memory import Holder, Memory, ServedHashEmbedder
from tests.support.worker_process import PLACES, QUICK, ended

TEXTS = 70  # more than a batch


@asynccontextmanager
async def a_worker(memory: Memory, **rules: Any) -> AsyncIterator[None]:
    """A healthy worker of this process."""
    task = asyncio.ensure_future(
        worker.run(read_settings({}), memory.database.worker_conninfo, rules=rules.pop("rules", QUICK), make_embedder=ServedHashEmbedder, **rules)
    )
    try:
        yield
    finally:
        await ended(task)
        if not task.cancelled():
            task.result()


async def until(memory: Memory, statement: str, wanted: list[tuple[Any, ...]], seconds: float = 120) -> None:
    """Wait for rows to be as they should."""
    end = time.monotonic() + seconds
    while (found := memory.sql(statement)) != wanted:
        assert time.monotonic() < end, f"{found} instead of {wanted}"
        await asyncio.sleep(0.05)


async def waiting_texts(memory: Memory) -> Holder:
    """Texts and two relationships without a vector, and the job that their writes asked for."""
    from tests.integration.memory.test_worker import Down

    ann = await memory.key()
    down = memory.with_embedder(Down())
    await down.remember_all(ann, [f"Zebra number {number}." for number in range(TEXTS)])
    for name in ("Uma", "Vic"):
        await down.relate(ann, f"{name} likes zebra.", name, "likes", "zebra")
    return ann


def whole(memory: Memory) -> dict[str, Any]:
    """What must hold once everything is done, counted from rows."""
    [(parts, different, documents, waiting, left)] = memory.sql(
        "select (select count(*) from commonlore.evidence_vector_1), (select count(distinct (evidence_id, part_no)) from commonlore.evidence_vector_1),"
        " (select count(*) from commonlore.relationship_vector_1), (select count(*) from commonlore.evidence_embedding_backlog),"
        " (select count(*) from commonlore.relationship_document where search_state <> 'current')"
    )
    return {"parts": parts, "different": different, "documents": documents, "waiting": waiting, "left": left}


@pytest.mark.parametrize("place", [place for place in PLACES if place != "frozen"])
async def test_a_killed_workers_job_is_taken_up_and_every_count_is_exact(memory: Memory, dying: Dying, place: str) -> None:
    await waiting_texts(memory)
    await dying.killed("worker_process", memory.database.worker_conninfo, place)
    running = memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts' and status = 'doing'")
    assert [(0 if place == "told" else 1,)] == running

    async with a_worker(memory):
        await until(memory, "select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts'", [(0,)])

    assert {"parts": TEXTS + 2, "different": TEXTS + 2, "documents": 2, "waiting": 0, "left": 0} == whole(memory)
    tries = 0 if place == "told" else 1
    assert [("succeeded", tries)] == memory.sql("select state, attempts from commonlore.job where kind = 'embed_parts'")


async def test_a_frozen_workers_job_is_another_ones_and_its_own_late_end_counts_for_nothing(memory: Memory, dying: Dying) -> None:
    """SIGSTOP past the silence, then SIGCONT when the other one is done: its vectors and its word for the job are refused."""
    await waiting_texts(memory)
    frozen = dying.start("worker_process", memory.database.worker_conninfo, "frozen")
    try:
        await until(memory, "select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts' and status = 'doing'", [(1,)])
        while psutil.Process(frozen).status() != psutil.STATUS_STOPPED:  # noqa: ASYNC110  the process tells nobody
            await asyncio.sleep(0.05)
        async with a_worker(memory):
            await until(memory, "select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts'", [(0,)])
            before = memory.sql("select state, attempts, finished_at, done from commonlore.job"), whole(memory)
        os.kill(frozen, signal.SIGCONT)
        await asyncio.sleep(2 * QUICK.silent_s)
    finally:
        os.kill(frozen, signal.SIGKILL)
        dying.wait()

    assert ("succeeded", 1) == before[0][0][:2]
    assert {"parts": TEXTS + 2, "different": TEXTS + 2, "documents": 2, "waiting": 0, "left": 0} == before[1]
    assert before == (memory.sql("select state, attempts, finished_at, done from commonlore.job"), whole(memory))


async def test_a_worker_that_reports_keeps_its_job_and_one_that_was_stopped_gives_it_back(memory: Memory) -> None:
    """A live worker's job is never taken, however long it runs; SIGTERM puts it back without counting a try."""
    from commonlore.domain.jobs.kind import EMBED_PARTS
    from commonlore.workers.run import JobRun, Outcome

    await waiting_texts(memory)
    seen: list[int] = []

    async def endless(run: JobRun) -> Outcome:
        seen.append(run.entry.number)
        await asyncio.sleep(60)
        return Outcome.DONE

    async with a_worker(memory, handlers={EMBED_PARTS.name: endless}), a_worker(memory, handlers={EMBED_PARTS.name: endless}):
        await asyncio.sleep(2.5 * QUICK.silent_s)
        assert 1 == len(seen)

    assert [("queued", 0, None)] == memory.sql("select state, attempts, reason from commonlore.job where kind = 'embed_parts'")
    assert [("todo", 0)] == memory.sql("select status::text, attempts from procrastinate.procrastinate_jobs where task_name = 'embed_parts'")
