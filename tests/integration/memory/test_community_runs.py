"""Runs of detection: what each way to end leaves behind, what comes in between, and when the clock asks for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from commonlore.db.community_runs import SpaceRuns, exclusive
from commonlore.domain.community.policy import CommunityPolicy
from commonlore.domain.errors import Unavailable
from commonlore.workers import detect_communities
from commonlore.workers.detect_communities import run_detection, schedule
from tests.integration.memory.test_communities import ATLAS, GARDEN, published, tell
from tests.support.communities import as_worker, codes, detect, enable, nested, space_of
from tests.support.identity import administer, an_admin, entity_id
from tests.support.memory import Holder, Memory


def runs(memory: Memory, holder: Holder) -> list[tuple[Any, ...]]:
    """Status, reason, error and communities of each run, oldest first."""
    return memory.sql(
        "select status, reason, error_code, community_count from commonlore.community_run where team_id = %s order by run_id", holder.team_id
    )


def snapshots(memory: Memory, holder: Holder) -> list[tuple[Any, ...]]:
    return memory.sql(
        "select s.snapshot_id, (select count(*) from commonlore.community_member m where m.snapshot_id = s.snapshot_id) "
        "from commonlore.community_snapshot s where s.team_id = %s order by s.snapshot_id",
        holder.team_id,
    )


def frozen(memory: Memory, holder: Holder) -> list[tuple[Any, ...]]:
    """Every row of what was published, without ids that each run has of its own."""
    return memory.sql(
        "select c.community_no, c.community_id, c.logical_community_id, c.group_count, c.relationship_count, c.entity_count, c.top_entity_ids, "
        "c.top_predicates, c.quote_support_ids, array_agg((m.place, m.semantic_group_key)::text order by m.place) "
        "from commonlore.community_gate g join commonlore.community c using (team_id, space_epoch, snapshot_id) "
        "join commonlore.community_member m using (team_id, space_epoch, snapshot_id, community_no) where g.team_id = %s group by 1, 2, 3, 4, 5, 6, 7, 8, 9 "
        "order by 1",
        holder.team_id,
    )


async def test_an_unchanged_space_is_not_published_again(memory: Memory) -> None:
    """The same relationships and the same configuration: the run is skipped; another configuration gives another snapshot."""
    ada, _ = await published(memory)
    before = frozen(memory, ada)

    assert "skipped" == await detect(memory, ada)
    assert before == frozen(memory, ada)
    assert "completed" == await detect(memory, ada, policy=CommunityPolicy(split_above=63))
    assert [row[2:] for row in before] == [row[2:] for row in frozen(memory, ada)]
    assert [("completed", "scheduled"), ("skipped", "requested"), ("completed", "requested")] == [row[:2] for row in runs(memory, ada)]


async def test_two_runs_of_one_state_publish_the_same_bytes(memory: Memory) -> None:
    """Also when the rows lie in the tables in another order."""
    ada, _ = await published(memory)
    before = frozen(memory, ada)
    memory.sql("update commonlore.community_gate set snapshot_id = null, published_at = null where team_id = %s", ada.team_id)
    for table in ("relationship", "relationship_support", "support_decision_event"):
        memory.sql(
            f"create table moved as select * from commonlore.{table} order by md5({table}::text); alter table commonlore.{table} disable trigger all"
        )
        with psycopg.connect(memory.database.admin_conninfo, autocommit=True) as connection:
            connection.execute("set session_replication_role = replica")
            connection.execute(f"delete from commonlore.{table}".encode())
            connection.execute(f"insert into commonlore.{table} select * from moved; drop table moved".encode())

    assert "completed" == await detect(memory, ada)
    assert before == frozen(memory, ada)


async def test_a_space_that_is_off_or_gone_has_no_run(memory: Memory) -> None:
    ada, _ = await published(memory)
    await enable(memory, ada, enabled=False)

    assert (None, 1) == (await detect(memory, ada), len(runs(memory, ada)))
    async with as_worker(memory) as adapters:
        assert await run_detection(adapters, team_id=ada.team_id, space_id=UUID(int=1)) is None


async def test_more_than_a_run_takes_is_said_and_the_last_snapshot_stays(memory: Memory) -> None:
    ada, _ = await published(memory)
    before = frozen(memory, ada)
    for policy in (CommunityPolicy(most_relationships=7), CommunityPolicy(most_supports=7)):
        assert "too_large" == await detect(memory, ada, policy=policy)
        answer = await memory.recall(ada, "Ada Lovelace", limit=1)
        assert (["community_graph_too_large"], 1) == (codes(answer), len(nested(answer)[:1]))
    assert before == frozen(memory, ada)


@pytest.mark.parametrize("step", ["measure", "read_source", "earlier", "publish"])
async def test_a_run_that_fails_anywhere_leaves_the_last_snapshot(memory: Memory, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, _ = await published(memory)
    before = frozen(memory, ada)
    await tell(memory, ada, [("Atlas uses Redis.", "Atlas", "uses", "Redis", ("project", "product"))])
    with monkeypatch.context() as patch:

        async def fail(*_: object, **__: object) -> None:
            raise Unavailable("database_unavailable", "a test")

        patch.setattr(SpaceRuns, step, fail)
        with pytest.raises(Unavailable):
            await detect(memory, ada)
    answer = await memory.recall(ada, "Ada Lovelace", limit=1)

    assert ("failed", "database_unavailable") == (runs(memory, ada)[-1][0], runs(memory, ada)[-1][2])
    assert (before, ["community_detection_failed"]) == (frozen(memory, ada), codes(answer))
    assert "completed" == await detect(memory, ada)
    assert [] == codes(await memory.recall(ada, "Ada Lovelace", limit=1))


async def test_a_cancelled_run_says_so(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, _ = await published(memory)
    await tell(memory, ada, [("Atlas uses Redis.", "Atlas", "uses", "Redis", ("project", "product"))])
    reached = asyncio.Event()

    async def wait(*_: object) -> None:
        reached.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(SpaceRuns, "read_source", wait)
    task = asyncio.create_task(detect(memory, ada))
    await asyncio.wait_for(reached.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert "cancelled" == runs(memory, ada)[-1][0]
    assert ["community_detection_failed"] == codes(await memory.recall(ada, "Ada Lovelace", limit=1))


async def test_one_run_of_a_space_at_a_time_and_a_lost_one_is_taken_up(memory: Memory) -> None:
    """While the lock is held another run does nothing; when its worker is gone the next one ends what it left."""
    ada, _ = await published(memory)
    await tell(memory, ada, [("Atlas uses Redis.", "Atlas", "uses", "Redis", ("project", "product"))])
    space_id, _ = space_of(memory, ada)
    async with as_worker(memory) as adapters, exclusive(adapters.pool, ada.team_id, space_id) as space:
        assert space is not None
        assert await space.begin(configuration="lost", now=memory.clock()) is not None
        assert await detect(memory, ada) is None
        assert "running" == runs(memory, ada)[-1][0]
        assert [] == codes(await memory.recall(ada, "Ada Lovelace", limit=1))

    assert "completed" == await detect(memory, ada)
    assert [("completed", None), ("failed", "worker_lost"), ("completed", None)] == [(row[0], row[2]) for row in runs(memory, ada)]


@pytest.fixture
async def between(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Give it what is to happen after the source was read and before anything is published."""
    compute = detect_communities._compute
    loop, happens = asyncio.get_running_loop(), []

    def interrupted(*arguments: Any) -> Any:
        asyncio.run_coroutine_threadsafe(happens[0](), loop).result(30)
        return compute(*arguments)

    monkeypatch.setattr(detect_communities, "_compute", interrupted)
    return happens.append


