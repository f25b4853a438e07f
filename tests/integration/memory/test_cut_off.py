"""Every write of the ledger, cut off at every statement: nothing is there or everything, and the same call again ends it once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from commonlore.domain.errors import CommonloreError
from tests.support.cuts import Act, cut, end_backend, fail
from tests.support.databases import TestDatabase
from tests.support.ledger_checks import Fingerprint, State, broken
from tests.support.memory import Memory
from tests.support.writes import LOGGED_AGAIN, WITHOUT_KEY, WRITES, World

_OTHERS = "select pid, state, wait_event_type, wait_event, query from pg_stat_activity where datname = current_database() and application_name = 'commonlore-test' and xact_start is not null"


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    """A process that makes processes to kill."""
    with subprocess.Popen([sys.executable, "-m", "tests.support.cuts"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


@pytest.fixture
def state(database: TestDatabase) -> Iterator[Fingerprint]:
    made = Fingerprint(database.admin_conninfo)
    yield made
    made.close()


async def kill_at(nursery: subprocess.Popen[str], world: World, at: int) -> None:
    """Another process makes the write; it is killed with SIGKILL when it is about to send this statement."""
    assert nursery.stdin is not None and nursery.stdout is not None
    nursery.stdin.write(json.dumps({"world": world.described(), "at": at}) + "\n")
    nursery.stdin.flush()
    child = int(nursery.stdout.readline())
    assert child > 0
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while open_ones := world.memory.sql(_OTHERS):
        assert time.monotonic() < deadline, open_ones
        await asyncio.sleep(0.02)


async def cut_off(world: World, at: int | None, act: Act, *, after: bool = False) -> int:
    """The write fails there; how many statements it came to."""
    with cut(at, act, after=after) as found, pytest.raises(CommonloreError) as caught:
        await world.write()
    assert found.reached and "database_unavailable" == caught.value.code, (at, caught.value, caught.value.__cause__)
    return found.seen


def assert_only_logged(memory: Memory, before: State, after: State, *, entries: int) -> None:
    """What has no key is done anew with each call: the log says that somebody asked once more, and no other table knows of it."""
    tables = {table: (count, newest) for table, count, newest in before}
    changed = {table: count - tables[table][0] for table, count, newest in after if (count, newest) != tables[table]}
    last = memory.sql("select act, outcome, credential_id is not null from commonlore.audit_entry order by entry_id desc limit %s", entries)

    assert {"commonlore.audit_entry": entries, "commonlore.audit_unsealed": entries} == changed and len(before) == len(after)
    assert [("unnamed", "done", True)] * entries == last


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_that_is_cut_off_left_nothing_or_everything(
    name: str, database: TestDatabase, state: Fingerprint, nursery: subprocess.Popen[str]
) -> None:
    """By a failure at each statement, by the end of the server's process and of its own at two of them, and after the commit."""
    async with Memory.open(database, pool_size=2) as memory:
        world = await World.made(name, memory)
        before = state()

        last = await cut_off(world, None, fail)
        assert last >= 4 and before == state()
        for at in range(1, last):
            await cut_off(world, at, fail)
            assert before == state(), f"statement {at} of {last}"
        for at in (last // 2, last):
            await cut_off(world, at, end_backend(database.admin_conninfo))
            assert before == state()
            await kill_at(nursery, world, at)
            assert before == state()

        await cut_off(world, None, fail, after=True)
        done = state()
        assert before != done and [] == broken(memory)

        if name == "retire":
            with pytest.raises(CommonloreError, match="no active member"):
                await world.write()
        else:
            again = await world.write()
            assert again == await world.write()
            assert name not in WITHOUT_KEY or WITHOUT_KEY[name] == again
        if entries := 2 * LOGGED_AGAIN.get(name, name in WITHOUT_KEY):
            assert_only_logged(memory, done, state(), entries=entries)
        else:
            assert done == state()
