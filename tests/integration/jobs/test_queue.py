"""The queue with a real worker: turns, tries, ends, and what a team's administrators see and steer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from commonlore.db.backlog import enqueue_embedding, sweep
from commonlore.db.job_queue import JobQueue, queue_pool
from commonlore.db.jobs import cancel_job, enqueue, page_jobs, read_job, retry_job
from commonlore.db.session import make_pool, team_transaction
from commonlore.db.settings import read_settings
from commonlore.domain.errors import Conflict, DeadlineExceeded, NotVisible
from commonlore.domain.ids import new_id
from commonlore.domain.jobs.kind import EMBED_PARTS, RENDER_DOCUMENTS, SWEEP, JobFailed, JobKind
from commonlore.domain.ports import EmbeddingUnavailable
from commonlore.workers import main as worker
from commonlore.workers.handlers import HANDLERS
from commonlore.workers.run import JobRun, Outcome
from tests.integration.jobs.test_killed_worker import a_worker, until, waiting_texts, whole
from tests.integration.memory.test_worker import as_worker, shared_space
from tests.support.memory import Holder, Memory, ServedHashEmbedder
from tests.support.worker_process import QUICK, ended

JOBS = "select kind, state, attempts, reason from commonlore.job order by queue_number"


async def ask(memory: Memory, holder: Holder, kind: JobKind = RENDER_DOCUMENTS, count: int = 1, **ids: Any) -> list[Any]:
    """Ask for jobs as the serving role does; their ids."""
    async with team_transaction(memory.adapters.pool, holder.team_id, timeout_ms=5_000) as transaction:
        space = shared_space(memory, holder)
        different = kind is RENDER_DOCUMENTS and not ids
        return [await enqueue(transaction, kind, space_id=space, **({"entity_id": new_id()} if different else ids)) for _ in range(count)]


async def work(memory: Memory, handlers: Mapping[str, Callable[[JobRun], Awaitable[Outcome]]], *, concurrency: int = 1) -> None:
    """A worker until nothing is due."""
    rules = worker.WorkerRules(concurrency=concurrency, poll_s=0.1, grace_s=5.0)
    await asyncio.wait_for(
        worker.run(read_settings({}), memory.database.worker_conninfo, wait=False, rules=rules, handlers=handlers, make_embedder=ServedHashEmbedder),
        30,
    )


def queue_sql(memory: Memory, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    """One statement on the queue as the superuser; its triggers name its tables without a schema."""
    conninfo = make_conninfo(memory.database.admin_conninfo, options="-c search_path=procrastinate,commonlore")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), parameters)
        return cursor.fetchall() if cursor.description else []


def due_at_once(memory: Memory) -> None:
    """As if the pauses were over."""
    queue_sql(memory, "update procrastinate.procrastinate_jobs set scheduled_at = null where status = 'todo'")


# --- turns


async def test_one_teams_flood_keeps_no_other_from_its_turn(memory: Memory) -> None:
    """Thirty jobs of one team wait already, with a higher priority; the two of others come in the first turns."""
    flood, ben, eve = await memory.key(team="flood"), await memory.key(team="ben"), await memory.key(team="eve")
    await ask(memory, flood, RENDER_DOCUMENTS, 30)
    await ask(memory, ben, EMBED_PARTS)
    await ask(memory, eve, EMBED_PARTS)
    order: list[Any] = []

    async def note(run: JobRun) -> Outcome:
        order.append(run.team)
        return Outcome.DONE

    await work(memory, {EMBED_PARTS.name: note, RENDER_DOCUMENTS.name: note})

    assert 32 == len(order)
    assert {flood.team_id, ben.team_id, eve.team_id} == set(order[:3])


async def test_in_a_team_the_higher_priority_comes_first(memory: Memory) -> None:
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)
    await ask(memory, ann, RENDER_DOCUMENTS, 2)
    order: list[str] = []

    async def note(run: JobRun) -> Outcome:
        order.append(run.kind.name)
        return Outcome.DONE

    await work(memory, {EMBED_PARTS.name: note, RENDER_DOCUMENTS.name: note})

    assert ["render_documents", "render_documents", "embed_parts"] == order


async def test_a_long_job_gives_way_after_its_turn_and_goes_on_where_it_was(memory: Memory) -> None:
    """One slot; the long job would hold it for ever. It is the same job afterwards, and its progress goes on."""
    ann, ben = await memory.key(team="ann"), await memory.key(team="ben")
    [long] = await ask(memory, ann, EMBED_PARTS)
    order: list[str] = []

    async def slow(run: JobRun) -> Outcome:
        if run.team == ben.team_id:
            order.append("ben")
            return Outcome.DONE
        done = run.told.done
        order.append(f"ann {done}")
        await asyncio.sleep(run.slice_s)
        assert run.is_over()
        await run.tell("walking", done + 1, 9)
        await run.flush()
        return Outcome.DONE if "ben" in order and len(order) > 3 else Outcome.AGAIN

    rules = worker.WorkerRules(concurrency=1, heartbeat_s=0.5, silent_s=5, poll_s=0.1, grace_s=2, slice_s=0.2)
    async with a_worker(memory, rules=rules, handlers={EMBED_PARTS.name: slow}):
        await until(memory, "select count(*) > 0 from commonlore.job where state = 'running'", [(True,)])
        await ask(memory, ben, EMBED_PARTS)
        await until(memory, "select count(*) from commonlore.job where state = 'succeeded'", [(2,)])

    assert order.index("ben") <= 2
    assert [f"ann {number}" for number in range(len(order) - 1)] == [name for name in order if name != "ben"]
    assert [(long, "succeeded", 0)] == memory.sql("select job_id, state, attempts from commonlore.job where team_id = %s", ann.team_id)


async def test_two_jobs_of_one_key_never_run_at_once_and_one_waits_at_most(memory: Memory) -> None:
    ann = await memory.key()
    [first] = await ask(memory, ann, EMBED_PARTS)
    assert [None, None] == await ask(memory, ann, EMBED_PARTS, 2)
    running, most = 0, 0

    async def note(run: JobRun) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if run.entry.job_id == first:
            assert [None] != await ask(memory, ann, EMBED_PARTS)
        await asyncio.sleep(0.2)
        running -= 1
        return Outcome.DONE

    async with a_worker(memory, rules=worker.WorkerRules(concurrency=3, poll_s=0.05, grace_s=5), handlers={EMBED_PARTS.name: note}):
        await until(memory, "select count(*) from commonlore.job where state = 'succeeded'", [(2,)])

    assert 1 == most


# --- tries and ends


async def test_a_failing_job_is_tried_with_growing_pauses_and_is_dead_after_the_last(memory: Memory) -> None:
    """The reason is a code, in the queue and for the team; nothing of the failure's words is kept."""
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)
    pauses: list[int] = []

    async def fail(run: JobRun) -> Outcome:
        raise EmbeddingUnavailable("unreachable")

    for _ in range(EMBED_PARTS.retry.max_attempts):
        await work(memory, {EMBED_PARTS.name: fail})
        pauses += [
            row[0]
            for row in memory.sql(
                "select round(extract(epoch from run_after - reported))::int from (select run_after, now() as reported from commonlore.job) j where run_after is not null"
            )
        ]
        due_at_once(memory)

    assert [4, 16, 64, 256] == [min((4, 16, 64, 256), key=lambda wanted: abs(wanted - pause)) for pause in pauses]
    assert [("embed_parts", "dead", 5, "embedding_unavailable")] == memory.sql(JOBS)
    assert [("failed",)] == memory.sql("select status::text from procrastinate.procrastinate_jobs where task_name = 'embed_parts'")


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (JobFailed("too_large", for_good=True), "dead", "too_large"),
        (JobFailed("source_changed"), "queued", "source_changed"),
        (Conflict("commit_conflict", "another"), "queued", "commit_conflict"),
        (ValueError("Mark's secret"), "queued", "internal_failure"),
    ],
)
async def test_a_failure_has_a_code_of_the_closed_list(memory: Memory, error: Exception, state: str, reason: str) -> None:
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)

    async def fail(run: JobRun) -> Outcome:
        raise error

    await work(memory, {EMBED_PARTS.name: fail})

    assert [("embed_parts", state, 1, reason)] == memory.sql(JOBS)


