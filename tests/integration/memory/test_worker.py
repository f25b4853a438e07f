"""The worker: each vector once, no text lost, counts that stay right beside writers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from commonlore.api.administration import TeamAdministration
from commonlore.db.backlog import SpaceBacklog, sweep
from commonlore.db.postings import FOLD_FROM
from commonlore.db.session import make_pool
from commonlore.db.settings import read_settings
from commonlore.domain.jobs.kind import FOLD_STATISTICS, JobFailed
from commonlore.domain.ports import EmbeddingContract, EmbeddingUnavailable, Vectors
from commonlore.domain.projection.request import ListFailedVectorsRequest
from commonlore.workers import main as worker_main
from commonlore.workers.handlers import HANDLERS
from tests.support.embedders import FailingEmbedder, MalformedEmbedder
from tests.support.jobs import a_turn
from tests.support.jobs import embed as embed_parts
from tests.support.memory import CONTRACT, Holder, Memory, ServedHashEmbedder, contexts
from tests.support.postings import DOCUMENT_POSTINGS, PART_POSTINGS


class Down(FailingEmbedder):
    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


class Cursed(MalformedEmbedder):
    """Malformed answers for every call with a cursed text in it."""

    def __init__(self) -> None:
        super().__init__("nan", marker="cursed")

    @property
    def contract(self) -> EmbeddingContract:
        return CONTRACT


class Slow(ServedHashEmbedder):
    """Answers after a while, so that two jobs overlap; counts the texts it was asked for."""

    async def embed_texts(self, texts: Any) -> Vectors:
        made = await super().embed_texts(texts)
        await asyncio.sleep(0.1)
        return made


class Unanswering(ServedHashEmbedder):
    """Never answers; `asked` is set by the first question."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def embed_texts(self, texts: Any) -> Vectors:
        self.asked.set()
        return await asyncio.Future()


def shared_space(memory: Memory, holder: Holder) -> UUID:
    found: UUID = memory.sql("select space_id from commonlore.space where team_id = %s and space_kind = 'team_shared'", holder.team_id)[0][0]
    return found


@asynccontextmanager
async def as_worker(memory: Memory, embedder: Any = None) -> AsyncIterator[Memory]:
    pool = make_pool(memory.database.worker_conninfo, size=4, name="test-worker")
    await pool.open()
    try:
        yield replace(memory, adapters=replace(memory.adapters, pool=pool, embedder=embedder or ServedHashEmbedder()))
    finally:
        await pool.close()


async def waiting_texts(memory: Memory, count: int = 100) -> Holder:
    """Texts and two relationships that have no vector yet."""
    ann = await memory.key()
    down = memory.with_embedder(Down())
    await down.remember_all(ann, [f"Zebra number {number}." for number in range(count)])
    for name in ("Uma", "Vic"):
        await down.relate(ann, f"{name} likes zebra.", name, "likes", "zebra")
    return ann


def vectors(memory: Memory) -> tuple[int, int]:
    return memory.sql("select (select count(*) from commonlore.evidence_vector_1), (select count(*) from commonlore.relationship_vector_1)")[0]  # type: ignore[return-value]


def backlog(memory: Memory) -> list[tuple[Any, ...]]:
    return memory.sql("select search_state, attempts, count(*) from commonlore.evidence_embedding_backlog group by 1, 2 order by 1, 2")


async def test_two_jobs_at_once_store_each_vector_once(memory: Memory) -> None:
    ann = await waiting_texts(memory)
    space_id = shared_space(memory, ann)
    async with as_worker(memory, Slow()) as worker:
        await asyncio.gather(*(embed_parts(worker.adapters, team_id=ann.team_id, space_id=space_id) for _ in range(3)))

    assert ((102, 2), []) == (vectors(memory), backlog(memory))
    assert [("current", 2)] == memory.sql("select search_state, count(*) from commonlore.relationship_document group by 1")


