"""kill -9 of the worker at every stage of an erasure: another goes on, nothing is left, and every row is counted once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from commonlore.db.settings import read_settings
from commonlore.workers import main as worker
from tests.integration.erasure.test_erasing import SECRET, taught
from tests.support.dying import Dying
from tests.support.erasure import erase
from tests.support.erasure_process import PLACES
from tests.support.memory import Memory, ServedHashEmbedder
from tests.support.worker_process import QUICK, ended


async def finish(memory: Memory, home: Path) -> None:
    """A healthy worker of this process, until the erasure is over."""
    task = asyncio.ensure_future(
        worker.run(read_settings({}, home=home), memory.database.worker_conninfo, rules=QUICK, make_embedder=ServedHashEmbedder)
    )
    try:
        for _ in range(600):
            states = {state for (state,) in memory.sql("select state from commonlore.job where kind = 'erase'")}
            # A sweep may have asked for it as well; of two of the same key one does the work.
            if "succeeded" in states <= {"succeeded", "merged"}:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(memory.sql("select kind, state, reason, attempts from commonlore.job"))
    finally:
        await ended(task)


@pytest.mark.parametrize("place", list(PLACES))
async def test_a_worker_that_is_killed_anywhere_leaves_an_erasure_that_another_ends(memory: Memory, dying: Dying, tmp_path: Path, place: str) -> None:
    ann, answer = await taught(memory)
    begun = await erase(memory, ann, "evidence", answer["evidence"][0]["evidence_id"])
    await dying.killed("erasure_process", memory.database.worker_conninfo, place, str(tmp_path))
    await finish(memory, tmp_path)

    [(state, receipt)] = memory.sql("select state, receipt::jsonb from commonlore.erasure where erasure_id = %s::uuid", begun["erasure_id"])
    assert ("done", True) == (state, receipt["complete"])
    assert [(0,)] == memory.sql("select count(*) from commonlore.evidence where content = %s", SECRET)
    counts = {table: receipt["deleted_rows"].get(table) for table in ("evidence", "evidence_part", "relationship", "entity", "evidence_source")}
    assert {"evidence": 1, "evidence_part": 1, "relationship": 1, "entity": 2, "evidence_source": 1} == counts