async def test_a_job_whose_workers_are_lost_again_and_again_is_dead(memory: Memory) -> None:
    """A job that kills its worker does not do so for ever."""
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)
    async with queue_pool(memory.database.worker_conninfo) as pool:
        queue = JobQueue(pool)
        for _ in range(EMBED_PARTS.retry.max_attempts):
            [(number,)] = queue_sql(
                memory, "insert into procrastinate.procrastinate_workers (last_heartbeat) values (now() - interval '1 hour') returning id"
            )
            assert await queue.take([EMBED_PARTS.name], number) is not None
            assert ["embed_parts"] == await queue.take_back(30)
            due_at_once(memory)
        assert [] == await queue.take_back(30)

    assert [("embed_parts", "dead", 5, "worker_lost")] == memory.sql(JOBS)


async def test_a_job_goes_back_though_another_of_its_key_waits_meanwhile(memory: Memory) -> None:
    """Its entry keeps its number and its report; the one that waited is said to be merged. (procrastinate alone would leave it running for ever.)"""
    ann = await memory.key()
    [first] = await ask(memory, ann, EMBED_PARTS)
    second: list[Any] = []

    async def fail(run: JobRun) -> Outcome:
        second.extend(await ask(memory, ann, EMBED_PARTS))
        raise JobFailed("overloaded")

    await work(memory, {EMBED_PARTS.name: fail})

    assert {first: "queued", second[0]: "merged"} == dict(memory.sql("select job_id, state from commonlore.job"))
    assert [("todo",)] == memory.sql("select status::text from procrastinate.procrastinate_jobs where task_name = 'embed_parts'")