async def test_vectors_of_the_job_are_those_of_the_write(memory: Memory) -> None:
    """The same text has the same vector, speaker and all, whether it was embedded at once or later."""
    ann, ben = await memory.key(member="ann"), await memory.key(member="ben")
    down = memory.with_embedder(Down())
    for holder, now in ((ann, memory), (ben, down)):
        await now.remember(holder, content="I like zebra. " * 60, speaker="Uma Lee", force_insert=True)
    await memory.run_embedding(ann)

    assert {(1, 2)} == set(memory.sql("select count(distinct embedding::text), count(*) from commonlore.evidence_vector_1 group by part_no"))


async def test_one_malformed_text_fails_alone_after_five_tries(memory: Memory) -> None:
    """The others of its batch get their vectors; the failed one is left out, with its reason."""
    ann = await waiting_texts(memory, 10)
    await memory.with_embedder(Down()).remember_all(ann, ["A cursed zebra."])
    async with as_worker(memory, Cursed()) as worker:
        made = await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))
        again = await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))

    assert (14, 0, (12, 2), [("failed", 5, 1)]) == (made, again, vectors(memory), backlog(memory))
    assert [("embedding_malformed",)] == memory.sql("select error_code from commonlore.evidence_embedding_backlog")
    assert "A cursed zebra." in contexts(await memory.recall(ann, "cursed"))


async def test_what_failed_for_good_is_listed_for_administrators(memory: Memory) -> None:
    """Of every space and of both kinds, page by page, with the reason and nothing of what it says; another team's are not."""
    ann = await memory.key(scopes=("read", "write", "admin"))
    ben = await memory.key(team="other", scopes=("read", "write", "admin"))
    down = memory.with_embedder(Down())
    texts = await down.remember_all(ann, ["A cursed zebra.", "A quiet zebra."])
    await down.relate(ann, "Uma likes cursed.", "Uma", "likes", "cursed")
    async with as_worker(memory, Cursed()) as worker:
        await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))

    async def page(holder: Holder, cursor: str | None = None) -> dict[str, Any]:
        request = ListFailedVectorsRequest(limit=2, cursor=cursor)
        return dict(await TeamAdministration(memory.adapters, lambda _: None).list_failed_vectors(holder.key, request, correlation_id="test"))

    first = await page(ann)
    last = await page(ann, first["next_cursor"])
    found = [*first["failed"], *last["failed"]]
    assert (2, 1, None) == (len(first["failed"]), len(last["failed"]), last["next_cursor"])
    assert ["relationship", "text", "text"] == sorted(item["kind"] for item in found)
    assert sorted(item["id"] for item in found) == [item["id"] for item in found]
    assert texts[0] in {item["id"] for item in found} and texts[1] not in {item["id"] for item in found}
    assert {(1, 5, "embedding_malformed", str(shared_space(memory, ann)))} == {
        (item["parts"], item["attempts"], item["error_code"], item["space_id"]) for item in found
    }
    assert all(item["failed_at"] for item in found) and "cursed" not in str(found)
    assert [] == (await page(ben))["failed"]


async def test_a_malformed_document_fails_alone_too(memory: Memory) -> None:
    ann = await memory.key()
    await memory.with_embedder(Down()).relate(ann, "Uma likes cursed.", "Uma", "likes", "cursed")
    async with as_worker(memory, Cursed()) as worker:
        await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))

    assert [("failed", 5)] == memory.sql("select search_state, attempts from commonlore.relationship_document")


async def test_an_embedder_that_is_down_fails_the_job_and_nothing_else(memory: Memory) -> None:
    """No try is counted: the texts wait as before."""
    ann = await waiting_texts(memory, 5)
    async with as_worker(memory, Down()) as worker:
        with pytest.raises(EmbeddingUnavailable):
            await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))

    assert [("pending", 0, 7)] == backlog(memory)
    assert 9 == await memory.run_embedding(ann)


async def test_a_worker_killed_between_reading_and_storing_loses_nothing(memory: Memory) -> None:
    ann = await waiting_texts(memory, 30)
    space_id = shared_space(memory, ann)
    embedder = Unanswering()
    async with as_worker(memory, embedder) as worker:
        task = asyncio.ensure_future(embed_parts(worker.adapters, team_id=ann.team_id, space_id=space_id))
        await embedder.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        killed = vectors(memory)
    async with as_worker(memory) as worker:
        await embed_parts(worker.adapters, team_id=ann.team_id, space_id=space_id)

    assert ((0, 0), (32, 2), []) == (killed, vectors(memory), backlog(memory))