async def test_what_stops_counting_while_a_run_computes_is_never_shown(memory: Memory, between: Callable[[Any], None]) -> None:
    """The source mark differs at publication: the member is noted with the snapshot, and the snapshot is published all the same."""
    ada = await memory.key()
    made = await tell(memory, ada, [*ATLAS, *GARDEN])
    await enable(memory, ada)
    between(lambda: memory.retract(ada, made["Atlas funded_by Initech"][0]))

    assert "completed" == await detect(memory, ada)
    answer = await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1)
    assert ("Initech" in str(answer), ["community_snapshot_stale"]) == (False, codes(answer))
    assert 3 == answer["related_communities"][0]["relationship_count"]


async def test_what_is_added_while_a_run_computes_makes_nothing_stale(memory: Memory, between: Callable[[Any], None]) -> None:
    ada = await memory.key()
    await tell(memory, ada, ATLAS)
    await enable(memory, ada)
    between(lambda: tell(memory, ada, GARDEN))

    assert "completed" == await detect(memory, ada)
    assert [] == codes(await memory.recall(ada, "Ada Lovelace works on Atlas", limit=1))
    memory.clock.advance(days=2)
    assert "completed" == await detect(memory, ada)  # the mark is that of what was read, so the new ones are found
    assert 2 == len(frozen(memory, ada))