@pytest.mark.parametrize("last", ["tell", "finish", "fail", "again"])
async def test_a_worker_given_up_for_lost_changes_nothing_of_what_another_took_up(memory: Memory, last: str) -> None:
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)

    async def outlive(run: JobRun) -> Outcome:
        queue_sql(memory, "update procrastinate.procrastinate_jobs set worker_id = null, status = 'todo' where id = %s", run.entry.number)
        [(other,)] = queue_sql(memory, "insert into procrastinate.procrastinate_workers default values returning id")
        queue_sql(memory, "update procrastinate.procrastinate_jobs set worker_id = %s, status = 'doing' where id = %s", other, run.entry.number)
        if last == "tell":
            await run.tell("late", 7)
        if last == "fail":
            raise JobFailed("overloaded")
        return Outcome.AGAIN if last == "again" else Outcome.DONE

    await work(memory, {EMBED_PARTS.name: outlive})

    assert [("embed_parts", "running", 0, None)] == memory.sql(JOBS)
    assert [(None, "doing")] == memory.sql(
        "select r.stage, j.status::text from commonlore.job r join procrastinate.procrastinate_jobs j on j.id = r.queue_number"
    )


async def test_jobs_that_use_up_the_workers_connections_still_report_and_end(memory: Memory) -> None:
    """The queue has connections of its own."""
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)

    async def greedy(run: JobRun) -> Outcome:
        pool = run.adapters.pool
        held = [await pool.getconn() for _ in range(pool.max_size)]
        try:
            await run.tell("hoarding", 1, 1)
            await run.queue.finish(run.entry)
        finally:
            for connection in held:
                await pool.putconn(connection)
        return Outcome.DONE

    await work(memory, {EMBED_PARTS.name: greedy})

    assert [("succeeded", "hoarding", 1)] == memory.sql("select state, stage, done from commonlore.job")