async def test_a_document_written_anew_meanwhile_keeps_waiting(memory: Memory) -> None:
    """A vector of an old text is never stored under a new one."""
    ann = await memory.key()
    down = memory.with_embedder(Down())
    await down.relate(ann, "Uma likes zebra.", "Uma", "likes", "zebra")
    async with as_worker(memory) as worker:
        space = SpaceBacklog(worker.adapters.pool, ann.team_id, shared_space(memory, ann))
        old = await space.read(10)
        await down.relate(ann, "Uma likes zebra until July.", "Uma", "likes", "zebra", valid_to="2026-07-31T00:00:00Z")
        await space.store([(item, ServedHashEmbedder().vector(item.text)) for item in old])

        assert [("pending", 2)] == memory.sql("select search_state, source_version from commonlore.relationship_document")
        assert (1, 0) == vectors(memory)
        assert any("valid_to" in item.text for item in await space.read(10))


async def test_a_worker_with_another_model_makes_no_vector(memory: Memory) -> None:
    ann = await waiting_texts(memory, 3)
    other = MalformedEmbedder("nan", marker="never")
    async with as_worker(memory, other) as worker:
        with pytest.raises(JobFailed, match="contract_mismatch"):
            await embed_parts(worker.adapters, team_id=ann.team_id, space_id=shared_space(memory, ann))

    assert [("pending", 0, 5)] == backlog(memory)


async def test_a_job_for_a_space_that_is_gone_does_nothing(memory: Memory) -> None:
    ann = await waiting_texts(memory, 3)
    space_id = shared_space(memory, ann)
    memory.sql("update commonlore.space set lifecycle_state = 'sealed' where space_id = %s", space_id)
    async with as_worker(memory) as worker:
        assert 0 == await embed_parts(worker.adapters, team_id=ann.team_id, space_id=space_id)


async def test_a_job_cannot_reach_another_teams_space(memory: Memory) -> None:
    """A team's id with another's space: nothing is read, whatever the arguments say."""
    ann, eve = await waiting_texts(memory, 3), await memory.key(team="eve")
    async with as_worker(memory) as worker:
        assert 0 == await embed_parts(worker.adapters, team_id=eve.team_id, space_id=shared_space(memory, ann))

    assert (0, 0) == vectors(memory)


# --- statistics


def sums(memory: Memory) -> list[tuple[Any, ...]]:
    return [
        *memory.sql("select sum(parts), sum(length) from commonlore.evidence_statistic"),
        *memory.sql(f"select term, evidence_id, code from {PART_POSTINGS} order by 1, 2, 3"),
        *memory.sql("select generation, sum(documents), sum(length) from commonlore.relationship_statistic group by 1"),
        *memory.sql(f"select term, relationship_id, code from {DOCUMENT_POSTINGS} order by 1, 2, 3"),
    ]


async def test_folding_keeps_every_sum_and_leaves_one_row_each(memory: Memory) -> None:
    ann = await memory.key()
    for name in ("Uma", "Vic", "Wes"):
        await memory.relate(ann, f"{name} likes zebra.", name, "likes", "zebra")
    await memory.relate(ann, "Uma likes zebra until July.", "Uma", "likes", "zebra", valid_to="2026-07-31T00:00:00Z")
    before, answer = sums(memory), await memory.recall(ann, "zebra", limit=50)
    async with as_worker(memory) as worker:
        folded = await SpaceBacklog(worker.adapters.pool, ann.team_id, shared_space(memory, ann)).fold()

    assert (False, before) == (folded, sums(memory))
    assert [(1, 1)] == memory.sql(
        "select (select count(*) from commonlore.evidence_statistic), (select count(*) from commonlore.relationship_statistic)"
    )
    assert [(0, 0)] == memory.sql(
        "select (select count(*) from commonlore.evidence_posting_difference), (select count(*) from commonlore.relationship_posting_difference)"
    )
    assert [(0,)] == memory.sql("select count(*) from (select term from commonlore.evidence_posting group by 1 having count(*) > 1) n")
    assert answer["results"] == (await memory.recall(ann, "zebra", limit=50))["results"]


