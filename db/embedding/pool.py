"""Threads for the model: queries first, texts fairly, the event loop free."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from commonlore.db.embedding.begin import listener
from commonlore.domain.ports import EmbeddingUnavailable

T = TypeVar("T")

URGENT_IN_A_ROW = 16


class _Batch(Generic[T]):
    """The calls of one request. All fields but `future` belong to the pool's lock; `future` belongs to its loop."""

    def __init__(self, calls: Sequence[Callable[[], T]], *, urgent: bool) -> None:
        self.calls = calls
        self.urgent = urgent
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[T]] = self.loop.create_future()
        self.results: dict[int, T] = {}
        self.started = 0
        self._listener = listener()

    def tell_begun(self) -> None:
        """From any thread, each time a call begins."""
        if self._listener is not None:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._listener)

    def settle(self, error: BaseException | None) -> None:
        """Wake the waiter from any thread. A waiter that is gone, or whose loop is closed, is no error."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result([self.results[index] for index in range(len(self.calls))])


class PriorityPool:
    """Runs short calls in threads, urgent ones before the others.

    One thread more than `threads` exists, so an urgent call begins at once even when `threads` other calls run; at most `threads`
    urgent calls run. No other call begins while an urgent one waits, nor while `threads` calls of both kinds run. After
    `URGENT_IN_A_ROW` urgent calls one waiting other call goes first, so neither kind starves. Requests of the same kind take
    turns call by call. A call that has begun runs to its end.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise ValueError("threads must be at least 1")
        self._threads = threads
        self._executor = ThreadPoolExecutor(max_workers=threads + 1, thread_name_prefix="commonlore-embedding")
        self._lock = threading.Lock()
        self._waiting: dict[bool, deque[_Batch[Any]]] = {True: deque(), False: deque()}
        self._running = {True: 0, False: 0}
        self._urgent_in_a_row = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """Calls that were asked for and have not begun."""
        with self._lock:
            return sum(len(batch.calls) - batch.started for queue in self._waiting.values() for batch in queue)

    async def run(self, calls: Sequence[Callable[[], T]], *, urgent: bool) -> list[T]:
        """The results of `calls`, in their order. A cancelled request drops its calls that have not begun.

        Raises:
            EmbeddingUnavailable: `unreachable`, the pool is closed or was closed meanwhile.
            Whatever a call raises; the first one raised, and the calls not begun are dropped.
        """
        if not calls:
            return []
        batch = _Batch(calls, urgent=urgent)
        with self._lock:
            if self._closed:
                raise EmbeddingUnavailable("unreachable")
            self._waiting[urgent].append(batch)
        self._start()
        try:
            return await batch.future
        finally:
            self._drop(batch)

    def close(self) -> None:
        """Refuse what waits, then wait for the calls that run. Closing twice is allowed."""
        with self._lock:
            self._closed = True
            abandoned = [batch for queue in self._waiting.values() for batch in queue]
            for queue in self._waiting.values():
                queue.clear()
        for batch in abandoned:
            batch.settle(EmbeddingUnavailable("unreachable"))
        self._executor.shutdown(wait=True)

    def _start(self) -> None:
        """Hand over every call that may begin now. The executor never queues: at most `threads + 1` calls are out."""
        with self._lock:
            while not self._closed and (kind := self._next_kind()) is not None:
                queue = self._waiting[kind]
                batch = queue.popleft()
                index = batch.started
                batch.started += 1
                if batch.started < len(batch.calls):
                    queue.append(batch)
                self._running[kind] += 1
                self._executor.submit(self._work, batch, index)

    def _next_kind(self) -> bool | None:
        """Whether the next call is urgent, or None when nothing may begin."""
        running = self._running[True] + self._running[False]
        bulk_waits = bool(self._waiting[False])
        bulk_is_due = bulk_waits and self._urgent_in_a_row >= URGENT_IN_A_ROW
        if self._waiting[True] and not bulk_is_due:
            if self._running[True] >= self._threads or running > self._threads:
                return None
            self._urgent_in_a_row = self._urgent_in_a_row + 1 if bulk_waits else 0
            return True
        if bulk_waits and running < self._threads:
            self._urgent_in_a_row = 0
            return False
        return None

    def _work(self, batch: _Batch[Any], index: int) -> None:
        error: BaseException | None = None
        batch.tell_begun()
        try:
            batch.results[index] = batch.calls[index]()
        except BaseException as raised:
            error = raised
            raise
        finally:
            with self._lock:
                self._running[batch.urgent] -= 1
                finished = len(batch.results) == len(batch.calls)
                if error is not None:  # before anybody else looks for the next call
                    self._leave(batch)
            if finished or error is not None:
                batch.settle(error)
            self._start()

    def _drop(self, batch: _Batch[Any]) -> None:
        with self._lock:
            self._leave(batch)

    def _leave(self, batch: _Batch[Any]) -> None:
        with contextlib.suppress(ValueError):
            self._waiting[batch.urgent].remove(batch)