async def test_a_job_that_takes_every_connection_leaves_other_jobs_theirs(memory: Memory) -> None:
    """One team's greed in one slot; another team's job in the other one runs meanwhile."""
    ann, ben = await memory.key(team="ann"), await memory.key(team="ben")
    await ask(memory, ann, EMBED_PARTS)
    await ask(memory, ben, EMBED_PARTS)
    held, let_go = asyncio.Event(), asyncio.Event()

    async def greedy(run: JobRun) -> Outcome:
        pool = run.adapters.pool
        if run.team == ann.team_id:
            taken = [await pool.getconn() for _ in range(pool.max_size)]
            held.set()
            await let_go.wait()
            for connection in taken:
                await pool.putconn(connection)
        else:
            await held.wait()
            async with team_transaction(pool, run.team, timeout_ms=2_000):
                let_go.set()
        return Outcome.DONE

    await work(memory, {EMBED_PARTS.name: greedy}, concurrency=2)

    assert [("succeeded", 0), ("succeeded", 0)] == memory.sql("select state, attempts from commonlore.job")


async def test_connections_that_are_cut_in_the_middle_cost_no_job_and_double_none(memory: Memory) -> None:
    """The server ends every connection of the worker, as when it restarts: the job's and the queue's own alike."""
    ann = await waiting_texts(memory)
    cut: list[bool] = []

    class Cutting(ServedHashEmbedder):
        async def embed_texts(self, texts: Any) -> Any:
            if not cut:
                cut.append(True)
                memory.sql(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'commonlore_worker'"
                )
            return await super().embed_texts(texts)

    async def survive() -> None:
        for _ in range(3):
            with contextlib.suppress(Exception):
                await worker.run(read_settings({}), memory.database.worker_conninfo, rules=QUICK, make_embedder=Cutting)

    task = asyncio.ensure_future(survive())
    await until(memory, "select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts'", [(0,)])
    await ended(task)

    assert cut and {"parts": 72, "different": 72, "documents": 2, "waiting": 0, "left": 0} == whole(memory)
    assert [("succeeded",)] == memory.sql("select state from commonlore.job where team_id = %s and kind = 'embed_parts'", ann.team_id)


async def test_a_success_makes_up_for_dead_jobs_of_its_key(memory: Memory) -> None:
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)

    async def fail(run: JobRun) -> Outcome:
        raise JobFailed("too_large", for_good=True)

    async def succeed(run: JobRun) -> Outcome:
        return Outcome.DONE

    await work(memory, {EMBED_PARTS.name: fail})
    await ask(memory, ann, EMBED_PARTS)
    await work(memory, {EMBED_PARTS.name: succeed})

    assert ["merged", "succeeded"] == [row[1] for row in memory.sql(JOBS)]
    assert [(0,)] == memory.sql("select count(*) from procrastinate.procrastinate_jobs")


async def test_the_sweep_leaves_what_gave_up_for_a_while(memory: Memory) -> None:
    ann, ben = await memory.key(team="ann"), await memory.key(team="ben")
    for holder in (ann, ben):
        async with team_transaction(memory.adapters.pool, holder.team_id, timeout_ms=5_000) as transaction:
            await enqueue_embedding(transaction, shared_space(memory, holder))

    async def fail(run: JobRun) -> Outcome:
        raise JobFailed("too_large", for_good=True)

    await work(memory, {EMBED_PARTS.name: fail})
    from tests.integration.memory.test_worker import Down

    for holder in (ann, ben):
        await memory.with_embedder(Down()).remember(holder, content="Zebra.")
    queue_sql(memory, "delete from procrastinate.procrastinate_jobs where status = 'todo'")
    async with as_worker(memory) as opened:
        assert 0 == (await sweep(opened.adapters.pool)).enqueued
        queue_sql(memory, "update commonlore.job set finished_at = now() - interval '11 minutes' where state = 'dead'")
        assert 2 == (await sweep(opened.adapters.pool)).enqueued