async def test_folding_beside_writers_and_readers_loses_no_count(memory: Memory) -> None:
    """Folders, writers and readers at once: the sums are those of what was written."""
    ann = await memory.key()
    await memory.remember_all(ann, ["Zebra at the start."])
    async with as_worker(memory) as worker:
        space = SpaceBacklog(worker.adapters.pool, ann.team_id, shared_space(memory, ann))
        done = asyncio.Event()

        async def fold() -> None:
            while not done.is_set():
                await space.fold()
                await asyncio.sleep(0)

        async def write() -> None:
            for number in range(25):
                await memory.relate(ann, f"Zebra likes Basel, {number}.", "Zebra", "likes", f"Basel, {number}")
            done.set()

        await asyncio.wait_for(asyncio.gather(write(), fold(), fold()), 60)
        await space.fold()

    assert [(26, 26)] == memory.sql(
        f"select (select sum(parts) from commonlore.evidence_statistic), (select count(*) from {PART_POSTINGS} where term = 'zebra')"
    )
    assert [(25,)] == memory.sql("select sum(documents) from commonlore.relationship_statistic")


# --- the queue


async def test_the_sweep_enqueues_what_waits_once(memory: Memory) -> None:
    """Two sweeps, one job a space; a space with nothing to do gets none."""
    ann = await waiting_texts(memory, 3)
    await memory.key(team="idle")
    memory.sql("truncate procrastinate.procrastinate_jobs cascade")
    async with as_worker(memory) as worker:
        first = await sweep(worker.adapters.pool)
        await sweep(worker.adapters.pool)

    jobs = memory.sql("select task_name, queue_name, args - 'job_id' from procrastinate.procrastinate_jobs")
    assert (1, 0) == (first.enqueued, first.failed)
    assert [("embed_parts", "embedding", {"team_id": str(ann.team_id), "space_id": str(shared_space(memory, ann))})] == jobs


async def test_the_sweep_asks_for_folding_where_there_are_many_differences(memory: Memory) -> None:
    ann = await memory.key()
    for number in range(FOLD_FROM):
        await memory.remember(ann, content=f"Zebra {number}.")
    before = sums(memory)
    async with as_worker(memory) as worker:
        await sweep(worker.adapters.pool)
        assert [("fold_statistics", str(shared_space(memory, ann)))] == memory.sql(
            "select task_name, args ->> 'space_id' from procrastinate.procrastinate_jobs"
        )
        await HANDLERS["fold_statistics"](a_turn(worker.adapters, FOLD_STATISTICS, ann.team_id, shared_space(memory, ann)))

    assert before == sums(memory)
    assert [(1,)] == memory.sql("select count(*) from commonlore.evidence_statistic")


async def test_many_writes_that_wait_ask_for_one_job(memory: Memory) -> None:
    await waiting_texts(memory, 60)

    assert [(1,)] == memory.sql("select count(*) from procrastinate.procrastinate_jobs where status = 'todo'")


async def test_a_write_that_is_undone_asks_for_no_job(memory: Memory) -> None:
    """The job is of the same transaction as the text."""
    ann = await memory.key()
    memory.sql("alter table commonlore.submission add constraint refused check (result is null)")
    with pytest.raises(Exception, match="refused"):
        await memory.with_embedder(Down()).remember(ann, content="Zebra.")

    assert [(0, 0)] == memory.sql("select (select count(*) from procrastinate.procrastinate_jobs), (select count(*) from commonlore.evidence)")


@pytest.mark.slow
async def test_the_worker_process_does_what_is_queued(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """End to end: the queue, the role and the real model."""
    await waiting_texts(memory, 5)
    monkeypatch.setenv("COMMONLORE_HOME", os.environ.get("COMMONLORE_TEST_HOME", "/nonexistent"))

    await asyncio.wait_for(worker_main.run(read_settings({}), memory.database.worker_conninfo, wait=False), 60)

    assert ((7, 2), []) == (vectors(memory), backlog(memory))
    assert [(0,)] == memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts'")