async def test_a_run_of_a_space_that_was_switched_off_publishes_nothing(memory: Memory, between: Callable[[Any], None]) -> None:
    ada = await memory.key()
    await tell(memory, ada, ATLAS)
    await enable(memory, ada)
    between(lambda: enable(memory, ada, enabled=False))

    assert ("cancelled", []) == (await detect(memory, ada), snapshots(memory, ada))


async def test_a_fenced_space_gets_nothing_of_the_space_before(memory: Memory, between: Callable[[Any], None]) -> None:
    ada = await memory.key()
    await tell(memory, ada, ATLAS)
    await enable(memory, ada)

    async def fence() -> None:
        space_id, _ = space_of(memory, ada)
        [(epoch,)] = memory.sql("select nextval('commonlore.space_epoch_number')")
        memory.sql("insert into commonlore.space_epoch values (%s, %s, %s, now(), null)", ada.team_id, epoch, space_id)
        memory.sql("update commonlore.space set space_epoch = %s where space_id = %s", epoch, space_id)

    between(fence)
    assert (None, []) == (await detect(memory, ada), snapshots(memory, ada))


async def test_old_snapshots_are_removed_whole(memory: Memory) -> None:
    """The published one and the one before it stay."""
    ada, _ = await published(memory)
    first = snapshots(memory, ada)[0][0]
    for name in ("Redis", "Kafka", "Celery"):
        await tell(memory, ada, [(f"Atlas uses {name}.", "Atlas", "uses", name, ("project", "product"))])
        assert "completed" == await detect(memory, ada)

    assert 2 == len(snapshots(memory, ada))
    assert [(0,)] == memory.sql("select count(*) from commonlore.community_member where snapshot_id = %s", first)
    assert "Celery" in str(nested(await memory.recall(ada, "Ada Lovelace", limit=1)))


async def test_nobody_changes_what_was_published(memory: Memory) -> None:
    for table in ("community_snapshot", "community", "community_member", "community_stale_member"):
        for role in ("commonlore_app", "commonlore_worker"):
            assert [(False,)] == memory.sql("select has_table_privilege(%s, %s, 'UPDATE')", role, f"commonlore.{table}")


# --- the clock


def waiting(memory: Memory, holder: Holder) -> list[tuple[Any, ...]]:
    return memory.sql("select space_id from commonlore.job where team_id = %s and kind = 'detect_communities' and state = 'queued'", holder.team_id)


async def test_the_clock_asks_once_a_window_in_the_time_zone_of_the_team(memory: Memory) -> None:
    """A space that never ran is asked for at once; then once a local day, whatever ran meanwhile; a space that is off never."""
    ada, eve = await memory.key(), await memory.key(team="other")
    await tell(memory, ada, ATLAS)
    await tell(memory, eve, GARDEN)
    await enable(memory, ada)
    memory.sql("update commonlore.team set community_time_zone = 'Pacific/Auckland', community_start_minute = 180 where team_id = %s", ada.team_id)
    async with as_worker(memory) as adapters:
        assert (1, 0) == (await schedule(adapters), await schedule(adapters))
        assert ([(space_of(memory, ada)[0],)], []) == (waiting(memory, ada), waiting(memory, eve))
        memory.sql("delete from commonlore.job")
        memory.sql("set local search_path = procrastinate; delete from procrastinate_jobs")
        assert "completed" == await detect(memory, ada)
        assert 0 == await schedule(adapters)
        at = replace(adapters, clock=lambda: memory.clock.now.replace(hour=14, minute=59))  # 02:59 of the next day in Auckland
        assert 0 == await schedule(at)
        at = replace(adapters, clock=lambda: memory.clock.now.replace(hour=15, minute=0))
        assert 1 == await schedule(at)


async def test_members_of_a_merged_entity_are_stale(memory: Memory) -> None:
    """What a merge moves to another entity is another group; under the old name nothing is shown."""
    ada, _ = await published(memory)
    admin = await an_admin(memory)
    await tell(memory, ada, [("Basilikum thrives in Toronto.", "Basilikum", "thrives_in", "Toronto", ("concept", "place"))])
    old, new = entity_id(memory, "Basil"), entity_id(memory, "Basilikum")
    await administer(memory, admin, "merge_entities", from_entity_id=old, to_entity_id=new, target_space="team_shared", apply=True)
    answer = await memory.recall(ada, "Carla Moss grows Tomatoes", limit=1)

    assert ["community_snapshot_stale"] == codes(answer)
    assert old not in str(answer["related_communities"])