async def test_a_team_that_cannot_be_looked_at_keeps_no_other_from_its_sweep(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from commonlore.db import backlog
    from tests.integration.memory.test_worker import Down

    holders = [await memory.key(team=name) for name in ("ann", "ben", "eve")]
    for holder in holders:
        await memory.with_embedder(Down()).remember(holder, content="Zebra.")
    queue_sql(memory, "delete from procrastinate.procrastinate_jobs")
    real, broken = backlog._ask, sorted(holder.team_id for holder in holders)[1]

    async def ask_or_fail(transaction: Any, kind: JobKind, space_id: Any) -> bool:
        if transaction.team_id == broken:
            raise DeadlineExceeded("request_timeout", "too slow")
        return await real(transaction, kind, space_id)

    monkeypatch.setattr(backlog, "_ask", ask_or_fail)
    async with as_worker(memory) as opened:
        found = await sweep(opened.adapters.pool)

    assert (2, 1) == (found.enqueued, found.failed)


# --- what a team sees and steers


async def test_progress_has_rate_and_the_rest_of_the_time(memory: Memory) -> None:
    ann = await memory.key()
    [job_id] = await ask(memory, ann, EMBED_PARTS)
    go = asyncio.Event()

    async def walk(run: JobRun) -> Outcome:
        await run.tell("walking", 0, 100)
        await asyncio.sleep(0.4)
        await run.tell("walking", 20, 100)
        await run.flush()
        await go.wait()
        return Outcome.DONE

    async with a_worker(memory, handlers={EMBED_PARTS.name: walk}):
        await until(memory, "select done from commonlore.job", [(20,)])
        async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
            found = await read_job(transaction, job_id)
        go.set()

    assert found.progress is not None and found.progress.rate is not None
    assert ("running", "walking", 20, 100) == (found.state, found.progress.stage, found.progress.done, found.progress.total)
    assert 10_000 < found.progress.rate <= 50_000
    assert 0 < (found.progress.eta_s(found.seen_at) or 0) <= 8


async def test_cancelling_ends_what_waits_at_once_and_what_runs_within_seconds(memory: Memory) -> None:
    ann = await memory.key()
    [waits] = await ask(memory, ann, RENDER_DOCUMENTS)
    [runs] = await ask(memory, ann, EMBED_PARTS)
    tidied: list[bool] = []

    async def endless(run: JobRun) -> Outcome:
        try:
            await asyncio.sleep(60)
        finally:
            tidied.append(True)
        return Outcome.DONE

    async with a_worker(memory, handlers={EMBED_PARTS.name: endless}):
        await until(memory, "select count(*) from commonlore.job where state = 'running'", [(1,)])
        async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
            assert ["cancelled", "running"] == [(await cancel_job(transaction, key)).state for key in (waits, runs)]
        await until(memory, "select count(*) from commonlore.job where state = 'cancelled'", [(2,)], 10)

    assert [True] == tidied
    assert {"cancelled"} == {row[3] for row in memory.sql(JOBS)}


async def test_a_dead_job_is_queued_anew_with_all_its_tries(memory: Memory) -> None:
    ann = await memory.key()
    [job_id] = await ask(memory, ann, EMBED_PARTS)

    async def fail(run: JobRun) -> Outcome:
        raise JobFailed("too_large", for_good=True)

    await work(memory, {EMBED_PARTS.name: fail})
    async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
        assert ("queued", 0, None) == ((again := await retry_job(transaction, job_id)).state, again.attempts, again.reason)
    await work(memory, HANDLERS)
    async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
        assert "succeeded" == (await read_job(transaction, job_id)).state
        for steer in (retry_job, cancel_job):
            with pytest.raises(Conflict, match="succeeded"):
                await steer(transaction, job_id)


async def test_a_retried_job_joins_one_of_its_key_that_waits(memory: Memory) -> None:
    ann = await memory.key()
    [job_id] = await ask(memory, ann, EMBED_PARTS)
    async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
        await cancel_job(transaction, job_id)
    await ask(memory, ann, EMBED_PARTS)
    async with team_transaction(memory.adapters.pool, ann.team_id, timeout_ms=5_000) as transaction:
        assert "merged" == (await retry_job(transaction, job_id)).state

    assert [(1,)] == memory.sql("select count(*) from procrastinate.procrastinate_jobs where task_name = 'embed_parts'")


async def test_a_team_sees_and_steers_its_own_jobs_alone(memory: Memory) -> None:
    """A foreign id is like one that nobody has, and changes nothing."""
    ann, eve = await memory.key(team="ann"), await memory.key(team="eve")
    [job_id] = await ask(memory, ann, EMBED_PARTS)
    async with team_transaction(memory.adapters.pool, eve.team_id, timeout_ms=5_000) as transaction:
        assert [] == list((await page_jobs(transaction)).entries)
        said = set()
        for steer in (read_job, cancel_job, retry_job):
            for key in (job_id, new_id()):
                with pytest.raises(NotVisible) as raised:
                    await steer(transaction, key)
                said.add((raised.value.code, raised.value.message))
        assert 1 == len(said)

    assert [("embed_parts", "queued", 0, None)] == memory.sql(JOBS)


async def test_nobody_asks_for_a_job_of_another_team(memory: Memory) -> None:
    """The team is that of the transaction, whatever the arguments say; without one there is no job."""
    ann, eve = await memory.key(team="ann"), await memory.key(team="eve")
    await ask(memory, ann, RENDER_DOCUMENTS, entity_id=new_id(), team_id=eve.team_id)
    assert [(str(ann.team_id),)] == memory.sql("select args ->> 'team_id' from procrastinate.procrastinate_jobs")
    with psycopg.connect(memory.database.serving_conninfo) as connection, pytest.raises(psycopg.Error):
        connection.execute("select commonlore.enqueue(gen_random_uuid(), 'embed_parts', 'embedding', 0, 'k', null, '{}')")
    for statement in ("select count(*) from procrastinate.procrastinate_jobs", "update commonlore.job set state = 'dead'"):
        with psycopg.connect(memory.database.serving_conninfo) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())


