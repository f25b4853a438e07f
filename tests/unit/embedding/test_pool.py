"""Order, fairness, cancellation and closing of the embedding threads. No test waits for time to pass."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from commonlore.db.embedding.pool import URGENT_IN_A_ROW, PriorityPool
from commonlore.domain.ports import EmbeddingUnavailable

LONGEST_WAIT_S = 30.0


class Stage:
    """Calls that note their beginning and, when told to, stay until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._arrivals: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._gates: dict[str, threading.Event] = {}

    def noting(self, name: str) -> Callable[[], str]:
        def call() -> str:
            self.begun.append(name)
            return name

        return call

    def holding(self, name: str) -> Callable[[], str]:
        self._gates[name] = threading.Event()

        def call() -> str:
            self.begun.append(name)
            self._arrivals[name].set()
            assert self._gates[name].wait(LONGEST_WAIT_S)
            return name

        return call

    def let_go(self, *names: str) -> None:
        for name in names or tuple(self._gates):
            self._gates[name].set()

    async def until_begun(self, name: str) -> None:
        assert await asyncio.to_thread(self._arrivals[name].wait, LONGEST_WAIT_S)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
async def one(stage: Stage) -> AsyncIterator[PriorityPool]:
    """A pool with one thread for all calls and one more for an urgent one."""
    pool = PriorityPool(1)
    yield pool
    stage.let_go()
    pool.close()


def _ask(pool: PriorityPool, *calls: Callable[[], str], urgent: bool = False) -> asyncio.Task[list[str]]:
    return asyncio.create_task(pool.run(calls, urgent=urgent))


async def test_results_come_in_the_order_of_the_calls() -> None:
    """Whatever thread ends first."""

    pool = PriorityPool(3)

    found = await pool.run([partial(int, number) for number in range(200)], urgent=False)

    pool.close()
    assert list(range(200)) == found


async def test_no_calls_have_no_results(one: PriorityPool) -> None:
    """An empty request needs no thread."""

    assert await one.run([], urgent=False) == []


async def test_an_urgent_call_begins_beside_a_running_one(one: PriorityPool, stage: Stage) -> None:
    """It does not wait for the text that holds the only ordinary thread."""

    texts = _ask(one, stage.holding("text"))
    await stage.until_begun("text")

    found = await one.run([stage.noting("query")], urgent=True)

    assert not texts.done()
    assert found == ["query"]


async def test_urgent_calls_go_before_all_that_wait(one: PriorityPool, stage: Stage) -> None:
    """200 waiting texts delay no query; the texts then follow in their order."""

    first = _ask(one, stage.holding("text"), *[stage.noting(f"text {number}") for number in range(200)])
    await stage.until_begun("text")
    held = _ask(one, stage.holding("query"), urgent=True)
    await stage.until_begun("query")
    waiting = _ask(one, stage.noting("query 2"), urgent=True)
    await asyncio.sleep(0)
    stage.let_go("query")
    await asyncio.gather(held, waiting)

    assert stage.begun == ["text", "query", "query 2"]
    assert one.waiting == 200

    stage.let_go("text")
    await first
    assert [f"text {number}" for number in range(200)] == stage.begun[3:]


async def test_no_text_begins_while_a_query_runs_on_the_only_core(one: PriorityPool, stage: Stage) -> None:
    """The spare thread of queries is not an additional core for texts."""

    first = _ask(one, stage.holding("text"))
    await stage.until_begun("text")
    query = _ask(one, stage.holding("query"), urgent=True)
    await stage.until_begun("query")
    stage.let_go("text")
    await first
    later = [_ask(one, stage.noting("text 2")), _ask(one, stage.noting("text 3"))]
    await asyncio.sleep(0)

    assert one.waiting == 2

    stage.let_go("query")
    await asyncio.gather(query, *later)
    assert stage.begun == ["text", "query", "text 2", "text 3"]


async def test_queries_alone_use_no_spare_thread(one: PriorityPool, stage: Stage) -> None:
    """The bound on threads holds for queries too; the additional one is for a query beside texts."""

    first = _ask(one, stage.holding("query"), urgent=True)
    await stage.until_begun("query")
    second = _ask(one, stage.noting("query 2"), urgent=True)
    await asyncio.sleep(0)

    assert one.waiting == 1

    stage.let_go("query")
    await asyncio.gather(first, second)