async def test_reports_of_ended_jobs_are_forgotten_in_time(memory: Memory) -> None:
    ann = await memory.key()
    for state, days in (("succeeded", 6), ("succeeded", 8), ("dead", 29), ("dead", 31)):
        [job_id] = await ask(memory, ann)
        memory.sql(
            "update commonlore.job set state = %s, reason = 'too_large', finished_at = now() - make_interval(days => %s) where job_id = %s",
            state,
            days,
            job_id,
        )
    queue_sql(memory, "update procrastinate.procrastinate_jobs set status = 'failed'")
    async with as_worker(memory) as opened, queue_pool(memory.database.worker_conninfo) as pool:
        await sweep(opened.adapters.pool, JobQueue(pool))

    assert [("dead",), ("succeeded",)] == memory.sql("select state from commonlore.job order by state")


async def test_the_sweep_itself_comes_by_the_clock(memory: Memory) -> None:
    swept: list[int] = []

    async def note(run: JobRun) -> Outcome:
        swept.append(run.entry.number)
        return Outcome.DONE

    async with a_worker(memory, handlers={SWEEP.name: note}):
        for _ in range(100):
            if swept:
                break
            await asyncio.sleep(0.1)

    assert swept
    assert [(0,)] == memory.sql("select count(*) from commonlore.job")


async def test_a_pool_without_the_queues_path_is_not_what_the_queue_uses(memory: Memory) -> None:
    """The queue's triggers name its tables without a schema: on the worker's own pool they would not be found."""
    ann = await memory.key()
    await ask(memory, ann, EMBED_PARTS)
    pool = make_pool(memory.database.worker_conninfo, size=1, name="test")
    await pool.open()
    try:
        with pytest.raises(Exception, match="refused a statement"):
            await JobQueue(pool).take([EMBED_PARTS.name], 1)
    finally:
        await pool.close()
    assert QUICK.silent_s < 5