async def test_texts_are_not_starved_by_queries(one: PriorityPool, stage: Stage) -> None:
    """After the stated number of queries in a row, one waiting text goes first."""

    held = _ask(one, stage.holding("query"), urgent=True)
    await stage.until_begun("query")
    texts = _ask(one, stage.noting("text"))
    await asyncio.sleep(0)
    queries = [_ask(one, stage.noting(f"query {number}"), urgent=True) for number in range(3 * URGENT_IN_A_ROW)]
    await asyncio.sleep(0)
    stage.let_go("query")
    await asyncio.gather(held, texts, *queries)

    assert stage.begun.index("text") == 1 + URGENT_IN_A_ROW


async def test_requests_of_texts_take_turns(one: PriorityPool, stage: Stage) -> None:
    """A request of one text does not wait for all texts of an earlier one."""

    large = _ask(one, stage.holding("a"), *[stage.noting(f"a{number}") for number in range(50)])
    await stage.until_begun("a")
    small = _ask(one, stage.noting("b"))
    await asyncio.sleep(0)
    stage.let_go("a")
    await asyncio.gather(large, small)

    assert stage.begun[:4] == ["a", "a0", "b", "a1"]


@pytest.mark.parametrize("urgent", [True, False])
async def test_a_request_cancelled_while_waiting_leaves_nothing(one: PriorityPool, stage: Stage, urgent: bool) -> None:
    """None of its calls begins and none stays in a queue."""

    holders = [_ask(one, stage.holding("text"))]
    await stage.until_begun("text")
    holders.append(_ask(one, stage.holding("query"), urgent=True))
    await stage.until_begun("query")
    doomed = _ask(one, *[stage.noting("never") for _ in range(30)], urgent=urgent)
    await asyncio.sleep(0)
    assert one.waiting == 30

    doomed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doomed
    assert one.waiting == 0

    stage.let_go()
    await asyncio.gather(*holders)
    await one.run([stage.noting("after")], urgent=urgent)
    assert stage.begun == ["text", "query", "after"]


async def test_a_request_cancelled_in_progress_drops_the_rest(one: PriorityPool, stage: Stage) -> None:
    """The call that has begun runs to its end; the others never begin, and the pool goes on."""

    doomed = _ask(one, stage.holding("begun"), stage.noting("never"))
    await stage.until_begun("begun")
    doomed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doomed
    stage.let_go()

    assert await one.run([stage.noting("after")], urgent=False) == ["after"]
    assert stage.begun == ["begun", "after"]


async def test_a_failing_call_fails_its_request_alone(one: PriorityPool, stage: Stage) -> None:
    """The error reaches the waiter, later calls of the request do not begin, other requests are untouched."""

    def fail() -> str:
        raise LookupError("no")

    failing = _ask(one, fail, stage.noting("never"))
    other = _ask(one, stage.noting("other"))

    with pytest.raises(LookupError, match="no"):
        await failing
    assert await other == ["other"]
    assert stage.begun == ["other"]
    assert one.waiting == 0


async def test_closing_refuses_what_waits_and_what_comes(stage: Stage) -> None:
    """Waiting requests are told that the embedder is unreachable; so are later ones. Closing again does nothing."""

    pool = PriorityPool(1)
    running = _ask(pool, stage.holding("text"))
    await stage.until_begun("text")
    waiting = _ask(pool, stage.noting("never"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(pool.close))
    with pytest.raises(EmbeddingUnavailable, match="unreachable"):
        await waiting
    stage.let_go()

    assert await running == ["text"]
    await closing
    pool.close()
    with pytest.raises(EmbeddingUnavailable, match="unreachable"):
        await pool.run([stage.noting("never")], urgent=True)
    assert stage.begun == ["text"]


def test_a_pool_needs_a_thread() -> None:
    """Zero threads would wait for ever."""

    with pytest.raises(ValueError, match="at least 1"):
        PriorityPool(0)
